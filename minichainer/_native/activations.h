/* Elementwise functions and their gradients. Included for each T. */
#define ACTIVATIONS(BOTH, SINGLE) \
    BOTH(relu, "=T>T") \
    BOTH(relu_gradient, "=TT>T") \
    BOTH(leaky_relu, "=T>T:s") \
    BOTH(leaky_gradient, "=TT>T:s") \
    SINGLE(random_factors, "=Td>T:ss") \
    BOTH(limited_line, "=T>T:ssss") \
    BOTH(scaled_inside, "=TT>T:sss") \
    BOTH(signs, "=T>T") \
    BOTH(sign_gradient, "=TT>T") \
    BOTH(sigmoid, "=T>T") \
    BOTH(sigmoid_gradient, "=TT>T") \
    BOTH(sigmoid_slope, "=T>T") \
    BOTH(silu, "=T>T") \
    BOTH(silu_gradient, "=TT>T") \
    BOTH(mish, "=T>T") \
    BOTH(mish_gradient, "=TT>T") \
    BOTH(softplus, "=T>T:s") \
    BOTH(softplus_gradient, "=TT>T:s") \
    BOTH(elu, "=T>T:s") \
    BOTH(elu_gradient, "=TT>T:s") \
    BOTH(gelu_tanh, "=T>T") \
    BOTH(gelu_tanh_gradient, "=TT>T") \
    SINGLE(gelu, "=T>T") \
    SINGLE(gelu_gradient, "=TT>T") \
    BOTH(huber, "=TT>T:s") \
    BOTH(logistic_loss, "=TTT?>T") \
    BOTH(logistic_gradient, "=TTT>T:s")

/* A kernel of one array: y = result, an expression in x. */
#ifndef UNARY
#define UNARY(name, result) \
    KERNEL(name) { \
        const T *const xs = IN(T, 0); \
        T *const ys = OUT(T, 1); \
        UNUSED(numbers); \
        for (isize i = 0; i < sizes[0]; i++) { \
            const T x = xs[i]; \
            ys[i] = result; \
        } \
    }

/* A kernel of two arrays, upstream gradient and argument (or result) of a function: gx = result, in gy and x. */
#define BACKWARD(name, result) \
    KERNEL(name) { \
        const T *const gys = IN(T, 0), *const xs = IN(T, 1); \
        T *const gxs = OUT(T, 2); \
        UNUSED(numbers); \
        for (isize i = 0; i < sizes[0]; i++) { \
            const T gy = gys[i], x = xs[i]; \
            gxs[i] = result; \
        } \
    }
#endif

/* --- piecewise linear --- */

/* max(x, 0); NaN stays NaN. */
UNARY(relu, x <= 0 ? 0 : x)

/* gy times 0 where y is 0, else gy, also where y is NaN: arguments y, gy. */
KERNEL(relu_gradient) {
    const T *const y = IN(T, 0), *const gy = IN(T, 1);
    T *const gx = OUT(T, 2);
    UNUSED(numbers);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = y[i] != 0 ? gy[i] : gy[i] * 0;
}

/* x where x > 0, else x times the number. */
KERNEL(leaky_relu) {
    const T *const x = IN(T, 0), slope = (T)numbers[0];
    T *const y = OUT(T, 1);
    for (isize i = 0; i < sizes[0]; i++) y[i] = x[i] > 0 ? x[i] : x[i] * slope;
}

/* gy where x > 0, else gy times the number: arguments gy, x. */
KERNEL(leaky_gradient) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1), slope = (T)numbers[0];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = gy[i] * (x[i] > 0 ? 1 : slope);
}

#if IS_SINGLE
/* 1 where x >= 0, else a + b d: arguments x, d, numbers a, b. */
KERNEL(random_factors) {
    const float *const x = IN(float, 0);
    const double *const d = IN(double, 1), a = numbers[0], b = numbers[1];
    float *const y = OUT(float, 2);
    for (isize i = 0; i < sizes[0]; i++) y[i] = x[i] >= 0 ? 1 : (float)(a + b * d[i]);
}
#endif

/* min(max(a x + b, low), high): numbers a, b, low, high. */
KERNEL(limited_line) {
    const T *const x = IN(T, 0), a = (T)numbers[0], b = (T)numbers[1], low = (T)numbers[2], high = (T)numbers[3];
    T *const y = OUT(T, 1);
    for (isize i = 0; i < sizes[0]; i++) {
        const T line = x[i] * a + b, above = line < low ? low : line;
        y[i] = above > high ? high : above;
    }
}

/* gy times a factor where low < x < high or x is NaN, else 0: arguments gy, x, numbers factor, low, high. */
KERNEL(scaled_inside) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1);
    const T factor = (T)numbers[0], low = (T)numbers[1], high = (T)numbers[2];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = (x[i] <= low) | (x[i] >= high) ? 0 : gy[i] * factor;
}

INLINED T NAME(sign_of)(T x) {
    const T not_above = x < 0 ? -1 : x == 0 ? 0 : x;
    return x > 0 ? 1 : not_above;
}

/* -1, 0 or 1; NaN stays NaN. */
UNARY(signs, NAME(sign_of)(x))
BACKWARD(sign_gradient, gy *NAME(sign_of)(x))

/* --- exponential --- */

/* 1 / (1 + exp(-x)), precise where it is tiny: what is computed from exp(-|x|) does not overflow. */
INLINED T NAME(logistic)(T x) {
    const T e = NAME(decay)(x);
    return (x > 0 ? 1 : e) / (1 + e);
}

/* The derivative of the logistic function, s (1 - s), precise where it is tiny. */
INLINED T NAME(logistic_slope)(T x) {
    const T e = NAME(decay)(x), below = 1 + e;
    return e / (below * below);
}

UNARY(sigmoid, NAME(logistic)(x))
UNARY(sigmoid_slope, NAME(logistic_slope)(x))

/* With the result y in the place of x; 1 - y is exact where y is nearly 1. */
BACKWARD(sigmoid_gradient, gy *(x * (1 - x)))

/* x s with the logistic function s; its derivative is s + x s (1 - s). */
INLINED T NAME(silu_slope)(T x) {
    const T s = NAME(logistic)(x);
    return s + (1 - s) * (x * s);
}

UNARY(silu, NAME(logistic)(x) * x)
BACKWARD(silu_gradient, NAME(silu_slope)(x) * gy)

/* x n / (n + 2) where e = exp(x) and n = e (e + 2), which is x tanh(log(1 + e)). The derivative is
   n / (n + 2) + 4 x e (e + 1) / (n + 2)^2. Beyond 40 the gate is 1. */
INLINED T NAME(mish_of)(T x) {
    const T e = NAME(exponential)(x > 40 ? 40 : x), n = (e + 2) * e;
    return n / (n + 2) * x;
}

INLINED T NAME(mish_slope)(T x) {
    T near = x > 40 ? 40 : x;
    near = near < -1000 ? -1000 : near; /* 0 times infinity would be NaN */
    const T e = NAME(exponential)(near), n = (e + 2) * e, inverse = 1 / (n + 2);
    return n * inverse + e * inverse * ((e + 1) * inverse) * near * 4;
}

UNARY(mish, NAME(mish_of)(x))
BACKWARD(mish_gradient, NAME(mish_slope)(x) * gy)

INLINED T NAME(softplus_of)(T x) { return (x < 0 ? 0 : x) + NAME(log_plus_1)(NAME(decay)(x)); }

/* log(1 + exp(b x)) / b: number b. The linear part is x itself, because b x may be too large. */
KERNEL(softplus) {
    const T *const x = IN(T, 0), scale = (T)numbers[0], inverse = (T)(1 / numbers[0]);
    T *const y = OUT(T, 1);
    for (isize i = 0; i < sizes[0]; i++) {
        const T scaled = x[i] * scale, curved = NAME(log_plus_1)(NAME(decay)(scaled)) * inverse;
        y[i] = (scaled < 0 ? 0 : x[i]) + curved;
    }
}

/* gy times the logistic function of b x: arguments gy, x, number b. */
KERNEL(softplus_gradient) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1), scale = (T)numbers[0];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) gx[i] = gy[i] * NAME(logistic)(x[i] * scale);
}

/* x where x > 0, else (exp(x) - 1) times the number. */
KERNEL(elu) {
    const T *const x = IN(T, 0), alpha = (T)numbers[0];
    T *const y = OUT(T, 1);
    for (isize i = 0; i < sizes[0]; i++) {
        const T below = NAME(exponential_below_1)(x[i] > 0 ? 0 : x[i]) * alpha;
        y[i] = below + (x[i] > 0 ? x[i] : 0);
    }
}

/* gy where x > 0, else gy exp(x) times the number: arguments gy, x. */
KERNEL(elu_gradient) {
    const T *const gy = IN(T, 0), *const x = IN(T, 1), alpha = (T)numbers[0];
    T *const gx = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) {
        const T below = NAME(decay)(x[i] > 0 ? 0 : x[i]) * alpha;
        gx[i] = gy[i] * (x[i] > 0 ? 1 : below);
    }
}

/* --- gelu --- */

/* The argument of the logistic function in the tanh form, a (x + b x^3), for |x| <= 40; and its derivative. */
#define GELU_A ((T)1.5957691216057308)
#define GELU_B ((T)0.044715)

INLINED T NAME(within_40)(T x) {
    const T near = x > 40 ? 40 : x;
    return near < -40 ? -40 : near;
}

INLINED T NAME(gelu_tanh_of)(T x) {
    const T near = NAME(within_40)(x), argument = (near + near * near * near * GELU_B) * GELU_A;
    return (x > 40 ? x : near) * NAME(logistic)(argument);
}

INLINED T NAME(gelu_tanh_slope)(T x) {
    const T near = NAME(within_40)(x), square = near * near, argument = (near + near * square * GELU_B) * GELU_A;
    const T e = NAME(decay)(argument), inverse = 1 / (1 + e);
    const T slope = e * inverse * inverse * ((1 + 3 * GELU_B * square) * GELU_A);
    return (argument > 0 ? 1 : e) * inverse + near * slope;
}

#undef GELU_A
#undef GELU_B

UNARY(gelu_tanh, NAME(gelu_tanh_of)(x))
BACKWARD(gelu_tanh_gradient, gy *NAME(gelu_tanh_slope)(x))

/* The exact form. The share of the normal distribution beyond a >= 0 is Q(a) = exp(-a^2 / 2) t P(t) where
   t = 1 / (1 + 0.35 a). P is fitted to a relative error of 3.2e-8 for a from 0 to 14.5, beyond which Q is 0 in float32,
   by least squares that are weighted by their errors again and again (Lawson's algorithm). */
#if IS_SINGLE
#define FARTHEST 15.0f

INLINED float tail_over_density(float a) {
    const float t = 1 / MULTIPLY_ADD(a, 0.35f, 1.0f);
    float p = -0.0291578857f;
    p = MULTIPLY_ADD(p, t, 0.144030919f);
    p = MULTIPLY_ADD(p, t, -0.255839003f);
    p = MULTIPLY_ADD(p, t, 0.159319694f);
    p = MULTIPLY_ADD(p, t, -0.0232123521f);
    p = MULTIPLY_ADD(p, t, 0.105552501f);
    p = MULTIPLY_ADD(p, t, 0.119821288f);
    p = MULTIPLY_ADD(p, t, 0.139863515f);
    p = MULTIPLY_ADD(p, t, 0.139621307f);
    return p * t;
}

/* x Phi(x) = max(x, 0) - |x| Q(|x|). */
INLINED float gelu_of(float x) {
    const float a = magnitude_f(x) > FARTHEST ? FARTHEST : magnitude_f(x);
    return (x <= 0 ? 0 : x) - a * (decay_f(0.5f * a * a) * tail_over_density(a));
}

/* Phi(x) + x phi(x); the density phi is exp(-x^2 / 2) / sqrt(2 pi). */
INLINED float gelu_slope(float x) {
    const float a = magnitude_f(x) > FARTHEST ? FARTHEST : magnitude_f(x);
    const float above = MULTIPLY_ADD(a, 0.398942280f, -tail_over_density(a)) * decay_f(0.5f * a * a);
    return x < 0 ? -above : 1 + above;
}

UNARY(gelu, gelu_of(x))
BACKWARD(gelu_gradient, gy *gelu_slope(x))
#undef FARTHEST
#endif

/* --- losses --- */

/* d (|x - t| - d / 2) where d = min(|x - t|, delta): number delta. */
KERNEL(huber) {
    const T *const x = IN(T, 0), *const t = IN(T, 1), delta = (T)numbers[0];
    T *const y = OUT(T, 2);
    for (isize i = 0; i < sizes[0]; i++) {
        const T far = NAME(magnitude)(x[i] - t[i]), near = far > delta ? delta : far;
        y[i] = (far - near * (T)0.5) * near;
    }
}

/* log(1 + exp(x)) - t x, by (s - t) x + log(1 + exp(-|x|)) with s = 1 where x > 0, else 0. */
INLINED T NAME(logistic_loss_of)(T x, T t) {
    const T factor = (x > 0 ? 1 : (T)0) - t;
    const T linear = factor != 0 ? factor * x : 0; /* infinity times 0 would be NaN */
    return linear + NAME(log_plus_1)(NAME(decay)(x));
}

/* These losses times weights, 0 where a weight is 0: arguments x, t, weights or None. */
KERNEL(logistic_loss) {
    const T *const x = IN(T, 0), *const t = IN(T, 1), *const w = IN(T, 2);
    T *const y = OUT(T, 3);
    UNUSED(numbers);
    if (w == NULL) {
        for (isize i = 0; i < sizes[0]; i++) y[i] = NAME(logistic_loss_of)(x[i], t[i]);
        return;
    }
    for (isize i = 0; i < sizes[0]; i++) {
        const T loss = NAME(logistic_loss_of)(x[i], t[i]) * w[i];
        y[i] = w[i] != 0 ? loss : 0;
    }
}

/* The derivative of logistic_loss, (s (1 - t) - (1 - s) t) w, times a number, with the logistic function s:
   arguments x, t, w. */
KERNEL(logistic_gradient) {
    const T *const x = IN(T, 0), *const t = IN(T, 1), *const w = IN(T, 2);
    const T gy = (T)numbers[0];
    T *const gx = OUT(T, 3);
    for (isize i = 0; i < sizes[0]; i++) {
        const T e = NAME(decay)(x[i]), inverse = 1 / (1 + e), small = e * inverse;
        const T above = x[i] > 0 ? inverse : small, below = x[i] > 0 ? small : inverse;
        const T slope = (above * (1 - t[i]) - below * t[i]) * (gy * w[i]);
        gx[i] = w[i] != 0 ? slope : 0;
    }
}
