/* The table of a level: included once for each, by a source that has defined LEVEL and chosen the instructions.

   Each family is a file of kernels, compiled once for T = float and once for T = double, that begins with the list of
   them: BOTH for kernels that exist for both, SINGLE for those that exist for float32 (or know no T) alone. */
#include "kernels.h"

#define JOINED_(a, b) a##b
#define JOINED(a, b) JOINED_(a, b)
#define NAME(name) JOINED(name, SUFFIX)
#define KERNEL(name) \
    static void NAME(name)(char *const *const arrays, const isize *const sizes, const double *const numbers)
#define IN(type, k) ((const type *)arrays[k])
#define OUT(type, k) ((type *)arrays[k])
/* Functions that are only worth it where the compiler sees the arguments of the call. */
#if defined(__GNUC__)
#define INLINED static inline __attribute__((always_inline))
#else
#define INLINED static inline
#endif
/* Functions whose loops the compiler should not mix with those of the caller. */
#if defined(__GNUC__)
#define APART __attribute__((noinline))
#else
#define APART
#endif
/* Before a loop whose steps do not depend on each other, where the compiler cannot see it. */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define INDEPENDENT _Pragma("GCC ivdep")
#elif defined(_MSC_VER)
#define INDEPENDENT __pragma(loop(ivdep))
#else
#define INDEPENDENT
#endif
/* Around kernels whose inner loops are as short as an image has channels: gcc's vectors of 512 bits leave up to 15 steps
   to a loop with branches, by which the gradient of max pooling of 20 channels takes five times as long. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#define SHORT_LOOPS _Pragma("GCC push_options") _Pragma("GCC target(\"prefer-vector-width=256\")")
#define END_OF_SHORT_LOOPS _Pragma("GCC pop_options")
#else
#define SHORT_LOOPS
#define END_OF_SHORT_LOOPS
#endif
/* Says which arguments a kernel does not use. */
#define UNUSED(argument) (void)(argument)

#define T double
#define SUFFIX _d
#define IS_SINGLE 0
#include "families.h"
#undef T
#undef SUFFIX
#undef IS_SINGLE

#define T float /* behind double, whose functions some kernels of float32 compute with */
#define SUFFIX _f
#define IS_SINGLE 1
#include "families.h"

#define BOTH(name, signature) {#name, signature, name##_f, name##_d},
#define SINGLE(name, signature) {#name, signature, name##_f, NULL},
const kernel_row JOINED(kernels_, LEVEL)[] = {KERNELS(BOTH, SINGLE){NULL, NULL, NULL, NULL}};
