/* Layer, group, RMS and batch normalization. Included for each T.

   Rows are normalized each by itself. Channels are those of an array (outer, channels, inner), which are its sizes;
   where inner is 1, they are computed side by side, a few ones several times. Sums are summed as sums.h says. */
#define NORMALIZATION(BOTH, SINGLE)                   \
    BOTH(normalize_rows, "TTT?>TT?T?T!:nns")           \
    BOTH(rows_gradient, "TTTT?T?T>TTTd:nn")           \
    BOTH(channel_moments, "T>Tdd!:nnn")                \
    BOTH(channel_sums, "TTT?>dd:nnn")                 \
    BOTH(scale_channels, "TT?dd>T:nnn")               \
    BOTH(combine_channels, "TTT?ddd>T:nnn")           \
    BOTH(affine_of_channels, "TTdd>dd:ns")            \
    BOTH(gradient_coefficients, "Tdddd>dddd:nn")      \
    BOTH(normalize_groups, "TTT>TTddTd!:nnnnns")       \
    BOTH(groups_gradient, "TTTTdd>TddTd:nnnnn")

/* Columns side by side, rows whose columns are summed while they are in a cache, and the number of standard deviations
   from zero beyond which elements are shifted (kernels/normalization.py says why). */
#undef WIDE
#undef FEW_ROWS
#undef FAR
#define WIDE 256
#define FEW_ROWS 16
#define FAR 2.0

/* Kernels that compute deviations do not take arrays with regular parts whose deviation is that large, or whose mean is
   that many deviations from zero, with inverse deviations up to the last number (kernels/huge_parts.py says why). */
#undef LARGE
#undef FAR_MEAN
#undef MOST
#define LARGE (IS_SINGLE ? 0x1p40 : 0x1p400)
#define FAR_MEAN (IS_SINGLE ? 0x1p32 : 0x1p72)
#define MOST 0x1p9

/* Whether a part, of count elements at each of outer places, is finite and not 0. */
static int NAME(is_regular)(const T *x, isize outer, isize stride, isize count) {
    int some = 0;
    for (isize o = 0; o < outer; o++, x += stride)
        for (isize i = 0; i < count; i++) {
            if (!isfinite(x[i])) return 0;
            some |= x[i] != 0;
        }
    return some;
}

/* Whether squares may have overflowed, or rounding is all that a deviation consists of. */
INLINED int NAME(is_doubtful)(double mean, double inverse) {
    return !(inverse * LARGE > 1) || !(fabs(mean) * (inverse < MOST ? inverse : MOST) < FAR_MEAN);
}

/* Whether some rows are doubtful and regular; means may be NULL. */
static int NAME(have_huge_rows)(const T *x, const T *means, const T *inverses, isize rows, isize columns) {
    int some = 0;
    for (isize r = 0; r < rows; r++) some |= !(inverses[r] * (T)LARGE > 1);
    for (isize r = 0; means && r < rows; r++) {
        const T far = means[r] * (inverses[r] < (T)MOST ? inverses[r] : (T)MOST);
        some |= !(far < (T)FAR_MEAN) | !(-far < (T)FAR_MEAN);
    }
    for (isize r = 0; some && r < rows; r++)
        if (NAME(is_doubtful)(means ? means[r] : 0, inverses[r]) && NAME(is_regular)(x + r * columns, 1, 0, columns))
            return 1;
    return 0;
}

/* The same by the variance, if eps is not known. */
INLINED int NAME(is_doubtful_square)(double mean, double var) {
    return !(var < LARGE * LARGE) | !(mean * mean < FAR_MEAN * FAR_MEAN * (var + 1 / (MOST * MOST)));
}

/* --- rows --- */

/* Rows (x - mean) / sqrt(var + eps) gamma + beta. The mean is that of T and what rounding leaves of it. Without beta no
   mean is subtracted, and none is written. Results y, mean, rest, 1 / sqrt(var + eps); sizes rows, columns; eps. */
APART static void NAME(normalize_each)(char *const *const arrays, const isize *const sizes,
                                       const double *const numbers) {
    const isize columns = sizes[1];
    const T *const gamma = IN(T, 1), *const beta = IN(T, 2);
    for (isize r = 0; r < sizes[0]; r++) {
        const T *const x = IN(T, 0) + r * columns;
        T *const y = OUT(T, 3) + r * columns;
        double total = 0, squares = 0, left = 0;
        if (beta) ADD_SUM(total, columns, x[i]);
        const T mean = (T)(total / (double)columns);
        ADD_SUM(squares, columns, (x[i] - mean) * (x[i] - mean));
        squares /= (double)columns;
        if (beta && (double)mean * mean > squares) ADD_SUM(left, columns, x[i] - mean);
        left /= (double)columns;
        const double var = squares - left * left, inverse = 1 / sqrt((var < 0 ? 0 : var) + numbers[0]);
        const T rest = (T)left, scale = (T)inverse;
        if (beta)
            for (isize i = 0; i < columns; i++) y[i] = (x[i] - mean - rest) * (scale * gamma[i]) + beta[i];
        else
            for (isize i = 0; i < columns; i++) y[i] = x[i] * (scale * gamma[i]);
        if (beta) OUT(T, 4)[r] = mean, OUT(T, 5)[r] = rest;
        OUT(T, 6)[r] = scale;
    }
}

KERNEL(normalize_rows) {
    NAME(normalize_each)(arrays, sizes, numbers);
    const T *const means = IN(T, 2) ? OUT(T, 4) : NULL;
    *OUT(unsigned char, 7) = !NAME(have_huge_rows)(IN(T, 0), means, OUT(T, 6), sizes[0], sizes[1]);
}

/* Adds the sums of g z and g over some rows to those of columns, where z = (x - mean - rest) inverse. */
static void NAME(add_columns)(const T *g, const T *x, const T *mean, const T *rest, const T *inverse, isize rows,
                              isize columns, double *with_z, double *total) {
    for (isize first = 0; first < columns; first += LANES) {
        const isize count = NAME(less)(LANES, columns - first);
        T products[LANES] = {0}, sums[LANES] = {0};
        for (isize r = 0; r < rows; r++) {
            const T *const row = x + r * columns + first, *const of_g = g + r * columns + first;
            const T near = mean ? mean[r] : 0, left = rest ? rest[r] : 0, scale = inverse[r];
            if (count == LANES)
                for (int k = 0; k < LANES; k++) {
                    products[k] += of_g[k] * ((row[k] - near - left) * scale);
                    sums[k] += of_g[k];
                }
            else
                for (isize k = 0; k < count; k++) {
                    products[k] += of_g[k] * ((row[k] - near - left) * scale);
                    sums[k] += of_g[k];
                }
        }
        for (isize k = 0; k < count; k++) {
            with_z[first + k] += products[k];
            total[first + k] += sums[k];
        }
    }
}

/* Gradients of normalize_rows: inverse (gamma g - mean of gamma g - z times the mean of gamma g z), and the sums of g z
   and g over rows. Arguments g, x, gamma, mean, rest, inverse; results gx, ggamma, gbeta, and scratch memory of twice
   the columns. The mean of gamma g is left out where there is no mean. */
KERNEL(rows_gradient) {
    const isize rows = sizes[0], columns = sizes[1];
    const T *const gamma = IN(T, 2), *const means = IN(T, 3), *const rests = IN(T, 4), *const inverses = IN(T, 5);
    double *const with_z = OUT(double, 9), *const totals = with_z + columns;
    UNUSED(numbers);
    memset(with_z, 0, 2 * (size_t)columns * sizeof *with_z);
    for (isize r = 0; r < rows; r++) {
        const T *const g = IN(T, 0) + r * columns, *const x = IN(T, 1) + r * columns;
        const T mean = means ? means[r] : 0, rest = rests ? rests[r] : 0, inverse = inverses[r];
        T *const gx = OUT(T, 6) + r * columns;
        double total = 0, product = 0;
        if (means) ADD_SUM(total, columns, g[i] * gamma[i]);
        ADD_SUM(product, columns, g[i] * gamma[i] * (x[i] - mean - rest));
        const T mean_g = (T)(total / (double)columns), slope = (T)(product / (double)columns * inverse * inverse);
        for (isize i = 0; i < columns; i++)
            gx[i] = (g[i] * gamma[i] - mean_g - (x[i] - mean - rest) * slope) * inverse;
        const isize done = r % FEW_ROWS + 1, first = r + 1 - done;
        if (done < FEW_ROWS && r + 1 < rows) continue;
        NAME(add_columns)(IN(T, 0) + first * columns, IN(T, 1) + first * columns, means ? means + first : NULL,
                          rests ? rests + first : NULL, inverses + first, done, columns, with_z, totals);
    }
    for (isize i = 0; i < columns; i++) {
        OUT(T, 7)[i] = (T)with_z[i];
        OUT(T, 8)[i] = (T)totals[i];
    }
}

/* --- channels --- */

/* Where the channels of one part lie that are computed side by side: elements first, first + stride, ... of an array
   without inner, each the begin of count elements. Narrow channels are there several times. */
typedef struct {
    isize count, stride, end;
} NAME(span);

INLINED NAME(span) NAME(span_of)(isize first, isize outer, isize channels) {
    NAME(span) span = {NAME(less)(WIDE, channels - first), channels, outer * channels};
    if (channels <= WIDE) span.count = span.stride = NAME(less)(WIDE / channels, outer) * channels;
    return span;
}

/* Numbers of channels, ones if they are NULL, as T for each column of a span; and a shift, or zeros. */
static void NAME(spread)(const double *numbers, isize first, isize count, isize channels, T *spread) {
    for (isize k = 0, c = first; k < count; k++, c = c + 1 < channels ? c + 1 : 0)
        spread[k] = numbers ? (T)numbers[c] : 1;
}

static void NAME(spread_shift)(const T *shift, isize first, isize count, isize channels, T *spread) {
    for (isize k = 0, c = first; k < count; k++, c = c + 1 < channels ? c + 1 : 0) spread[k] = shift ? shift[c] : 0;
}

/* Adds some rows of columns: g and g (x - shift), or x - shift and its square where g is NULL. */
INLINED void NAME(add_lines)(const T *g, const T *x, const T *near, isize count, T *sums, T *products) {
    if (g)
        for (isize k = 0; k < count; k++) {
            sums[k] += g[k];
            products[k] += g[k] * (x[k] - near[k]);
        }
    else
        for (isize k = 0; k < count; k++) {
            const T centre = x[k] - near[k];
            sums[k] += centre;
            products[k] += centre * centre;
        }
}

static void NAME(sum_columns)(const T *g, const T *x, const T *shift, isize outer, isize channels, double *total,
                              double *product) {
    for (isize first = 0; first < channels; first += WIDE) {
        const NAME(span) span = NAME(span_of)(first, outer, channels);
        T near[WIDE], sums[WIDE], products[WIDE];
        NAME(spread_shift)(shift, first, span.count, channels, near);
        for (isize at = first; at < span.end;) {
            memset(sums, 0, (size_t)span.count * sizeof *sums);
            memset(products, 0, (size_t)span.count * sizeof *products);
            for (int r = 0; r < SUMMED && at < span.end; r++, at += span.stride)
                NAME(add_lines)(g ? g + at : NULL, x + at, near, NAME(less)(span.count, span.end - at), sums, products);
            for (isize k = 0, c = first; k < span.count; k++, c = c + 1 < channels ? c + 1 : 0) {
                total[c] += sums[k];
                product[c] += products[k];
            }
        }
    }
}

/* The sums of g and g (x - shift) over each channel, or of x - shift and its square where g is NULL. */
static void NAME(sum_channels)(const T *g, const T *x, const T *shift, const isize *sizes, double *total,
                               double *product) {
    const isize outer = sizes[0], channels = sizes[1], inner = sizes[2];
    memset(total, 0, (size_t)channels * sizeof *total);
    memset(product, 0, (size_t)channels * sizeof *product);
    if (inner == 1) {
        NAME(sum_columns)(g, x, shift, outer, channels, total, product);
        return;
    }
    for (isize o = 0; o < outer; o++)
        for (isize c = 0; c < channels; c++, x += inner) {
            const T near = shift ? shift[c] : 0;
            if (g) {
                ADD_SUM(total[c], inner, g[i]);
                ADD_SUM(product[c], inner, g[i] * (x[i] - near));
                g += inner;
            } else {
                ADD_SUM(total[c], inner, x[i] - near);
                ADD_SUM(product[c], inner, (x[i] - near) * (x[i] - near));
            }
        }
}

/* The sums of g and g (x - shift) over each channel: arguments g, x, shift or None. */
KERNEL(channel_sums) {
    UNUSED(numbers);
    NAME(sum_channels)(IN(T, 0), IN(T, 1), IN(T, 2), sizes, OUT(double, 3), OUT(double, 4));
}

/* Makes mean and variance of sums; whether a mean is far from zero. */
static int NAME(divide_moments)(isize channels, double size, double *mean, double *var) {
    int far = 0;
    for (isize c = 0; c < channels; c++) {
        mean[c] /= size;
        const double found = var[c] / size - mean[c] * mean[c];
        var[c] = found < 0 ? 0 : found;
        far |= mean[c] * mean[c] > FAR * FAR * var[c];
    }
    return far;
}

/* A shift, the mean as T, and mean and variance of x - shift. They are computed from shifted elements if a mean is far
   from zero; otherwise the shift is subtracted from the mean. */
KERNEL(channel_moments) {
    const isize channels = sizes[1];
    const double size = (double)sizes[0] * (double)sizes[2];
    T *const shift = OUT(T, 1);
    double *const mean = OUT(double, 2), *const var = OUT(double, 3);
    UNUSED(numbers);
    NAME(sum_channels)(NULL, IN(T, 0), NULL, sizes, mean, var);
    const int far = NAME(divide_moments)(channels, size, mean, var);
    for (isize c = 0; c < channels; c++) {
        shift[c] = isfinite(mean[c]) ? (T)mean[c] : 0;
        mean[c] -= (double)shift[c];
    }
    if (far) {
        NAME(sum_channels)(NULL, IN(T, 0), shift, sizes, mean, var);
        NAME(divide_moments)(channels, size, mean, var);
    }
    int some = 0;
    for (isize c = 0; c < channels; c++) some |= NAME(is_doubtful_square)((double)shift[c] + mean[c], var[c]);
    for (isize c = 0; some && c < channels; c++)
        if (NAME(is_doubtful_square)((double)shift[c] + mean[c], var[c]) &&
            NAME(is_regular)(IN(T, 0) + c * sizes[2], sizes[0], channels * sizes[2], sizes[2]))
            *OUT(unsigned char, 4) = 0;
}

/* What combine makes of each element: (d g + b (x - shift)) a + c with one number of each kind for each channel; d may
   be NULL, which is 1. Without g it is b (x - shift) + c. */
typedef struct {
    const T *g, *x, *shift;
    const double *a, *b, *c, *d;
} NAME(combination);

static void NAME(combine_columns)(NAME(combination) of, isize outer, isize channels, T *y) {
    T near[WIDE], a[WIDE], b[WIDE], c[WIDE], d[WIDE];
    for (isize first = 0; first < channels; first += WIDE) {
        const NAME(span) span = NAME(span_of)(first, outer, channels);
        NAME(spread_shift)(of.shift, first, span.count, channels, near);
        NAME(spread)(of.b, first, span.count, channels, b);
        NAME(spread)(of.c, first, span.count, channels, c);
        if (of.g) NAME(spread)(of.a, first, span.count, channels, a);
        if (of.g) NAME(spread)(of.d, first, span.count, channels, d);
        for (isize at = first; at < span.end; at += span.stride) {
            const isize count = NAME(less)(span.count, span.end - at);
            const T *const x = of.x + at;
            T *const z = y + at;
            if (of.g) {
                const T *const g = of.g + at;
                for (isize k = 0; k < count; k++) z[k] = (g[k] * d[k] + (x[k] - near[k]) * b[k]) * a[k] + c[k];
            } else {
                for (isize k = 0; k < count; k++) z[k] = (x[k] - near[k]) * b[k] + c[k];
            }
        }
    }
}

static void NAME(combine)(NAME(combination) of, const isize *sizes, T *y) {
    const isize outer = sizes[0], channels = sizes[1], inner = sizes[2];
    if (inner == 1) {
        NAME(combine_columns)(of, outer, channels, y);
        return;
    }
    for (isize row = 0; row < outer * channels; row++, y += inner) {
        const isize k = row % channels;
        const T near = of.shift ? of.shift[k] : 0, b = (T)of.b[k], c = (T)of.c[k], *const x = of.x + row * inner;
        if (of.g) {
            const T a = (T)of.a[k], d = of.d ? (T)of.d[k] : 1, *const g = of.g + row * inner;
            for (isize i = 0; i < inner; i++) y[i] = (g[i] * d + (x[i] - near) * b) * a + c;
        } else {
            for (isize i = 0; i < inner; i++) y[i] = (x[i] - near) * b + c;
        }
    }
}

/* (x - shift) scale + bias: arguments x, shift or None, scale, bias. */
KERNEL(scale_channels) {
    const NAME(combination) of = {NULL, IN(T, 0), IN(T, 1), NULL, IN(double, 2), IN(double, 3), NULL};
    UNUSED(numbers);
    NAME(combine)(of, sizes, OUT(T, 4));
}

/* a (g + b (x - shift)) + c: arguments g, x, shift or None, a, b, c. */
KERNEL(combine_channels) {
    const NAME(combination) of = {IN(T, 0),      IN(T, 1),      IN(T, 2), IN(double, 3),
                                  IN(double, 4), IN(double, 5), NULL};
    UNUSED(numbers);
    NAME(combine)(of, sizes, OUT(T, 6));
}

/* Scale and bias that normalize: gamma / sqrt(var + eps) and beta - mean scale, for arguments gamma, beta, mean, var. */
KERNEL(affine_of_channels) {
    const double *const mean = IN(double, 2), *const var = IN(double, 3);
    double *const scale = OUT(double, 4), *const bias = OUT(double, 5);
    for (isize c = 0; c < sizes[0]; c++) {
        scale[c] = (double)IN(T, 0)[c] / sqrt(var[c] + numbers[0]);
        bias[c] = (double)IN(T, 1)[c] - mean[c] * scale[c];
    }
}

/* The gradient of gamma, and a, b, c of combine_channels for that of x: arguments gamma, gbeta, the sums of g (x -
   shift), mean of x - shift, inverse deviation; sizes channels, elements of each. */
KERNEL(gradient_coefficients) {
    const double *const gbeta = IN(double, 1), *const product = IN(double, 2), *const mean = IN(double, 3);
    const double *const inverse = IN(double, 4), size = (double)sizes[1];
    double *const ggamma = OUT(double, 5), *const a = OUT(double, 6), *const b = OUT(double, 7);
    UNUSED(numbers);
    for (isize c = 0; c < sizes[0]; c++) {
        ggamma[c] = (product[c] - mean[c] * gbeta[c]) * inverse[c];
        a[c] = (double)IN(T, 0)[c] * inverse[c];
        b[c] = -inverse[c] * ggamma[c] / size;
        OUT(double, 8)[c] = -a[c] * (gbeta[c] / size + b[c] * mean[c]);
    }
}

/* --- groups of channels --- */

/* Sums of group k over its channels, each times a number of T or 1. */
static double NAME(total_of_group)(const double *sums, const T *factors, isize k, isize width) {
    double total = 0;
    for (isize c = k * width; c < (k + 1) * width; c++) total += sums[c] * (factors ? (double)factors[c] : 1);
    return total;
}

/* Mean and inverse deviation of each group of a sample minus its shift, from sums over channels; whether a mean is far
   from zero. Sizes outer, channels, inner, groups. */
static int NAME(group_moments)(const T *x, const T *near, const isize *sizes, double eps, double *sums, double *mean,
                               double *inverse) {
    const isize channels = sizes[1], groups = sizes[3], width = channels / groups;
    const double size = (double)width * (double)sizes[0] * (double)sizes[2];
    int far = 0;
    NAME(sum_channels)(NULL, x, near, sizes, sums, sums + channels);
    for (isize k = 0; k < groups; k++) {
        mean[k] = NAME(total_of_group)(sums, NULL, k, width) / size;
        double var = NAME(total_of_group)(sums + channels, NULL, k, width) / size;
        if (isfinite(var)) var -= mean[k] * mean[k]; /* not infinity - infinity */
        var = var < 0 ? 0 : var;
        far |= mean[k] * mean[k] > FAR * FAR * var;
        inverse[k] = 1 / sqrt(var + eps);
    }
    return far;
}

/* Groups of channels of each sample, (x - mean) / sqrt(var + eps) gamma + beta: arguments x, gamma, beta; results y, for
   each group a shift, the mean of x - shift and the inverse deviation, and scratch memory of one T and two doubles for
   each channel. Sizes samples, and outer, channels, inner, groups of each; eps. */
KERNEL(normalize_groups) {
    const isize channels = sizes[2], groups = sizes[4], width = channels / groups, size = sizes[1] * channels * sizes[3];
    const T *const gamma = IN(T, 1), *const beta = IN(T, 2);
    T *const near = OUT(T, 7);
    double *const scale = OUT(double, 8), *const bias = scale + channels;
    for (isize n = 0; n < sizes[0]; n++) {
        const T *const x = IN(T, 0) + n * size;
        T *const shift = OUT(T, 4) + n * groups;
        double *const mean = OUT(double, 5) + n * groups, *const inverse = OUT(double, 6) + n * groups;
        memset(near, 0, (size_t)channels * sizeof *near);
        const int far = NAME(group_moments)(x, near, sizes + 1, numbers[0], scale, mean, inverse);
        for (isize k = 0; k < groups; k++) {
            shift[k] = isfinite(mean[k]) ? (T)mean[k] : 0;
            mean[k] -= (double)shift[k];
        }
        for (isize c = 0; c < channels; c++) near[c] = shift[c / width];
        if (far) NAME(group_moments)(x, near, sizes + 1, numbers[0], scale, mean, inverse);
        for (isize k = 0; k < groups; k++)
            if (NAME(is_doubtful)((double)shift[k] + mean[k], inverse[k]) &&
                NAME(is_regular)(x + k * width * sizes[3], sizes[1], channels * sizes[3], width * sizes[3]))
                *OUT(unsigned char, 9) = 0;
        for (isize c = 0; c < channels; c++) {
            scale[c] = (double)gamma[c] * inverse[c / width];
            bias[c] = (double)beta[c] - scale[c] * mean[c / width];
        }
        const NAME(combination) of = {NULL, x, near, NULL, scale, bias, NULL};
        NAME(combine)(of, sizes + 1, OUT(T, 3) + n * size);
    }
}

/* Gradients of normalize_groups, as of rows with groups for rows: arguments g, x, gamma, shift, mean, inverse; results
   gx, ggamma, gbeta, scratch memory of one T and six doubles for each channel. Sizes as there. */
KERNEL(groups_gradient) {
    const isize channels = sizes[2], groups = sizes[4], width = channels / groups, size = sizes[1] * channels * sizes[3];
    const double over = 1 / ((double)width * (double)sizes[1] * (double)sizes[3]);
    const T *const gamma = IN(T, 2);
    T *const near = OUT(T, 9);
    double *const ggamma = OUT(double, 7), *const gbeta = OUT(double, 8), *const sums = OUT(double, 10);
    double *const with_z = sums + channels, *const a = sums + 2 * channels, *const b = sums + 3 * channels;
    double *const c = sums + 4 * channels, *const d = sums + 5 * channels;
    UNUSED(numbers);
    memset(ggamma, 0, (size_t)channels * sizeof *ggamma);
    memset(gbeta, 0, (size_t)channels * sizeof *gbeta);
    for (isize n = 0; n < sizes[0]; n++) {
        const T *const g = IN(T, 0) + n * size, *const x = IN(T, 1) + n * size, *const shift = IN(T, 3) + n * groups;
        const double *const mean = IN(double, 4) + n * groups, *const inverse = IN(double, 5) + n * groups;
        for (isize k = 0; k < channels; k++) near[k] = shift[k / width];
        NAME(sum_channels)(g, x, near, sizes + 1, sums, with_z);
        for (isize k = 0; k < channels; k++) {
            with_z[k] = (with_z[k] - mean[k / width] * sums[k]) * inverse[k / width];
            ggamma[k] += with_z[k];
            gbeta[k] += sums[k];
        }
        for (isize k = 0; k < groups; k++) {
            const double mean_g = NAME(total_of_group)(sums, gamma, k, width) * over;
            const double slope = -inverse[k] * NAME(total_of_group)(with_z, gamma, k, width) * over;
            for (isize i = k * width; i < (k + 1) * width; i++) {
                a[i] = inverse[k];
                b[i] = slope;
                c[i] = -inverse[k] * (mean_g + slope * mean[k]);
                d[i] = gamma[i];
            }
        }
        const NAME(combination) of = {g, x, near, a, b, c, d};
        NAME(combine)(of, sizes + 1, OUT(T, 6) + n * size);
    }
}
