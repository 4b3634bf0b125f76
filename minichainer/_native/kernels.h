/* What all kernels share: their one signature, the table they are listed in, and how their code reads. */
#ifndef MINICHAINER_KERNELS_H
#define MINICHAINER_KERNELS_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef ptrdiff_t isize;

/* A kernel gets the memory of its arrays, then sizes, then numbers, in the order of its signature. It knows nothing
   of Python and of NumPy. */
typedef void (*kernel_function)(char *const *arrays, const isize *sizes, const double *numbers);

/* A row of the table. The signature names the arrays by their types, those that are read before '>', those that are
   written behind it, then the sizes (n) and numbers (s) behind ':', as in "TT>T:nns". T is float32 or float64, the
   same for all in a call; f, d, i, l, B are float32, float64, int32, int64, uint8; an array before ? may be None. After
   ! behind the arrays the kernel gets one more, a byte that is 1, and sets it to 0 if it does not take some element.
   Arrays are contiguous in C's order. But a signature that begins with '=' is of an elementwise kernel: all arrays
   have one shape, and one order of axes without gaps, whichever; their common size comes first, and nobody passes it. */
typedef struct {
    const char *name;
    const char *signature;
    kernel_function single; /* T is float32, or there is no T */
    kernel_function twice;  /* T is float64; NULL if there is no such form */
} kernel_row;

/* The tables of the levels: the same kernels, compiled for more and more of the processor's instructions. */
extern const kernel_row kernels_baseline[];
extern const kernel_row kernels_avx2[];
extern const kernel_row kernels_avx512[];

#endif
