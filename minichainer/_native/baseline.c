/* For any processor: the instructions that every machine of the platform has (SSE2, NEON). */
#define LEVEL baseline
#define MULTIPLY_ADD(a, b, c) ((a) * (b) + (c))
#include "level.h"
