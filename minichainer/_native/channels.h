/* Sums and products with a row, activations with a slope for each channel, and of two halves. Included for each T. */
#define CHANNELS(BOTH, SINGLE) \
    BOTH(add_row, "TT>T:nn") \
    BOTH(multiply_row, "TT>T:nn") \
    BOTH(prelu, "TTT>T:nnn") \
    BOTH(glu, "T>T:nn") \
    BOTH(glu_gradient, "TT>T:nn")

/* Rows x (rows, n), each with the same row. Arguments: x, row (n), result. Sizes: rows, n. */
#define WITH_ROW(name, OPERATION) \
    KERNEL(name) { \
        const isize n = sizes[1]; \
        const T *restrict const row = IN(T, 1); \
        UNUSED(numbers); \
        for (isize i = 0; i < sizes[0]; i++) { \
            const T *restrict const x = IN(T, 0) + i * n; \
            T *restrict const y = OUT(T, 2) + i * n; \
            for (isize k = 0; k < n; k++) y[k] = x[k] OPERATION row[k]; \
        } \
    }

WITH_ROW(add_row, +)
WITH_ROW(multiply_row, *)
#undef WITH_ROW

/* a where x >= 0, else a W: arguments a, x (outer, channels, inner), W (channels); a is x itself, or the gradient of
   the result. Sizes: outer, channels, inner. */
KERNEL(prelu) {
    const isize outer = sizes[0], channels = sizes[1], inner = sizes[2];
    const T *a = IN(T, 0), *x = IN(T, 1), *const W = IN(T, 2);
    T *y = OUT(T, 3);
    UNUSED(numbers);
    if (inner == 1) {
        for (isize n = 0; n < outer; n++, a += channels, x += channels, y += channels)
            for (isize k = 0; k < channels; k++) y[k] = x[k] >= 0 ? a[k] : a[k] * W[k];
        return;
    }
    for (isize n = 0; n < outer * channels; n++, a += inner, x += inner, y += inner) {
        const T slope = W[n % channels];
        for (isize k = 0; k < inner; k++) y[k] = x[k] >= 0 ? a[k] : a[k] * slope;
    }
}

/* a s(b) where x (rows, 2 n) is a and b, with the logistic function s. Sizes: rows, n. */
KERNEL(glu) {
    const isize n = sizes[1];
    UNUSED(numbers);
    for (isize row = 0; row < sizes[0]; row++) {
        const T *restrict const a = IN(T, 0) + row * 2 * n, *restrict const b = a + n;
        T *restrict const y = OUT(T, 1) + row * n;
        for (isize k = 0; k < n; k++) y[k] = NAME(logistic)(b[k]) * a[k];
    }
}

/* The gradients of a and b, in one array like x: arguments gy (rows, n), x. Sizes: rows, n. */
KERNEL(glu_gradient) {
    const isize n = sizes[1];
    UNUSED(numbers);
    for (isize row = 0; row < sizes[0]; row++) {
        const T *restrict const gy = IN(T, 0) + row * n;
        const T *restrict const a = IN(T, 1) + row * 2 * n, *restrict const b = a + n;
        T *restrict const ga = OUT(T, 2) + row * 2 * n, *restrict const gb = ga + n;
        for (isize k = 0; k < n; k++) {
            const T e = NAME(decay)(b[k]), inverse = 1 / (1 + e), s = (b[k] > 0 ? 1 : e) * inverse;
            ga[k] = gy[k] * s;
            gb[k] = gy[k] * a[k] * (e * inverse * inverse);
        }
    }
}
