/* Elementary functions without branches, so that compilers make vectors of them. Errors are in units in the last place
   of the result; tests/kernels/test_native_accuracy.py measures them. Included for each T.

   The exponential: x = n log 2 + r with |r| <= log(2) / 2, exp(x) = 2^n exp(r), exp(r) by its series. The power of two
   is multiplied in two halves, so that results reach into the subnormal numbers, 0 and infinity as they should. */

#if IS_SINGLE
#define BITS int32_t
#define MANTISSA 23
#define BIAS 127
#define LOG2_HIGH 0.693359375f
#define LOG2_LOW -2.12194440e-4f
#define HIGHEST 104.0f
#define MAGIC 12582912.0f /* 1.5 * 2^23: what is added to it is rounded, and the last bits are the integer */
#else
#define BITS int64_t
#define MANTISSA 52
#define BIAS 1023
#define LOG2_HIGH 6.93147180369123816490e-01
#define LOG2_LOW 1.90821492927058770002e-10
#define HIGHEST 746.0
#define MAGIC 6755399441055744.0 /* 1.5 * 2^52 */
#endif

static inline BITS NAME(bits_of)(T x) {
    BITS bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline T NAME(from_bits)(BITS bits) {
    T x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline T NAME(power_of_two)(BITS n) { return NAME(from_bits)((n + BIAS) << MANTISSA); }

/* exp(x): 1 unit; NaN stays NaN. */
static inline T NAME(exponential)(T x) {
    T near = x > HIGHEST ? HIGHEST : x;
    near = near < -HIGHEST ? -HIGHEST : near;
    near = x == x ? near : 0;
    const T shifted = near * (T)1.4426950408889634074 + MAGIC, n = shifted - MAGIC;
    T r = MULTIPLY_ADD(n, (T)-LOG2_HIGH, near);
    r = MULTIPLY_ADD(n, (T)-LOG2_LOW, r);
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
    p = MULTIPLY_ADD(p * r, r, r) + 1;
    const BITS whole = NAME(bits_of)(shifted) - NAME(bits_of)(MAGIC), half = (whole + 2 * BIAS) / 2 - BIAS;
    p = p * NAME(power_of_two)(half) * NAME(power_of_two)(whole - half);
    return x == x ? p : x;
}

#undef BITS
#undef MANTISSA
#undef BIAS
#undef LOG2_HIGH
#undef LOG2_LOW
#undef HIGHEST
#undef MAGIC
