/* The families' lists of kernels. */
#define KERNELS(BOTH, SINGLE) ACTIVATIONS(BOTH, SINGLE)

/* One line for each kernel: activations.h */
#define ACTIVATIONS(BOTH, SINGLE) \
    BOTH(relu, "=T>T") \
    BOTH(relu_gradient, "=TT>T")
