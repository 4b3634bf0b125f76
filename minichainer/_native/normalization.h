/* Layer, group, RMS and batch normalization. Included for each T.

   Rows are normalized each by itself. Channels are arrays (batch, outer, channels, inner), with numbers of shape (batch,
   channels), over outer and inner: batch is 1 but for groups of channels that are last in memory. Where inner is 1,
   channels are computed side by side, narrow ones several times. Statistics are summed as sums.h says. */
#define NORMALIZATION(BOTH, SINGLE)                   \
    BOTH(normalize_rows, "TTT?>TT?T?T:nns")           \
    BOTH(rows_gradient, "TTTT?T?T>TTTd:nn")           \
    BOTH(channel_moments, "T>Tdd:nnn")                \
    BOTH(channel_sums, "T?TT?>dd:nnnn")               \
    BOTH(scale_channels, "TT?dd>T:nnnn")              \
    BOTH(combine_channels, "TTT?ddd>T:nnnn")          \
    BOTH(affine_of_channels, "TTdd>dd:ns")            \
    BOTH(gradient_coefficients, "Tdddd>dddd:nn")

/* Columns side by side, rows whose columns are summed while they are in a cache, and the number of standard deviations
   from zero beyond which elements are shifted (kernels/normalization.py says why). */
#undef WIDE
#undef FEW_ROWS
#undef FAR
#define WIDE 256
#define FEW_ROWS 16
#define FAR 2.0

/* --- rows --- */

/* Rows (x - mean) / sqrt(var + eps) gamma + beta. The mean is that of T and what rounding leaves of it. Without beta no
   mean is subtracted, and none is written. Results y, mean, rest, 1 / sqrt(var + eps); sizes rows, columns; eps. */
KERNEL(normalize_rows) {
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

static inline NAME(span) NAME(span_of)(isize first, isize outer, isize channels) {
    NAME(span) span = {NAME(less)(WIDE, channels - first), channels, outer * channels};
    if (channels <= WIDE) span.count = span.stride = NAME(less)(WIDE / channels, outer) * channels;
    return span;
}

/* Numbers of channels, or zeros, as T for each column of a span. */
static void NAME(spread)(const double *numbers, isize first, isize count, isize channels, T *spread) {
    for (isize k = 0, c = first; k < count; k++, c = c + 1 < channels ? c + 1 : 0) spread[k] = (T)numbers[c];
}

static void NAME(spread_shift)(const T *shift, isize first, isize count, isize channels, T *spread) {
    for (isize k = 0, c = first; k < count; k++, c = c + 1 < channels ? c + 1 : 0) spread[k] = shift ? shift[c] : 0;
}

/* Adds some rows of columns: g and g (x - shift), or x - shift and its square where g is NULL. */
static inline void NAME(add_rows)(const T *g, const T *x, const T *near, isize count, T *sums, T *products) {
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
                NAME(add_rows)(g ? g + at : NULL, x + at, near, NAME(less)(span.count, span.end - at), sums, products);
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

/* The sums of g and g (x - shift) over each channel, or of x - shift and its square without g: arguments g or None, x,
   shift or None. */
KERNEL(channel_sums) {
    const isize channels = sizes[2], size = sizes[1] * channels * sizes[3];
    const T *const g = IN(T, 0), *const shift = IN(T, 2);
    UNUSED(numbers);
    for (isize b = 0; b < sizes[0]; b++)
        NAME(sum_channels)(g ? g + b * size : NULL, IN(T, 1) + b * size, shift ? shift + b * channels : NULL,
                           sizes + 1, OUT(double, 3) + b * channels, OUT(double, 4) + b * channels);
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

/* A shift, which is 0 unless a mean is far from zero, and mean and variance of x - shift. Sizes without batch. */
KERNEL(channel_moments) {
    const isize channels = sizes[1];
    const double size = (double)sizes[0] * (double)sizes[2];
    T *const shift = OUT(T, 1);
    double *const mean = OUT(double, 2), *const var = OUT(double, 3);
    UNUSED(numbers);
    NAME(sum_channels)(NULL, IN(T, 0), NULL, sizes, mean, var);
    memset(shift, 0, (size_t)channels * sizeof *shift);
    if (!NAME(divide_moments)(channels, size, mean, var)) return;
    for (isize c = 0; c < channels; c++) shift[c] = (T)mean[c];
    NAME(sum_channels)(NULL, IN(T, 0), shift, sizes, mean, var);
    NAME(divide_moments)(channels, size, mean, var);
}

/* a (g + b (x - shift)) + c with one number of each kind for each channel. Without g, a is 1 and g is 0. */
static void NAME(combine)(const T *g, const T *x, const T *shift, const double *const *abc, const isize *sizes, T *y) {
    const isize outer = sizes[0], channels = sizes[1], inner = sizes[2];
    T near[WIDE], a[WIDE], b[WIDE], c[WIDE];
    for (isize first = 0; inner == 1 && first < channels; first += WIDE) {
        const NAME(span) span = NAME(span_of)(first, outer, channels);
        NAME(spread_shift)(shift, first, span.count, channels, near);
        NAME(spread)(abc[1], first, span.count, channels, b);
        NAME(spread)(abc[2], first, span.count, channels, c);
        if (g) NAME(spread)(abc[0], first, span.count, channels, a);
        for (isize at = first; at < span.end; at += span.stride) {
            const isize count = NAME(less)(span.count, span.end - at);
            const T *const of_x = x + at, *const of_g = g ? g + at : NULL;
            T *const of_y = y + at;
            if (g)
                for (isize k = 0; k < count; k++) of_y[k] = (of_g[k] + (of_x[k] - near[k]) * b[k]) * a[k] + c[k];
            else
                for (isize k = 0; k < count; k++) of_y[k] = (of_x[k] - near[k]) * b[k] + c[k];
        }
    }
    for (isize row = 0; inner != 1 && row < outer * channels; row++, x += inner, y += inner) {
        const isize of = row % channels;
        const T from = shift ? shift[of] : 0, slope = (T)abc[1][of], offset = (T)abc[2][of];
        if (g) {
            const T scale = (T)abc[0][of];
            for (isize i = 0; i < inner; i++) y[i] = (g[i] + (x[i] - from) * slope) * scale + offset;
            g += inner;
        } else {
            for (isize i = 0; i < inner; i++) y[i] = (x[i] - from) * slope + offset;
        }
    }
}

/* (x - shift) scale + bias: arguments x, shift or None, scale, bias. */
KERNEL(scale_channels) {
    const isize channels = sizes[2], size = sizes[1] * channels * sizes[3];
    const T *const shift = IN(T, 1);
    UNUSED(numbers);
    for (isize n = 0; n < sizes[0]; n++) {
        const double *const abc[] = {NULL, IN(double, 2) + n * channels, IN(double, 3) + n * channels};
        NAME(combine)(NULL, IN(T, 0) + n * size, shift ? shift + n * channels : NULL, abc, sizes + 1,
                      OUT(T, 4) + n * size);
    }
}

/* a (g + b (x - shift)) + c: arguments g, x, shift or None, a, b, c. */
KERNEL(combine_channels) {
    const isize channels = sizes[2], size = sizes[1] * channels * sizes[3];
    const T *const shift = IN(T, 2);
    UNUSED(numbers);
    for (isize n = 0; n < sizes[0]; n++) {
        const isize at = n * channels;
        const double *const abc[] = {IN(double, 3) + at, IN(double, 4) + at, IN(double, 5) + at};
        NAME(combine)(IN(T, 0) + n * size, IN(T, 1) + n * size, shift ? shift + at : NULL, abc, sizes + 1,
                      OUT(T, 6) + n * size);
    }
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
