/* Sums over alignments of connectionist temporal classification, in the log domain. Included for each T.

   States of a sequence are its labels with blanks around them. A state is reached from itself, the one before it, and
   the one before that if `bars` is 0 there and not minus infinity; backward the same with those behind it. */
#define CTC(BOTH, SINGLE) \
    SINGLE(ctc_alignments, "i?l?l>lBB:nnn") \
    BOTH(ctc_forward, "TlBBl>TTT!:nnnn") \
    BOTH(ctc_gradient, "TlBBlTT>TT!:nnnn")

#if IS_SINGLE
/* The states of label sequences. Arguments: labels (batch, count) of int32 or int64, their numbers (batch); path,
   may_skip, is_last (batch, 2 count + 1). Sizes: batch, count, blank. */
KERNEL(ctc_alignments) {
    const isize count = sizes[1], states = 2 * count + 1;
    UNUSED(numbers);
    for (isize b = 0; b < sizes[0]; b++) {
        const int32_t *const few = IN(int32_t, 0);
        const int64_t *const many = IN(int64_t, 1), length = IN(int64_t, 2)[b];
        int64_t *const path = OUT(int64_t, 3) + b * states;
        unsigned char *const may_skip = OUT(unsigned char, 4) + b * states;
        unsigned char *const is_last = OUT(unsigned char, 5) + b * states;
        for (isize s = 0; s < states; s++) {
            const isize k = b * count + s / 2;
            path[s] = s % 2 == 0 || s / 2 >= length ? sizes[2] : few ? few[k] : many[k];
            may_skip[s] = s >= 2 && path[s] != path[s - 2];
            is_last[s] = (s + 1) / 2 == length;
        }
    }
}
#endif

/* Whether all labels of a path are below the number of classes. */
static int NAME(path_fits)(const int64_t *path, isize n, isize classes) {
    int fits = 1;
    for (isize k = 0; k < n; k++) fits &= (path[k] >= 0) & (path[k] < classes);
    return fits;
}

/* Stands for the largest sum where all are minus infinity. */
#define SMALLEST ((T)-1e30)

/* log(1 + x) for 0 <= x <= 2, as 2 atanh(x / (2 + x)); NaN stays NaN. */
INLINED T NAME(log_of_more)(T x) {
    const T z = x / (2 + x), s = z * z;
    T p;
#if IS_SINGLE
    p = 1.57517803e-1f;
    p = MULTIPLY_ADD(p, s, 6.49348957e-2f);
    p = MULTIPLY_ADD(p, s, 1.14698752e-1f);
    p = MULTIPLY_ADD(p, s, 1.42639799e-1f);
    p = MULTIPLY_ADD(p, s, 2.00004733e-1f);
    p = MULTIPLY_ADD(p, s, 3.33333317e-1f);
#else
    p = 0.210980978859757969;
    p = MULTIPLY_ADD(p, s, -0.144504911834144678);
    p = MULTIPLY_ADD(p, s, 0.135579039136922984);
    p = MULTIPLY_ADD(p, s, 0.0122924487285405317);
    p = MULTIPLY_ADD(p, s, 0.0544191541823458718);
    p = MULTIPLY_ADD(p, s, 0.0516076988114716203);
    p = MULTIPLY_ADD(p, s, 0.058930996925900416);
    p = MULTIPLY_ADD(p, s, 0.0666588635270188413);
    p = MULTIPLY_ADD(p, s, 0.0769234594027063833);
    p = MULTIPLY_ADD(p, s, 0.0909090788150918814);
    p = MULTIPLY_ADD(p, s, 0.111111111339389688);
    p = MULTIPLY_ADD(p, s, 0.14285714285490105);
    p = MULTIPLY_ADD(p, s, 0.200000000000008649);
    p = MULTIPLY_ADD(p, s, 0.333333333333333328);
#endif
    return 2 * MULTIPLY_ADD(p * s, z, z);
}

/* log(exp(a) + exp(b) + exp(c)); NaN if one is NaN. The exponential of the largest is 1 and not computed. */
INLINED T NAME(log_of_sum)(T a, T b, T c) {
    const T high = a > b ? a : b, low = a > b ? b : a, top = high > c ? high : c, middle = high > c ? c : high;
    const T base = top < SMALLEST ? SMALLEST : top;
    return top + NAME(log_of_more)(NAME(exponential)(low - base) + NAME(exponential)(middle - base));
}

/* The largest of n sums and SMALLEST; NaN if one is NaN. */
static T NAME(top_of)(const T *x, isize n) {
    T top = SMALLEST, unknown = 0;
    for (isize k = 0; k < n; k++) {
        top = x[k] > top ? x[k] : top;
        unknown = x[k] != x[k] ? x[k] : unknown;
    }
    return unknown != 0 ? unknown : top;
}

/* The logarithms of the sums over what a state is reached from: the arrays begin `near` and `far` elements apart. */
static void NAME(log_sums)(const T *restrict here, isize near, isize far, const T *restrict bars, T *restrict sums,
                           isize n) {
    for (isize k = 0; k < n; k++) sums[k] = NAME(log_of_sum)(here[k], here[k + near], here[k + far] + bars[k]);
}

static void NAME(add_emissions)(const T *restrict log_p, const int64_t *restrict path, const T *restrict x,
                                T *restrict y, isize n) {
    for (isize k = 0; k < n; k++) y[k] = x[k] + log_p[path[k]];
}

/* Fills with minus infinity. */
static void NAME(close_all)(T *x, isize n) {
    for (isize k = 0; k < n; k++) x[k] = (T)-INFINITY;
}

/* Log-likelihoods, and sums over prefixes of alignments less the largest of each time step. Arguments: log_p (steps,
   batch, classes), path, may_skip, is_last (batch, states), lengths (batch); likelihoods (batch), sums (steps, batch,
   states), scratch (3 states + 2). Sizes: steps, batch, classes, states. */
KERNEL(ctc_forward) {
    const isize steps = sizes[0], batch = sizes[1], classes = sizes[2], states = sizes[3];
    T *const room = OUT(T, 7), *const here = room + 2, *const bars = here + states, *const next = bars + states;
    UNUSED(numbers);
    if (!NAME(path_fits)(IN(int64_t, 1), batch * states, classes)) {
        *OUT(unsigned char, 8) = 0;
        return;
    }
    for (isize b = 0; b < batch; b++) {
        const int64_t *const path = IN(int64_t, 1) + b * states, length = IN(int64_t, 4)[b];
        const unsigned char *const may_skip = IN(unsigned char, 2) + b * states;
        const unsigned char *const is_last = IN(unsigned char, 3) + b * states;
        double offset = 0;
        NAME(close_all)(room, states + 2);
        for (isize k = 0; k < states; k++) bars[k] = may_skip[k] ? 0 : (T)-INFINITY;
        for (isize t = 0; t < steps; t++) {
            const T *const log_p = IN(T, 0) + (t * batch + b) * classes;
            T *const sums = OUT(T, 6) + (t * batch + b) * states;
            if (t == 0) {
                for (isize k = 0; k < 2 && k < states; k++) here[k] = log_p[path[k]];
            } else if (t < length) {
                NAME(log_sums)(here, -1, -2, bars, next, states);
                NAME(add_emissions)(log_p, path, next, here, states);
            }
            const T top = NAME(top_of)(here, states);
            offset += top;
            for (isize k = 0; k < states; k++) sums[k] = here[k] = here[k] - top;
        }
        T end = (T)-INFINITY;
        for (isize k = 0; k < states; k++)
            if (is_last[k]) end = NAME(log_of_sum)(end, here[k], (T)-INFINITY);
        if (length == 0) end = is_last[0] ? 0 : (T)-INFINITY, offset = 0;
        OUT(T, 5)[b] = (T)(end + offset);
    }
}

/* Subtracts the shares of the states in a time step from the gradient g of its classes: exponentials of the sums over
   prefixes and suffixes, divided by their sum. */
static void NAME(subtract_shares)(const T *sums, const T *rest, const int64_t *path, T *shares, T *g, isize states) {
    T total = 0;
    for (isize k = 0; k < states; k++) shares[k] = sums[k] + rest[k];
    const T top = NAME(top_of)(shares, states);
    for (isize k = 0; k < states; k++) shares[k] = NAME(exponential)(shares[k] - top);
    for (isize k = 0; k < states; k++) total += shares[k];
    for (isize k = 0; k < states; k++) g[path[k]] -= shares[k] / (total == 0 ? 1 : total);
}

/* Gradients of the negative log-likelihoods by the inputs of softmax. Arguments: log_p to lengths as of ctc_forward,
   likelihoods and sums as it filled them; gx (steps, batch, classes), scratch (4 states + 2). Sizes: steps, batch,
   classes, states. */
KERNEL(ctc_gradient) {
    const isize steps = sizes[0], batch = sizes[1], classes = sizes[2], states = sizes[3];
    T *const here = OUT(T, 8), *const bars = here + states + 2, *const rest = bars + states, *const shares = rest + states;
    UNUSED(numbers);
    if (!NAME(path_fits)(IN(int64_t, 1), batch * states, classes)) {
        *OUT(unsigned char, 9) = 0;
        return;
    }
    for (isize b = 0; b < batch; b++) {
        const int64_t *const path = IN(int64_t, 1) + b * states, length = IN(int64_t, 4)[b];
        const unsigned char *const may_skip = IN(unsigned char, 2) + b * states;
        const unsigned char *const is_last = IN(unsigned char, 3) + b * states;
        const T likelihood = IN(T, 5)[b];
        const isize active = likelihood - likelihood == 0 || likelihood != likelihood ? (isize)length : 0;
        NAME(close_all)(here, states + 2);
        for (isize k = 0; k < states; k++) bars[k] = k + 2 < states && may_skip[k + 2] ? 0 : (T)-INFINITY;
        for (isize k = 0; k < states; k++) rest[k] = is_last[k] ? 0 : (T)-INFINITY;
        for (isize t = steps - 1; t >= 0; t--) {
            const T *const log_p = IN(T, 0) + (t * batch + b) * classes;
            T *const g = OUT(T, 7) + (t * batch + b) * classes;
            if (t >= active) {
                memset(g, 0, (size_t)classes * sizeof(T));
                continue;
            }
            for (isize k = 0; k < classes; k++) g[k] = NAME(exponential)(log_p[k]);
            NAME(subtract_shares)(IN(T, 6) + (t * batch + b) * states, rest, path, shares, g, states);
            NAME(add_emissions)(log_p, path, rest, here, states);
            NAME(log_sums)(here, 1, 2, bars, rest, states);
            const T top = NAME(top_of)(rest, states);
            for (isize k = 0; k < states; k++) rest[k] -= top;
        }
    }
}

#undef SMALLEST
