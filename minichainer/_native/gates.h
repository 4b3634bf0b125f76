/* Gates of recurrent cells: sigmoids and hyperbolic tangents between two products of matrices. Included for each T.

   Gates of a matrix by rows, (rows, gates * units), follow one another, as products leave them; values by gates,
   (gates, rows, units), are what backward reads. Sums and products are in the order of the NumPy forms. */
#define GATES(BOTH, SINGLE) \
    BOTH(lstm_step, "TTT>TTTTTTT:nn") \
    BOTH(lstm_step_gradient, "TTTT>TTT:nn") \
    BOTH(gru_step, "TTTT>TTTTT:nn") \
    BOTH(gru_step_gradient, "TTTT>TTTT:nn") \
    BOTH(lstm_cell, "TT>TTTT:n") \
    BOTH(lstm_cell_gradient, "TTTTT>TT:n")

/* tanh(x): 2 units. x + x^3 P(x^2) below 0.55, where P is the polynomial of least error; above, 1 - 2 / (1 + exp(2 |x|)),
   which is 1 beyond 20. */
INLINED T NAME(gate_tanh)(T x) {
    const T size = x < 0 ? -x : x, s = x * x;
    T p;
#if IS_SINGLE
    p = -6.61022783e-3f;
    p = MULTIPLY_ADD(p, s, 2.13093887e-2f);
    p = MULTIPLY_ADD(p, s, -5.39094288e-2f);
    p = MULTIPLY_ADD(p, s, 1.33331137e-1f);
    p = MULTIPLY_ADD(p, s, -3.33333320e-1f);
#else
    p = -2.06027653763663416e-05;
    p = MULTIPLY_ADD(p, s, 8.51131368557767152e-05);
    p = MULTIPLY_ADD(p, s, -2.34634741088723714e-04);
    p = MULTIPLY_ADD(p, s, 5.88936052007405777e-04);
    p = MULTIPLY_ADD(p, s, -1.45566183010071603e-03);
    p = MULTIPLY_ADD(p, s, 3.59211037868902388e-03);
    p = MULTIPLY_ADD(p, s, -8.86323439781435484e-03);
    p = MULTIPLY_ADD(p, s, 2.18694884936669419e-02);
    p = MULTIPLY_ADD(p, s, -5.39682539674340145e-02);
    p = MULTIPLY_ADD(p, s, 1.33333333333327148e-01);
    p = MULTIPLY_ADD(p, s, -3.33333333333333326e-01);
#endif
    const T low = MULTIPLY_ADD(p * s, x, x);
    const T high = 1 - 2 / (1 + NAME(exponential)(2 * (size > 20 ? 20 : size)));
    return size < (T)0.55 ? low : x < 0 ? -high : high;
}

/* Loops along a row of units. Compilers make vectors of them because no two arguments overlap. */
static void NAME(sigmoids)(const T *restrict a, const T *restrict z, const T *restrict b, T *restrict y, isize n) {
    for (isize k = 0; k < n; k++) y[k] = NAME(logistic)(a[k] + z[k] + b[k]);
}

static void NAME(tangents)(const T *restrict a, const T *restrict z, const T *restrict b, T *restrict y, isize n) {
    for (isize k = 0; k < n; k++) y[k] = NAME(gate_tanh)(a[k] + z[k] + b[k]);
}

static void NAME(lstm_state)(const T *restrict o, const T *restrict i, const T *restrict f, const T *restrict g,
                             T *restrict c, T *restrict tanh_c, T *restrict h, isize n) {
    for (isize k = 0; k < n; k++) {
        c[k] = c[k] * f[k] + i[k] * g[k];
        tanh_c[k] = NAME(gate_tanh)(c[k]);
        h[k] = o[k] * tanh_c[k];
    }
}

/* A step of LSTM behind the product with the state. Arguments: product, z (rows, 4 units) with gates o, i, f, g, and
   the bias b (4, units); the state h, c (rows, units), changed; before_h, before_c, tanh_c, y (rows, units), values
   (4, rows, units). Sizes: rows, units.

       o, i, f = sigmoid(product + z + b), g = tanh(product + z + b), c = c f + i g, h = y = o tanh(c) */
KERNEL(lstm_step) {
    const isize units = sizes[1], all = sizes[0] * units;
    T *const h = OUT(T, 3), *const c = OUT(T, 4), *const y = OUT(T, 8), *const values = OUT(T, 9);
    UNUSED(numbers);
    memcpy(OUT(T, 5), h, (size_t)all * sizeof(T));
    memcpy(OUT(T, 6), c, (size_t)all * sizeof(T));
    for (isize at = 0; at < all; at += units) {
        const T *const product = IN(T, 0) + 4 * at, *const z = IN(T, 1) + 4 * at, *const b = IN(T, 2);
        T *const gates = values + at;
        for (isize k = 0; k < 3; k++)
            NAME(sigmoids)(product + k * units, z + k * units, b + k * units, gates + k * all, units);
        NAME(tangents)(product + 3 * units, z + 3 * units, b + 3 * units, gates + 3 * all, units);
        NAME(lstm_state)(gates, gates + all, gates + 2 * all, gates + 3 * all, c + at, OUT(T, 7) + at, h + at, units);
    }
    memcpy(y, h, (size_t)all * sizeof(T));
}

/* What LSTM cells share: the gradients of the gates o, i, f, g, and in place dc, that of the cells, from the gradient dh
   of the result, the values of the gates, the former cells c, and tanh_c. */
static void NAME(lstm_gradients)(const T *restrict o, const T *restrict i, const T *restrict f, const T *restrict g,
                                 const T *restrict c, const T *restrict tanh_c, const T *restrict dh, T *restrict dc,
                                 T *restrict dz_o, T *restrict dz_i, T *restrict dz_f, T *restrict dz_g, isize n) {
    for (isize k = 0; k < n; k++) {
        const T total = dc[k] + (1 - tanh_c[k] * tanh_c[k]) * o[k] * dh[k];
        dz_o[k] = (o[k] - o[k] * o[k]) * tanh_c[k] * dh[k];
        dz_i[k] = (i[k] - i[k] * i[k]) * g[k] * total;
        dz_f[k] = (f[k] - f[k] * f[k]) * c[k] * total;
        dz_g[k] = (1 - g[k] * g[k]) * i[k] * total;
        dc[k] = total * f[k];
    }
}

/* Gradients of lstm_step. Arguments: gy, tanh_c, before_c (rows, units), values (4, rows, units); dh (rows, units), the
   gradient of the new state, to which gy is added; dc, changed from the gradient of the new cells to that of the former
   ones, and gz (rows, 4 units), of the gates. Sizes: rows, units. */
KERNEL(lstm_step_gradient) {
    const isize units = sizes[1], all = sizes[0] * units;
    const T *const gy = IN(T, 0);
    T *const dh = OUT(T, 4);
    UNUSED(numbers);
    for (isize k = 0; k < all; k++) dh[k] += gy[k];
    for (isize at = 0; at < all; at += units) {
        const T *const v = IN(T, 3) + at;
        T *const gz = OUT(T, 6) + 4 * at;
        NAME(lstm_gradients)(v, v + all, v + 2 * all, v + 3 * all, IN(T, 2) + at, IN(T, 1) + at, dh + at, OUT(T, 5) + at,
                             gz, gz + units, gz + 2 * units, gz + 3 * units, units);
    }
}

static void NAME(sum)(const T *restrict a, const T *restrict b, T *restrict y, isize n) {
    for (isize k = 0; k < n; k++) y[k] = a[k] + b[k];
}

static void NAME(gru_state)(const T *restrict z, const T *restrict b, const T *restrict s, const T *restrict r,
                            const T *restrict u, T *restrict v, T *restrict h, isize n) {
    for (isize k = 0; k < n; k++) {
        v[k] = NAME(gate_tanh)(z[k] + b[k] + s[k] * r[k]);
        h[k] = (h[k] - v[k]) * u[k] + v[k];
    }
}

/* A step of GRU behind the product with the state. Arguments: product, z (rows, 3 units) with gates r, u and the
   candidate, biases bx, bh (3, units); the state h (rows, units), changed; before, from_state, y (rows, units), values
   (3, rows, units). Sizes: rows, units.

       r, u = sigmoid(product + bh + z + bx), s = product + bh, v = tanh(z + bx + r s), h = y = (h - v) u + v */
KERNEL(gru_step) {
    const isize units = sizes[1], all = sizes[0] * units;
    const T *const bx = IN(T, 2), *const bh = IN(T, 3);
    T *const h = OUT(T, 4), *const from_state = OUT(T, 6), *const values = OUT(T, 8);
    UNUSED(numbers);
    memcpy(OUT(T, 5), h, (size_t)all * sizeof(T));
    for (isize at = 0; at < all; at += units) {
        const T *const product = IN(T, 0) + 3 * at, *const z = IN(T, 1) + 3 * at;
        T *const r = values + at, *const u = r + all, *const v = u + all, *const s = from_state + at;
        NAME(sum)(product, bh, v, units);
        NAME(sigmoids)(v, z, bx, r, units);
        NAME(sum)(product + units, bh + units, v, units);
        NAME(sigmoids)(v, z + units, bx + units, u, units);
        NAME(sum)(product + 2 * units, bh + 2 * units, s, units);
        NAME(gru_state)(z + 2 * units, bx + 2 * units, s, r, u, v, h + at, units);
    }
    memcpy(OUT(T, 7), h, (size_t)all * sizeof(T));
}

static void NAME(gru_gradients)(const T *restrict v, isize all, const T *restrict h, const T *restrict s,
                                const T *restrict dh, T *restrict rest, T *restrict dz_r, T *restrict dz_u,
                                T *restrict dz_v, T *restrict da_v, isize n) {
    for (isize k = 0; k < n; k++) {
        const T r = v[k], u = v[k + all], new = v[k + 2 * all];
        const T of_new = (1 - new * new) * (1 - u) * dh[k];
        dz_r[k] = (r - r * r) * of_new * s[k];
        dz_u[k] = (u - u * u) * (h[k] - new) * dh[k];
        dz_v[k] = of_new;
        da_v[k] = of_new * r;
        rest[k] = dh[k] * u;
    }
}

/* Gradients of gru_step. Arguments: gy, before, from_state (rows, units), values (3, rows, units); dh (rows, units), the
   gradient of the new state, to which gy is added; rest (rows, units), the part of the former state's gradient that
   passes no gate, gx and ga (rows, 3 units), of the input's and the state's part of the gates. Sizes: rows, units. */
KERNEL(gru_step_gradient) {
    const isize units = sizes[1], all = sizes[0] * units;
    const T *const gy = IN(T, 0);
    T *const dh = OUT(T, 4);
    UNUSED(numbers);
    for (isize k = 0; k < all; k++) dh[k] += gy[k];
    for (isize at = 0; at < all; at += units) {
        T *const gx = OUT(T, 6) + 3 * at, *const ga = OUT(T, 7) + 3 * at;
        NAME(gru_gradients)(IN(T, 3) + at, all, IN(T, 1) + at, IN(T, 2) + at, dh + at, OUT(T, 5) + at, gx, gx + units,
                            gx + 2 * units, ga + 2 * units, units);
        memcpy(ga, gx, 2 * (size_t)units * sizeof(T));
    }
}

/* One LSTM cell whose gates a, i, f, o are adjacent for each unit. Arguments: the former cells (size), x (4 size); c, h,
   tanh_c (size), values (4, size) of i, f, o, a. Size: rows times units.

       c = sigmoid(i) tanh(a) + sigmoid(f) c', h = sigmoid(o) tanh(c) */
KERNEL(lstm_cell) {
    const isize size = sizes[0];
    const T *const x = IN(T, 1);
    T *const i = OUT(T, 5), *const f = i + size, *const o = f + size, *const a = o + size;
    UNUSED(numbers);
    for (isize k = 0; k < size; k++) i[k] = NAME(logistic)(x[4 * k + 1]);
    for (isize k = 0; k < size; k++) f[k] = NAME(logistic)(x[4 * k + 2]);
    for (isize k = 0; k < size; k++) o[k] = NAME(logistic)(x[4 * k + 3]);
    for (isize k = 0; k < size; k++) a[k] = NAME(gate_tanh)(x[4 * k]);
    memcpy(OUT(T, 2), IN(T, 0), (size_t)size * sizeof(T));
    NAME(lstm_state)(o, i, f, a, OUT(T, 2), OUT(T, 4), OUT(T, 3), size);
}

/* Gradients of lstm_cell. Arguments: the former cells, tanh_c (size), values (4, size), gc, gh (size), the gradients of
   c and h; those of the former cells (size) and of x (4 size). Size: rows times units. */
KERNEL(lstm_cell_gradient) {
    enum { BLOCK = 256 };
    const isize size = sizes[0];
    T *const dc = OUT(T, 5), *const gx = OUT(T, 6);
    UNUSED(numbers);
    memcpy(dc, IN(T, 3), (size_t)size * sizeof(T));
    for (isize at = 0; at < size; at += BLOCK) {
        const isize n = size - at < BLOCK ? size - at : BLOCK;
        const T *const i = IN(T, 2) + at, *const f = i + size, *const o = f + size, *const a = o + size;
        T dz[4][BLOCK];
        NAME(lstm_gradients)(o, i, f, a, IN(T, 0) + at, IN(T, 1) + at, IN(T, 4) + at, dc + at, dz[3], dz[1], dz[2],
                             dz[0], n);
        for (isize k = 0; k < n; k++)
            for (isize gate = 0; gate < 4; gate++) gx[4 * (at + k) + gate] = dz[gate][k];
    }
}
