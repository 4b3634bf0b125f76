/* Special functions and what their gradients need. Those of float32 are evaluated in float64 and rounded once: the
   rational functions and their coefficients are those of kernels/error_functions.py, where it says how they are fitted.
   Included for each T. */
#define SPECIAL(BOTH, SINGLE) \
    BOTH(times_gaussian, "=TT>T:ss") \
    BOTH(rsqrt, "=T>T") \
    BOTH(rsqrt_gradient, "=TT>T") \
    SINGLE(erf, "=f>f") \
    SINGLE(erfc, "=f>f") \
    SINGLE(ndtr, "=f>f") \
    SINGLE(erfinv, "=f>f") \
    SINGLE(lgamma, "=f>f") \
    SINGLE(fmod, "=ff>f")

/* gy a exp(b x^2): arguments gy, x, numbers a, b. The gradients of error functions and of their inverses. */
KERNEL(times_gaussian) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1), a = (T)numbers[0], b = (T)numbers[1];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = gy[i] * a * NAME(exponential)(b * x[i] * x[i]);
}

/* 1 / sqrt(x), and its gradient -gy y^3 / 2 with the result y in the place of x. */
UNARY(rsqrt, 1 / SQUARE_ROOT(x))
BACKWARD(rsqrt_gradient, gy * (x * x * x) * (T)-0.5)

#if IS_SINGLE

/* The error function; it is 1 beyond 3.95. */
INLINED float erf_of(float x) {
    float near = x > 3.95f ? 3.95f : x;
    near = near < -3.95f ? -3.95f : near;
    const double wide = near, q = wide * wide;
    double above = MULTIPLY_ADD(q, 0.0535512122, 7.52493613);
    above = MULTIPLY_ADD(above, q, 100.65422);
    above = MULTIPLY_ADD(above, q, 1397.61512);
    above = MULTIPLY_ADD(above, q, 5063.0326);
    above = MULTIPLY_ADD(above, q, 29825.8957);
    double below = q + 30.9440748;
    below = MULTIPLY_ADD(below, q, 397.933582);
    below = MULTIPLY_ADD(below, q, 3028.04819);
    below = MULTIPLY_ADD(below, q, 13297.8159);
    below = MULTIPLY_ADD(below, q, 26432.5124);
    return (float)(above / below * wide);
}

/* erfc(a) where a >= 0; what is farther than 10.1 is taken as 10.1, where it is 0 in float32. */
INLINED double erfc_above_0(double a) {
    const double x = a > 10.1 ? 10.1 : a;
    double above = MULTIPLY_ADD(x, 0.564196365, 3.94320954);
    above = MULTIPLY_ADD(above, x, 12.5855765);
    above = MULTIPLY_ADD(above, x, 21.3039029);
    above = MULTIPLY_ADD(above, x, 17.2024799);
    double below = x + 6.98961108;
    below = MULTIPLY_ADD(below, x, 22.7999444);
    below = MULTIPLY_ADD(below, x, 41.324705);
    below = MULTIPLY_ADD(below, x, 40.7148326);
    below = MULTIPLY_ADD(below, x, 17.2024798);
    return above / below * decay_d(x * x);
}

INLINED float erfc_of(float x) {
    const double y = erfc_above_0(magnitude_f(x));
    return (float)(x < 0 ? 2 - y : y);
}

/* The distribution function of the normal distribution. */
INLINED float ndtr_of(float x) {
    const double y = 0.5 * erfc_above_0((double)magnitude_f(x) * 0.70710678118654752440);
    return (float)(x > 0 ? 1 - y : y);
}

/* The inverse of the error function, x times a function of -log(1 - x^2). */
INLINED float erfinv_of(float x) {
    const double wide = x, w = -logarithm_d(1 - wide * wide);
    double above = MULTIPLY_ADD(w, 19.0128838, 517.142186);
    above = MULTIPLY_ADD(above, w, 6241.61441);
    above = MULTIPLY_ADD(above, w, 47878.5772);
    above = MULTIPLY_ADD(above, w, 245965.979);
    above = MULTIPLY_ADD(above, w, 708432.204);
    double below = w + 141.941365;
    below = MULTIPLY_ADD(below, w, 1525.3223);
    below = MULTIPLY_ADD(below, w, 25733.8276);
    below = MULTIPLY_ADD(below, w, 68266.0738);
    below = MULTIPLY_ADD(below, w, 799380.125);
    return (float)((w == INFINITY ? INFINITY : above / below) * wide);
}

enum { FEW = 256 };

/* log(Gamma(x)) where 0 < x < 1e30: x is shifted up by 8, then there are 7 terms of Stirling's series. */
INLINED float lgamma_of(float x) {
    const double a = x, z = a + 8, inverse = 1 / z, q = inverse * inverse;
    double p = a * (a + 7), product = p; /* (a + k) (a + 7 - k) = p + k (7 - k) */
    product *= (p + 6) * ((p + 10) * (p + 12));
    double series = MULTIPLY_ADD(q, 1 / 156.0, -691 / 360360.0);
    series = MULTIPLY_ADD(series, q, 1 / 1188.0);
    series = MULTIPLY_ADD(series, q, -1 / 1680.0);
    series = MULTIPLY_ADD(series, q, 1 / 1260.0);
    series = MULTIPLY_ADD(series, q, -1 / 360.0);
    series = MULTIPLY_ADD(series, q, 1 / 12.0);
    const double stirling = (z - 0.5) * logarithm_d(z) - z + 0.91893853320467274178 + series * inverse;
    return (float)(stirling - logarithm_d(product));
}

UNARY(erf, erf_of(x))
UNARY(erfc, erfc_of(x))
UNARY(ndtr, ndtr_of(x))
UNARY(erfinv, erfinv_of(x))

INLINED int lgammas(const float *x, float *y, isize n) {
    int fit = 1;
    for (isize i = 0; i < n; i++) {
        fit &= (x[i] > 0) & (x[i] < 1e30f);
        y[i] = lgamma_of(x[i]);
    }
    return fit;
}

/* log(|Gamma(x)|); the C library computes what does not fit, infinities are as in SciPy. */
KERNEL(lgamma) {
    const float *const x = IN(float, 0);
    float *const y = OUT(float, 1);
    UNUSED(numbers);
    for (isize from = 0; from < sizes[0]; from += FEW) {
        const isize end = sizes[0] - from < FEW ? sizes[0] : from + FEW;
        if (lgammas(x + from, y + from, end - from)) continue;
        for (isize i = from; i < end; i++) y[i] = isinf(x[i]) ? x[i] : (float)lgamma(x[i]);
    }
}

/* The remainder of a division, where the quotient is less than 2^28, so that its integer part and the product with it
   are exact in double; returns whether all quotients are. */
INLINED int remainders(const float *x, const float *divisor, float *y, isize n) {
    int fit = 1;
    for (isize i = 0; i < n; i++) {
        const double wide = x[i], d = divisor[i], whole = trunc(wide / d);
        fit &= (whole < 268435456.0) & (whole > -268435456.0) & (d - d == 0);
        y[i] = copysignf((float)(wide - whole * d), x[i]);
    }
    return fit;
}

/* The remainder with the sign of the dividend: arguments dividend, divisor. */
KERNEL(fmod) {
    const float *const x = IN(float, 0), *const divisor = IN(float, 1);
    float *const y = OUT(float, 2);
    UNUSED(numbers);
    for (isize from = 0; from < sizes[0]; from += FEW) {
        const isize n = sizes[0] - from < FEW ? sizes[0] - from : FEW;
        if (remainders(x + from, divisor + from, y + from, n)) continue;
        for (isize i = from; i < from + n; i++) y[i] = fmodf(x[i], divisor[i]);
    }
}
#endif
