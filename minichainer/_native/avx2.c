/* For processors with AVX2 and FMA; empty for compilers and machines that cannot choose it in a source. */
#include "kernels.h"

#if defined(__x86_64__) && defined(__GNUC__)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC target("avx2,fma")
#endif
#define LEVEL avx2
#define MULTIPLY_ADD(a, b, c) (sizeof(a) == 4 ? __builtin_fmaf((a), (b), (c)) : __builtin_fma((a), (b), (c)))
#include "level.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif
#else
const kernel_row kernels_avx2[] = {{NULL, NULL, NULL, NULL}};
#endif
