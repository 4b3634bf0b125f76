/* Softmax, its logarithm, and softmax cross entropy. Included for each T.

   Arrays are (outer, axis, inner), and sums are over the axis. Where inner is 1 they are rows, which are computed some
   at a time, so that the exponentials of short rows are vectors too. Otherwise columns are computed side by side. A
   largest element that is NaN is skipped: the sum of exponentials, and with it the row, is NaN anyway. */
#define SOFTMAX(BOTH, SINGLE)                    \
    BOTH(softmax, "T>T:nnn")                     \
    BOTH(softmax_gradient, "TT>T:nnn")           \
    BOTH(log_softmax, "T>T:nnn")                 \
    BOTH(log_softmax_gradient, "TT>T:nnn")       \
    BOTH(log_sum_exp, "T>T:nn")                  \
    BOTH(cross_entropy, "Ti?l?T?>TTT:nnns")      \
    BOTH(cross_entropy_gradient, "TTTTi?l?T?>T:nnns")

#undef LOGARITHM
#if IS_SINGLE
#define LOGARITHM(x) logf(x)
#else
#define LOGARITHM(x) log(x)
#endif
/* Elements of rows that are computed at a time, and columns side by side: they stay in the nearest cache. */
#undef AT_A_TIME
#undef SIDE_BY_SIDE
#define AT_A_TIME 1024
#define SIDE_BY_SIDE 256

INLINED isize NAME(rows_at_a_time)(isize columns) { return columns < AT_A_TIME ? AT_A_TIME / columns : 1; }

INLINED isize NAME(less)(isize a, isize b) { return a < b ? a : b; }

/* x = exp(x) where x <= 0; in place, because compilers make no vectors of it if another array might overlap. */
static void NAME(exponentials)(T *x, isize n) {
    for (isize i = 0; i < n; i++) x[i] = NAME(decay)(x[i]);
}

/* y = x - top. */
INLINED void NAME(subtract)(const T *x, T top, T *y, isize n) {
    for (isize i = 0; i < n; i++) y[i] = x[i] - top;
}

/* A sum of exponentials minus the 1 of the largest element. Where all others are small, the digits of a sum with it
   would be lost: they are added up without it. */
INLINED double NAME(others)(const T *e, isize n, double total) {
    double rest = 0;
    if (!(total < 1.125)) return total - 1;
    ADD_SUM(rest, n, e[i] == 1 ? 0 : e[i]);
    return rest;
}

/* log(1 + x) where x >= 0. */
INLINED T NAME(log_of_rest)(T x) { return x < (T)0.125 ? NAME(log_plus_1)(x) : LOGARITHM(1 + x); }

/* The largest element of each row, and the sum of exp(x - largest) without one largest element. */
static void NAME(normalizers)(const T *x, isize rows, isize columns, T *top, T *others) {
    T scratch[AT_A_TIME];
    const isize step = NAME(rows_at_a_time)(columns);
    for (isize first = 0; first < rows; first += step) {
        const isize count = NAME(less)(step, rows - first);
        const T *const block = x + first * columns;
        double total = 0, rest = 0;
        for (isize r = 0; r < count; r++) top[first + r] = NAME(largest)(block + r * columns, columns);
        for (isize begin = 0; columns > AT_A_TIME && begin < columns; begin += AT_A_TIME) {
            const isize part = NAME(less)(AT_A_TIME, columns - begin);
            double sum = 0;
            NAME(subtract)(block + begin, top[first], scratch, part);
            NAME(exponentials)(scratch, part);
            ADD_SUM(sum, part, scratch[i]);
            total += sum;
            rest += sum >= 1 ? NAME(others)(scratch, part, sum) : sum; /* without the largest, if it is in this part */
            others[first] = (T)(total < 1.125 ? rest : total - 1);
        }
        if (columns > AT_A_TIME) continue;
        for (isize r = 0; r < count; r++)
            NAME(subtract)(block + r * columns, top[first + r], scratch + r * columns, columns);
        NAME(exponentials)(scratch, count * columns);
        for (isize r = 0; r < count; r++) {
            total = 0;
            ADD_SUM(total, columns, scratch[r * columns + i]);
            others[first + r] = (T)NAME(others)(scratch + r * columns, columns, total);
        }
    }
}

static void NAME(softmax_of_rows)(const T *x, T *y, isize rows, isize columns) {
    const isize step = NAME(rows_at_a_time)(columns);
    for (; rows > 0; rows -= step, x += step * columns, y += step * columns) {
        const isize count = NAME(less)(step, rows);
        for (isize r = 0; r < count; r++) {
            const T *const row = x + r * columns;
            NAME(subtract)(row, NAME(largest)(row, columns), y + r * columns, columns);
        }
        NAME(exponentials)(y, count * columns);
        for (isize r = 0; r < count; r++) {
            T *const row = y + r * columns;
            double total = 0;
            ADD_SUM(total, columns, row[i]);
            const T inverse = (T)(1 / total);
            for (isize i = 0; i < columns; i++) row[i] *= inverse;
        }
    }
}

/* The largest element of each of some columns. */
static void NAME(tops_of_columns)(const T *x, isize axis, isize inner, isize count, T *top) {
    for (isize k = 0; k < count; k++) top[k] = -(T)INFINITY;
    for (isize j = 0; j < axis; j++, x += inner)
        for (isize k = 0; k < count; k++) top[k] = x[k] > top[k] ? x[k] : top[k];
}

static void NAME(softmax_of_columns)(const T *x, T *y, isize axis, isize inner, isize count) {
    T top[SIDE_BY_SIDE], total[SIDE_BY_SIDE] = {0};
    NAME(tops_of_columns)(x, axis, inner, count, top);
    for (isize j = 0; j < axis; j++)
        for (isize k = 0; k < count; k++) {
            const T e = NAME(decay)(x[j * inner + k] - top[k]);
            y[j * inner + k] = e;
            total[k] += e;
        }
    for (isize k = 0; k < count; k++) total[k] = 1 / total[k];
    for (isize j = 0; j < axis; j++)
        for (isize k = 0; k < count; k++) y[j * inner + k] *= total[k];
}

static void NAME(log_softmax_of_columns)(const T *x, T *y, isize axis, isize inner, isize count) {
    T top[SIDE_BY_SIDE], total[SIDE_BY_SIDE] = {0}, rest[SIDE_BY_SIDE] = {0};
    int certain = 0;
    NAME(tops_of_columns)(x, axis, inner, count, top);
    for (isize j = 0; j < axis; j++)
        for (isize k = 0; k < count; k++) {
            const T e = NAME(decay)(x[j * inner + k] - top[k]);
            y[j * inner + k] = e;
            total[k] += e;
        }
    for (isize k = 0; k < count; k++) certain |= total[k] < (T)1.125;
    for (isize j = 0; certain && j < axis; j++) /* as in others() */
        for (isize k = 0; k < count; k++) rest[k] += y[j * inner + k] == 1 ? 0 : y[j * inner + k];
    for (isize k = 0; k < count; k++)
        total[k] = total[k] < (T)1.125 ? NAME(log_plus_1)(rest[k]) : LOGARITHM(total[k]);
    for (isize j = 0; j < axis; j++)
        for (isize k = 0; k < count; k++) y[j * inner + k] = x[j * inner + k] - top[k] - total[k];
}

/* Softmax: exp(x - largest) / sum. Sizes outer, axis, inner, as of all kernels that follow. */
KERNEL(softmax) {
    const isize axis = sizes[1], inner = sizes[2];
    UNUSED(numbers);
    if (inner == 1) {
        NAME(softmax_of_rows)(IN(T, 0), OUT(T, 1), sizes[0], axis);
        return;
    }
    for (isize o = 0; o < sizes[0]; o++)
        for (isize k = 0; k < inner; k += SIDE_BY_SIDE) {
            const isize at = o * axis * inner + k;
            NAME(softmax_of_columns)(IN(T, 0) + at, OUT(T, 1) + at, axis, inner, NAME(less)(SIDE_BY_SIDE, inner - k));
        }
}

/* x - largest - log(sum of exp(x - largest)). */
KERNEL(log_softmax) {
    const isize axis = sizes[1], inner = sizes[2], step = NAME(rows_at_a_time)(axis);
    T top[AT_A_TIME], others[AT_A_TIME];
    UNUSED(numbers);
    for (isize o = 0; inner == 1 && o < sizes[0]; o += step) {
        const T *const x = IN(T, 0) + o * axis;
        T *const y = OUT(T, 1) + o * axis;
        const isize count = NAME(less)(step, sizes[0] - o);
        NAME(normalizers)(x, count, axis, top, others);
        for (isize r = 0; r < count; r++) {
            const T log_of_sum = NAME(log_of_rest)(others[r]);
            for (isize i = 0; i < axis; i++) y[r * axis + i] = x[r * axis + i] - top[r] - log_of_sum;
        }
    }
    for (isize o = 0; inner != 1 && o < sizes[0]; o++)
        for (isize k = 0; k < inner; k += SIDE_BY_SIDE) {
            const isize at = o * axis * inner + k, count = NAME(less)(SIDE_BY_SIDE, inner - k);
            NAME(log_softmax_of_columns)(IN(T, 0) + at, OUT(T, 1) + at, axis, inner, count);
        }
}

/* y (gy - sum of gy y): arguments gy, y. */
KERNEL(softmax_gradient) {
    const isize axis = sizes[1], inner = sizes[2];
    UNUSED(numbers);
    for (isize o = 0; o < sizes[0]; o++) {
        const T *const gy = IN(T, 0) + o * axis * inner, *const y = IN(T, 1) + o * axis * inner;
        T *const gx = OUT(T, 2) + o * axis * inner;
        if (inner == 1) {
            double total = 0;
            ADD_SUM(total, axis, gy[i] * y[i]);
            for (isize i = 0; i < axis; i++) gx[i] = y[i] * (gy[i] - (T)total);
        }
        for (isize first = 0; inner != 1 && first < inner; first += SIDE_BY_SIDE) {
            const isize count = NAME(less)(SIDE_BY_SIDE, inner - first);
            T totals[SIDE_BY_SIDE] = {0};
            for (isize i = first; i < axis * inner; i += inner)
                for (isize k = 0; k < count; k++) totals[k] += gy[i + k] * y[i + k];
            for (isize i = first; i < axis * inner; i += inner)
                for (isize k = 0; k < count; k++) gx[i + k] = y[i + k] * (gy[i + k] - totals[k]);
        }
    }
}

/* 1 - exp(y) where exp(y) > 1/2: the Taylor series, which is exact to the last digits after so many terms. */
INLINED T NAME(complement)(T y) {
    T sum = 1;
    for (int n = sizeof(T) == 4 ? 10 : 18; n > 1; n--) sum = 1 + sum * y * (T)(1.0 / n);
    return -y * sum;
}

/* gy - p total for a probability p; where p is nearly 1 and gy nearly the total, rest is 1 - p. */
INLINED T NAME(minus_share)(T gy, T p, T total, T rest) {
    return p > (T)0.5 ? gy * rest - p * (total - gy) : gy - p * total;
}

/* gy - exp(y) times the sum of gy: arguments gy, y. */
KERNEL(log_softmax_gradient) {
    const isize axis = sizes[1], inner = sizes[2];
    UNUSED(numbers);
    for (isize o = 0; o < sizes[0]; o++) {
        const T *const gy = IN(T, 0) + o * axis * inner, *const y = IN(T, 1) + o * axis * inner;
        T *const gx = OUT(T, 2) + o * axis * inner;
        if (inner == 1) {
            double total = 0, certain = 0; /* of at most one element, which is found by a sum */
            for (isize i = 0; i < axis; i++) gx[i] = NAME(exponential)(y[i]);
            ADD_SUM(total, axis, gy[i]);
            ADD_SUM(certain, axis, gx[i] > (T)0.5 ? y[i] : 0);
            const T rest = NAME(complement)((T)certain);
            for (isize i = 0; i < axis; i++) gx[i] = NAME(minus_share)(gy[i], gx[i], (T)total, rest);
        }
        for (isize first = 0; inner != 1 && first < inner; first += SIDE_BY_SIDE) {
            const isize count = NAME(less)(SIDE_BY_SIDE, inner - first);
            T totals[SIDE_BY_SIDE] = {0}, rest[SIDE_BY_SIDE] = {0};
            for (isize i = first; i < axis * inner; i += inner) {
                for (isize k = 0; k < count; k++) gx[i + k] = NAME(exponential)(y[i + k]);
                for (isize k = 0; k < count; k++) {
                    totals[k] += gy[i + k];
                    rest[k] += gx[i + k] > (T)0.5 ? y[i + k] : 0;
                }
            }
            for (isize k = 0; k < count; k++) rest[k] = NAME(complement)(rest[k]);
            for (isize i = first; i < axis * inner; i += inner)
                for (isize k = 0; k < count; k++)
                    gx[i + k] = NAME(minus_share)(gy[i + k], gx[i + k], totals[k], rest[k]);
        }
    }
}

/* log(sum of exp(x)) of rows, as if it were exact: infinite where the largest element is. Sizes rows, columns. */
KERNEL(log_sum_exp) {
    const isize columns = sizes[1], step = NAME(rows_at_a_time)(columns);
    T top[AT_A_TIME], others[AT_A_TIME], *const y = OUT(T, 1);
    UNUSED(numbers);
    for (isize first = 0; first < sizes[0]; first += step) {
        const isize count = NAME(less)(step, sizes[0] - first);
        const T *x = IN(T, 0) + first * columns;
        NAME(normalizers)(x, count, columns, top, others);
        for (isize r = 0; r < count; r++, x += columns) {
            if (isinf(top[r])) { /* inf - inf is NaN; the exponentials are 0 or infinite, unless one is NaN */
                top[r] = 0;
                for (isize i = 0; i < columns; i++) top[r] += NAME(exponential)(x[i]);
                y[first + r] = LOGARITHM(top[r]);
            } else {
                y[first + r] = NAME(log_of_rest)(others[r]) + top[r];
            }
        }
    }
}

/* The label of a sample, from those arrays that are there; -1 if it is none of the classes. */
INLINED isize NAME(label)(const int32_t *few, const int64_t *many, isize sample, isize classes) {
    const int64_t label = few ? few[sample] : many ? many[sample] : -1;
    return label >= 0 && label < classes ? (isize)label : -1;
}

/* Cross entropy of softmax, w (log(sum) + largest - x_label): arguments x, labels (int32 or int64), weights w or None;
   results losses, the largest score and the sum of exp(x - largest) without one largest of each sample. Sizes samples, classes, and 1 for
   the sum of all losses times the number, 0 for a loss of each sample. Losses of weight 0 are 0, those of labels that
   are no class NaN. */
KERNEL(cross_entropy) {
    const isize samples = sizes[0], classes = sizes[1], is_sum = sizes[2];
    const T *const x = IN(T, 0), *const weights = IN(T, 3);
    T *const loss = OUT(T, 4), *const top = OUT(T, 5), *const others = OUT(T, 6);
    double total = 0;
    NAME(normalizers)(x, samples, classes, top, others);
    for (isize n = 0; n < samples; n++) {
        const isize label = NAME(label)(IN(int32_t, 1), IN(int64_t, 2), n, classes);
        T one = (T)NAN;
        if (label >= 0) one = NAME(log_of_rest)(others[n]) - (x[n * classes + label] - top[n]);
        if (weights) one = weights[n] == 0 ? 0 : one * weights[n];
        if (is_sum) total += one;
        else loss[n] = one;
    }
    if (is_sum) loss[0] = (T)(total * numbers[0]);
}

/* The gradient of the scores, c (exp(x - largest) / sum - 1 at the label), where c is gy times weight and number, and
   0 where the weight is 0: arguments gy, x, largest, sum without it, labels, weights. Sizes samples, classes, elements of gy. */
KERNEL(cross_entropy_gradient) {
    const isize samples = sizes[0], classes = sizes[1], step = NAME(rows_at_a_time)(classes);
    const T *const gy = IN(T, 0), *const top = IN(T, 2), *const others = IN(T, 3), *const weights = IN(T, 6);
    for (isize first = 0; first < samples; first += step) {
        const isize end = NAME(less)(first + step, samples);
        T *const gx = OUT(T, 7);
        for (isize n = first; n < end; n++)
            NAME(subtract)(IN(T, 1) + n * classes, top[n], gx + n * classes, classes);
        NAME(exponentials)(gx + first * classes, (end - first) * classes);
        for (isize n = first; n < end; n++) {
            T *const row = gx + n * classes;
            const isize label = NAME(label)(IN(int32_t, 4), IN(int64_t, 5), n, classes);
            const T weight = weights ? weights[n] : 1;
            const T c = gy[sizes[2] == 1 ? 0 : n] * (weight * (T)numbers[0]), factor = label < 0 ? (T)NAN : c / (1 + others[n]);
            /* p - 1, from what is not at the label */
            const T at_label = label < 0 ? 0 : -(others[n] + (1 - row[label])) * factor;
            for (isize j = 0; j < classes; j++) row[j] *= factor;
            if (label >= 0) row[label] = at_label;
            if (weight == 0) memset(row, 0, (size_t)classes * sizeof *row);
        }
    }
}
