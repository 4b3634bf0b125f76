/* Elementary functions without branches, so that compilers make vectors of them. Errors are in units in the last place
   of the result; tests/kernels/test_native_accuracy.py measures them. Included for each T.

   The exponential: x = n log 2 + r with |r| <= log(2) / 2, exp(x) = 2^n exp(r), exp(r) by its series. The power of two
   is multiplied in two halves, so that results reach into the subnormal numbers, 0 and infinity as they should. */

#undef SQUARE_ROOT
#if IS_SINGLE
#define BITS int32_t
#define UNSIGNED uint32_t
#define ABSOLUTE fabsf
#define SQUARE_ROOT sqrtf
#define MANTISSA 23
#define BIAS 127
#define LOG2_HIGH 0.693359375f
#define LOG2_LOW -2.12194440e-4f
#define HIGHEST 104.0f
#define MAGIC 12582912.0f /* 1.5 * 2^23: what is added to it is rounded, and the last bits are the integer */
#else
#define BITS int64_t
#define UNSIGNED uint64_t
#define ABSOLUTE fabs
#define SQUARE_ROOT sqrt
#define MANTISSA 52
#define BIAS 1023
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10
#define HIGHEST 746.0
#define MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#endif

INLINED BITS NAME(bits_of)(T x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINED T NAME(from_bits)(BITS bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

INLINED T NAME(magnitude)(T x) { return ABSOLUTE(x); }

INLINED T NAME(power_of_two)(BITS n) { return NAME(from_bits)((n + BIAS) << MANTISSA); }

/* exp(r) - 1 where |r| <= log(2) / 2. */
INLINED T NAME(series)(T r) {
    T p;
#if IS_SINGLE
    p = 1.9841270e-4f;
    p = MULTIPLY_ADD(p, r, 1.3888889e-3f);
    p = MULTIPLY_ADD(p, r, 8.3333333e-3f);
#else
    p = 1.6059043836821613e-10;
    p = MULTIPLY_ADD(p, r, 2.0876756987868099e-09);
    p = MULTIPLY_ADD(p, r, 2.5052108385441720e-08);
    p = MULTIPLY_ADD(p, r, 2.7557319223985893e-07);
    p = MULTIPLY_ADD(p, r, 2.7557319223985888e-06);
    p = MULTIPLY_ADD(p, r, 2.4801587301587302e-05);
    p = MULTIPLY_ADD(p, r, 1.9841269841269841e-04);
    p = MULTIPLY_ADD(p, r, 1.3888888888888889e-03);
    p = MULTIPLY_ADD(p, r, 8.3333333333333333e-03);
#endif
    p = MULTIPLY_ADD(p, r, (T)4.1666666666666667e-02);
    p = MULTIPLY_ADD(p, r, (T)1.6666666666666667e-01);
    p = MULTIPLY_ADD(p, r, (T)0.5);
    return MULTIPLY_ADD(p * r, r, r);
}

/* x without a multiple of log 2, which is written to shifted: its last bits are the multiple. */
INLINED T NAME(reduced)(T x, T *shifted) {
    *shifted = x * (T)1.4426950408889634074 + MAGIC;
    const T n = *shifted - MAGIC, r = MULTIPLY_ADD(n, (T)-LOG2_HIGH, x);
    return MULTIPLY_ADD(n, (T)-LOG2_LOW, r);
}

/* exp(x): 1 unit; NaN stays NaN. */
INLINED T NAME(exponential)(T x) {
    T near = x > HIGHEST ? HIGHEST : x, shifted;
    near = near < -HIGHEST ? -HIGHEST : near;
    near = x == x ? near : 0;
    T p = NAME(series)(NAME(reduced)(near, &shifted)) + 1;
    const BITS whole = NAME(bits_of)(shifted) - NAME(bits_of)(MAGIC), half = (whole + 2 * BIAS) / 2 - BIAS;
    p = p * NAME(power_of_two)(half) * NAME(power_of_two)(whole - half);
    return x == x ? p : x;
}

/* exp(-|x|): 1 unit; NaN stays NaN. Faster than the exponential, since there are no large powers: n is an exponent after
   64 was added to it, also where the result is subnormal or 0. */
INLINED T NAME(decay)(T x) {
    T near = -NAME(magnitude)(x), shifted;
    near = near < -HIGHEST ? -HIGHEST : near;
    const T p = NAME(series)(NAME(reduced)(near, &shifted)) + 1;
    const UNSIGNED n = (UNSIGNED)NAME(bits_of)(shifted) << MANTISSA, bias = (UNSIGNED)(BIAS + 64) << MANTISSA;
    return p * NAME(from_bits)((BITS)(n + bias)) * (T)5.42101086242752217e-20; /* 2^-64 */
}

/* exp(x) - 1 where x <= 0, by 2^n (exp(r) - 1) + (2^n - 1): 1.5 units; NaN stays NaN. */
INLINED T NAME(exponential_below_1)(T x) {
    const T lowest = -(MANTISSA + 2); /* the result is -1 */
    T near = x < lowest ? lowest : x, shifted;
    near = x == x ? near : 0;
    const T p = NAME(series)(NAME(reduced)(near, &shifted));
    const T power = NAME(power_of_two)(NAME(bits_of)(shifted) - NAME(bits_of)(MAGIC));
    return x == x ? MULTIPLY_ADD(power, p, power - 1) : x;
}

/* log((1 + s) / (1 - s)) where |s| <= 1/3, twice the inverse hyperbolic tangent: 2 s + s^3 P(s^2). P interpolates at
   Chebyshev's points (mpmath.chebyfit with 5 and 12 coefficients for s^2 from 0 to 1/9), with an error of 7e-9 and
   7e-20. */
INLINED T NAME(log_quotient)(T s) {
    const T q = s * s;
    T p;
#if IS_SINGLE
    p = 0.232243292f;
    p = MULTIPLY_ADD(p, q, 0.217065758f);
    p = MULTIPLY_ADD(p, q, 0.28592358f);
    p = MULTIPLY_ADD(p, q, 0.399997063f);
    p = MULTIPLY_ADD(p, q, 0.666666673f);
#else
    p = 0.15231262619428985;
    p = MULTIPLY_ADD(p, q, 0.063341108517702454);
    p = MULTIPLY_ADD(p, q, 0.099420248965547346);
    p = MULTIPLY_ADD(p, q, 0.10480399234365274);
    p = MULTIPLY_ADD(p, q, 0.11767997767241036);
    p = MULTIPLY_ADD(p, q, 0.13333176949138178);
    p = MULTIPLY_ADD(p, q, 0.15384620253804162);
    p = MULTIPLY_ADD(p, q, 0.18181818086005655);
    p = MULTIPLY_ADD(p, q, 0.22222222223331987);
    p = MULTIPLY_ADD(p, q, 0.28571428571421943);
    p = MULTIPLY_ADD(p, q, 0.40000000000000015);
    p = MULTIPLY_ADD(p, q, 0.66666666666666667);
#endif
    return MULTIPLY_ADD(p * q, s, 2 * s);
}

/* log(1 + e) where 0 <= e <= 1: 2 units. */
INLINED T NAME(log_plus_1)(T e) { return NAME(log_quotient)(e / (2 + e)); }

/* log(x) where x is a normal number or 0; NaN below 0. x = 2^n m with sqrt(1/2) <= m < sqrt(2), and n is the last bits
   of a number whose unit in the last place is 1: 1 unit. */
INLINED T NAME(logarithm)(T x) {
    const UNSIGNED one = (UNSIGNED)BIAS << MANTISSA, offset = one - (UNSIGNED)NAME(bits_of)((T)0.70710678118654752440);
    const UNSIGNED bits = (UNSIGNED)NAME(bits_of)(x) + offset, whole = (UNSIGNED)(BIAS + MANTISSA) << MANTISSA;
    const T n = NAME(from_bits)((BITS)(whole + (bits >> MANTISSA))) - (NAME(from_bits)((BITS)whole) + BIAS);
    const T m = NAME(from_bits)((BITS)((bits & (((UNSIGNED)1 << MANTISSA) - 1)) + one - offset));
    const T small = MULTIPLY_ADD(n, (T)LOG2_LOW, NAME(log_quotient)((m - 1) / (m + 1)));
    const T y = MULTIPLY_ADD(n, (T)LOG2_HIGH, small);
    const T end = x == 0 ? -(T)INFINITY : (T)NAN;
    return x > 0 ? (x < (T)INFINITY ? y : x) : end;
}

#undef BITS
#undef UNSIGNED
#undef ABSOLUTE
#undef MANTISSA
#undef BIAS
#undef LOG2_HIGH
#undef LOG2_LOW
#undef HIGHEST
#undef MAGIC
