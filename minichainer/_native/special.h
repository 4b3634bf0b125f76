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
    SINGLE(erfcx, "=f>f") \
    SINGLE(erfcx_gradient, "=ff>f") \
    SINGLE(log_ndtr, "=f>f") \
    SINGLE(ndtr_log_slope, "=f>f") \
    SINGLE(log_ndtr_gradient, "=ff>f") \
    SINGLE(trigamma, "f>fB:n") \
    SINGLE(lgamma, "=f>f") \
    SINGLE(fmod, "=ff>f")

/* gy a exp(b x^2): arguments gy, x, numbers a, b. The gradients of error functions and of their inverses. */
KERNEL(times_gaussian) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1), a = (T)numbers[0], b = (T)numbers[1];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = gy[i] * a * NAME(exponential)(b * x[i] * x[i]);
}

/* 1 / sqrt(x), and its gradient -gy y^3 / 2 with the result y in the place of x; y^3 alone may overflow. */
UNARY(rsqrt, 1 / SQUARE_ROOT(x))
BACKWARD(rsqrt_gradient, gy *x *x *x *(T)-0.5)

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

/* exp(a^2) erfc(a) and minus its derivative, for a >= 0: t P(t) and t^2 Q(t) with t = 1 / (1 + 0.35 a). The polynomials
   are fitted at Chebyshev's points for t from 0 to 1, by least squares of relative errors: 9e-11 and 4e-10. */
INLINED double erfcx_above_0(double a) {
    const double t = 1 / MULTIPLY_ADD(a, 0.35, 1.0);
    double p = 0.0123558702985;
    p = MULTIPLY_ADD(p, t, -0.0835490906772);
    p = MULTIPLY_ADD(p, t, 0.228877757389);
    p = MULTIPLY_ADD(p, t, -0.316196205815);
    p = MULTIPLY_ADD(p, t, 0.238495243781);
    p = MULTIPLY_ADD(p, t, -0.141800355398);
    p = MULTIPLY_ADD(p, t, 0.0681297249378);
    p = MULTIPLY_ADD(p, t, 0.0353826846806);
    p = MULTIPLY_ADD(p, t, 0.0899393915278);
    p = MULTIPLY_ADD(p, t, 0.126862282743);
    p = MULTIPLY_ADD(p, t, 0.161199030473);
    p = MULTIPLY_ADD(p, t, 0.185370949603);
    p = MULTIPLY_ADD(p, t, 0.197466362217);
    p = MULTIPLY_ADD(p, t, 0.197466354224);
    return p * t;
}

INLINED double erfcx_slope_above_0(double a) {
    const double t = 1 / MULTIPLY_ADD(a, 0.35, 1.0);
    double p = 0.0627928800639;
    p = MULTIPLY_ADD(p, t, -0.393885694897);
    p = MULTIPLY_ADD(p, t, 0.998272606294);
    p = MULTIPLY_ADD(p, t, -1.27511647488);
    p = MULTIPLY_ADD(p, t, 0.892667259865);
    p = MULTIPLY_ADD(p, t, -0.485705793324);
    p = MULTIPLY_ADD(p, t, 0.208719655269);
    p = MULTIPLY_ADD(p, t, 0.0810685894617);
    p = MULTIPLY_ADD(p, t, 0.190042881416);
    p = MULTIPLY_ADD(p, t, 0.221853774644);
    p = MULTIPLY_ADD(p, t, 0.225690790342);
    p = MULTIPLY_ADD(p, t, 0.194639007989);
    p = MULTIPLY_ADD(p, t, 0.138226461202);
    p = MULTIPLY_ADD(p, t, 0.0691132239588);
    return p * t * t;
}

/* exp(x^2) erfc(x), and its derivative. Below 0 it is 2 exp(x^2) minus what is above. */
INLINED float erfcx_of(float x) {
    const double wide = x, y = erfcx_above_0(magnitude_d(wide));
    return (float)(x < 0 ? 2 * exponential_d(wide * wide) - y : y);
}

INLINED float erfcx_slope(float x) {
    const double wide = x, slope = -erfcx_slope_above_0(magnitude_d(wide));
    return (float)(x < 0 ? 4 * wide * exponential_d(wide * wide) + slope : slope);
}

/* The logarithm of the normal distribution function, and its derivative. What is beyond |x| is
   exp(-x^2 / 2) erfcx(|x| / sqrt(2)) / 2. */
INLINED float log_ndtr_of(float x) {
    const double wide = x, half = 0.5 * erfcx_above_0(magnitude_d(wide) * 0.70710678118654752440);
    const double beyond = half * decay_d(0.5 * wide * wide);
    const double above = log_quotient_d(-beyond / (2 - beyond)), below = logarithm_d(half) - 0.5 * wide * wide;
    return (float)(x < 0 ? below : above);
}

INLINED float ndtr_log_slope_of(float x) {
    const double wide = x, half = 0.5 * erfcx_above_0(magnitude_d(wide) * 0.70710678118654752440);
    const double decayed = decay_d(0.5 * wide * wide);
    return (float)(0.39894228040143267794 * (x < 0 ? 1 / half : decayed / (1 - half * decayed)));
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

/* log(Gamma(x)) where 0 < x < 1e30: x is shifted up by 8, then there are 7 terms of Stirling's series. The terms do not
   cancel wholly where it is 0. */
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
    return (x == 1) | (x == 2) ? 0 : (float)(stirling - logarithm_d(product));
}

/* The second derivative of log(Gamma(x)) where x > 0: five terms of its sum, then Stirling's series. */
INLINED float trigamma_of(float x) {
    double z = x, total = 0;
    for (int k = 0; k < 5; k++, z += 1) total += 1 / (z * z);
    const double inverse = 1 / z, q = inverse * inverse;
    double series = MULTIPLY_ADD(q, 5 / 66.0, -1 / 30.0);
    series = MULTIPLY_ADD(series, q, 1 / 42.0);
    series = MULTIPLY_ADD(series, q, -1 / 30.0);
    series = MULTIPLY_ADD(series, q, 1 / 6.0) * q;
    return (float)(total + (series + 0.5 * inverse + 1) * inverse);
}

/* Arguments: x, the result, and a byte, which says whether an element is not above 0. Size: the number of elements. */
KERNEL(trigamma) {
    const float *const x = IN(float, 0);
    float *const y = OUT(float, 1);
    int outside = 0;
    UNUSED(numbers);
    for (isize i = 0; i < sizes[0]; i++) {
        outside |= !(x[i] > 0);
        y[i] = trigamma_of(x[i]);
    }
    *OUT(unsigned char, 2) = (unsigned char)outside;
}

UNARY(erf, erf_of(x))
UNARY(erfc, erfc_of(x))
UNARY(ndtr, ndtr_of(x))
UNARY(erfinv, erfinv_of(x))
UNARY(erfcx, erfcx_of(x))
BACKWARD(erfcx_gradient, gy *erfcx_slope(x))
UNARY(log_ndtr, log_ndtr_of(x))
UNARY(ndtr_log_slope, ndtr_log_slope_of(x))
BACKWARD(log_ndtr_gradient, gy *ndtr_log_slope_of(x))

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
