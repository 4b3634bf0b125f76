/* All families of kernels, for one T. */
#include "activations.h"
