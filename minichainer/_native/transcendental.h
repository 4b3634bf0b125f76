/* Transcendental functions. But for exp they exist for float32 alone, are evaluated in float64 with errors of 3e-9 at
   most, and rounded once. Polynomials interpolate at Chebyshev's points (mpmath.chebyfit).

   Arrays with an element that is not inside of the given interval are left to NumPy, which warns as numpy.errstate says
   where a result overflows or does not exist. NaN is inside of each. Included for each T. */
#define TRANSCENDENTAL(BOTH, SINGLE) \
    BOTH(exp, "=T>T!") \
    SINGLE(arcsin, "=f>f!") \
    SINGLE(arccos, "=f>f!") \
    SINGLE(arctan, "=f>f") \
    SINGLE(arctan2, "=ff>f") \
    SINGLE(tan, "=f>f!") \
    SINGLE(sinh, "=f>f!") \
    SINGLE(cosh, "=f>f!") \
    SINGLE(expm1, "=f>f!") \
    SINGLE(log, "=f>f!") \
    SINGLE(log1p, "=f>f!") \
    SINGLE(log2, "=f>f!") \
    SINGLE(log10, "=f>f!") \
    SINGLE(arctanh, "=f>f!")

/* y = result, an expression in x, if inside holds for each element; it stops after a block where it does not. */
#ifndef WITHIN
#define TESTED_AT_ONCE 1024
#define WITHIN(name, inside, result) \
    KERNEL(name) { \
        const T *const xs = IN(T, 0); \
        T *const ys = OUT(T, 1); \
        unsigned char *const fits = OUT(unsigned char, 2); \
        UNUSED(numbers); \
        for (isize from = 0; *fits && from < sizes[0]; from += TESTED_AT_ONCE) { \
            const isize end = sizes[0] - from < TESTED_AT_ONCE ? sizes[0] : from + TESTED_AT_ONCE; \
            int fit = 1; \
            for (isize i = from; i < end; i++) { \
                const T x = xs[i]; \
                fit &= (inside) | (x != x); \
                ys[i] = x == x ? result : x; \
            } \
            *fits = (unsigned char)fit; \
        } \
    }
#endif

WITHIN(exp, x < (T)(IS_SINGLE ? 88.7 : 709.7), NAME(exponential)(x))

#if IS_SINGLE
#define PI 3.14159265358979323846
#define LOG_2 0.69314718055994530942

/* --- inverse trigonometric --- */

/* arctan(t) where 0 <= t <= 1: t P(t^2), 5e-10. */
INLINED double arctan_of_1(double t) {
    const double q = t * t;
    double p = MULTIPLY_ADD(q, 0.00105760743806, -0.00703066947042);
    p = MULTIPLY_ADD(p, q, 0.0219129458654);
    p = MULTIPLY_ADD(p, q, -0.0439284107333);
    p = MULTIPLY_ADD(p, q, 0.0668528151788);
    p = MULTIPLY_ADD(p, q, -0.0878504328236);
    p = MULTIPLY_ADD(p, q, 0.110507712758);
    p = MULTIPLY_ADD(p, q, -0.142785760248);
    p = MULTIPLY_ADD(p, q, 0.199995581004);
    p = MULTIPLY_ADD(p, q, -0.333333224889);
    p = MULTIPLY_ADD(p, q, 0.999999999554);
    return p * t;
}

INLINED float arctan_of(float x) {
    const double a = magnitude_f(x), p = arctan_of_1(a > 1 ? 1 / a : a);
    return copysignf((float)(a > 1 ? PI / 2 - p : p), x);
}

/* The angle of the point (x, y); that of two zeros or infinities is the one between their axes. */
INLINED float angle_of(float y, float x) {
    const double a = magnitude_f(y), b = magnitude_f(x), low = a < b ? a : b, high = a < b ? b : a;
    const double p = arctan_of_1(low == high ? (high != 0 ? 1.0 : 0.0) : low / high), right = a > b ? PI / 2 - p : p;
    return copysignf((float)(copysignf(1, x) < 0 ? PI - right : right), y);
}

/* arcsin(s) where 0 <= s <= 1/2, and q = s^2: s + s q P(q), 1e-9. */
INLINED double arcsin_of_half(double s, double q) {
    double p = MULTIPLY_ADD(q, 0.0336908472028, 0.0171492383577);
    p = MULTIPLY_ADD(p, q, 0.0311006627355);
    p = MULTIPLY_ADD(p, q, 0.0445994015285);
    p = MULTIPLY_ADD(p, q, 0.075000945435);
    p = MULTIPLY_ADD(p, q, 0.166666663374);
    return MULTIPLY_ADD(p * q, s, s);
}

/* arcsin(a), or pi / 2 - arcsin(a) where a > 1/2, which is 2 arcsin(sqrt((1 - a) / 2)). */
INLINED double smaller_angle(double a) {
    const double q = a > 0.5 ? 0.5 - 0.5 * a : a * a, s = sqrt(q);
    return (a > 0.5 ? 2 : 1) * arcsin_of_half(s, q);
}

INLINED float arcsin_of(float x) {
    const double a = magnitude_f(x), p = smaller_angle(a);
    return copysignf((float)(a > 0.5 ? PI / 2 - p : p), x);
}

INLINED float arccos_of(float x) {
    const double a = magnitude_f(x), p = smaller_angle(a), beyond = x < 0 ? PI - p : p;
    return (float)(a > 0.5 ? beyond : PI / 2 - (x < 0 ? -p : p));
}

WITHIN(arcsin, magnitude_f(x) <= 1, arcsin_of(x))
WITHIN(arccos, magnitude_f(x) <= 1, arccos_of(x))
UNARY(arctan, arctan_of(x))
BACKWARD(arctan2, angle_of(gy, x))

/* --- trigonometric --- */

/* tan(x) where |x| <= 1e6: x = n pi / 2 + r with |r| <= pi / 4, then tan(r) or -1 / tan(r). The first part of pi / 2
   has 33 bits, so that its products with n are exact. tan(r) = r P(r^2) / Q(r^2), fitted by iteratively reweighted
   least squares to 3e-11. */
INLINED float tan_of(float x) {
    const double magic = 6755399441055744.0, shifted = x * (2 / PI) + magic, n = shifted - magic;
    double r = MULTIPLY_ADD(n, -1.57079632673412561417, (double)x);
    r = MULTIPLY_ADD(n, -6.07710050650619224932e-11, r);
    const double q = r * r;
    const double p = MULTIPLY_ADD(MULTIPLY_ADD(q, 0.00107515470159, -0.11136143982), q, 1.00000000002) * r;
    const double below = MULTIPLY_ADD(MULTIPLY_ADD(q, 0.0159733919173, -0.444694771491), q, 1.0);
    const int odd = (int)(bits_of_d(shifted) & 1);
    return (float)((odd ? -below : p) / (odd ? p : below));
}

WITHIN(tan, magnitude_f(x) <= 1e6f, tan_of(x))

/* --- exponential and hyperbolic --- */

/* exp(x) - 1 where |x| < 700, by 2^n (exp(r) - 1) + (2^n - 1); exp(r) = 1 + r + r^2 P(r) where |r| <= log(2) / 2:
   2e-10. */
INLINED double expm1_of(double x) {
    double shifted;
    const double r = reduced_d(x, &shifted);
    double p = MULTIPLY_ADD(r, 0.00019890981157, 0.00139336412906);
    p = MULTIPLY_ADD(p, r, 0.00833331093419);
    p = MULTIPLY_ADD(p, r, 0.0416664650037);
    p = MULTIPLY_ADD(p, r, 0.166666666816);
    p = MULTIPLY_ADD(p, r, 0.500000001346);
    p = MULTIPLY_ADD(p * r, r, r);
    const double power = from_bits_d((int64_t)(((uint64_t)bits_of_d(shifted) << 52) + ((uint64_t)1023 << 52)));
    return MULTIPLY_ADD(power, p, power - 1);
}

/* Results overflow beyond 88.7 and 89.4; below -40 exp(x) - 1 is -1. */
INLINED float expm1_within(float x) { return copysignf((float)expm1_of(x < -40 ? -40 : x), x); }

INLINED float sinh_of(float x) {
    const double below = expm1_of(magnitude_f(x));
    return copysignf((float)(0.5 * (below + below / (below + 1))), x);
}

INLINED float cosh_of(float x) {
    const double e = expm1_of(magnitude_f(x)) + 1;
    return (float)(0.5 * (e + 1 / e));
}

WITHIN(expm1, x < 88.7f, expm1_within(x))
WITHIN(sinh, magnitude_f(x) < 89.4f, sinh_of(x))
WITHIN(cosh, magnitude_f(x) < 89.4f, cosh_of(x))

/* --- logarithms --- */

/* The logarithm of x = 1 + e, where e is known better than x if x is near 1, to the base whose logarithm of 2 is given.
   x = 2^n m with sqrt(1/2) <= m < sqrt(2), and log(m) = 2 s + s^3 P(s^2) where s = (m - 1) / (m + 1): 3e-9. */
INLINED double logarithm_of(double x, double e, double of_2) {
    const uint64_t one = (uint64_t)1023 << 52, whole = (uint64_t)(1023 + 52) << 52;
    const uint64_t offset = one - (uint64_t)bits_of_d(0.70710678118654752440), bits = (uint64_t)bits_of_d(x) + offset;
    const double n = from_bits_d((int64_t)(whole + (bits >> 52))) - (from_bits_d((int64_t)whole) + 1023);
    const double m = from_bits_d((int64_t)((bits & (((uint64_t)1 << 52) - 1)) + one - offset));
    const double f = n == 0 ? e : m - 1, s = f / (2 + f), q = s * s;
    double p = MULTIPLY_ADD(q, 0.295800461683, 0.399887784337);
    p = MULTIPLY_ADD(p, q, 0.666666850448);
    return MULTIPLY_ADD(n, of_2, MULTIPLY_ADD(p * q, s, 2 * s) * (of_2 / LOG_2));
}

INLINED float log1p_of(float x) { return copysignf((float)logarithm_of(1 + (double)x, x, LOG_2), x); }

/* log((1 + a) / (1 - a)) / 2. */
INLINED float arctanh_of(float x) {
    const double a = magnitude_f(x), e = 2 * a / (1 - a);
    return copysignf((float)(0.5 * logarithm_of(1 + e, e, LOG_2)), x);
}

WITHIN(log1p, (x > -1) & (x < INFINITY), log1p_of(x))
WITHIN(log, (x > 0) & (x < INFINITY), (float)logarithm_of(x, (double)x - 1, LOG_2))
WITHIN(log2, (x > 0) & (x < INFINITY), (float)logarithm_of(x, (double)x - 1, 1.0))
WITHIN(log10, (x > 0) & (x < INFINITY), (float)logarithm_of(x, (double)x - 1, 0.30102999566398119521))
WITHIN(arctanh, magnitude_f(x) < 1, arctanh_of(x))
#undef PI
#undef LOG_2
#endif
