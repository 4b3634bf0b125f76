/* Elementwise functions and their gradients. Included for each T. */
#define ACTIVATIONS(BOTH, SINGLE) \
    BOTH(relu, "=T>T") \
    BOTH(relu_gradient, "=TT>T") \
    BOTH(exp, "=T>T")

/* max(x, 0); NaN stays NaN. */
KERNEL(relu) {
    const T *const x = IN(T, 0);
    T *const y = OUT(T, 1);
    UNUSED(numbers);
    for (isize i = 0; i < sizes[0]; i++) y[i] = x[i] <= 0 ? 0 : x[i];
}

/* gy times 1 where y > 0, else times 0: arguments y, gy. */
KERNEL(relu_gradient) {
    const T *const y = IN(T, 0), *const gy = IN(T, 1);
    T *const gx = OUT(T, 2);
    UNUSED(numbers);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = y[i] > 0 ? gy[i] : gy[i] * 0;
}

/* exp(x). */
KERNEL(exp) {
    const T *const x = IN(T, 0);
    T *const y = OUT(T, 1);
    UNUSED(numbers);
    for (isize i = 0; i < sizes[0]; i++) y[i] = NAME(exponential)(x[i]);
}
