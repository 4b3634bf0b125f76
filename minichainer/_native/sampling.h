/* Images sampled at points between their pixels. Included for each T. */
#define SAMPLING(BOTH, SINGLE) \
    BOTH(sample_images, "TT>T:nnnnn") \
    BOTH(sample_images_adjoint, "TT>T:nnnnn") \
    BOTH(sample_points_gradient, "TTT>T:nnnnn")

#ifndef MOST_SAMPLES
#define MOST_SAMPLES 128
#endif

/* Some points: for each the part of its pixel that is left of it and above it, and the four pixels around it, by rows:
   their places in an image, -1 outside, and their weights. */
typedef struct {
    T across[MOST_SAMPLES], down[MOST_SAMPLES], weight[4][MOST_SAMPLES];
    int32_t place[4][MOST_SAMPLES];
} NAME(samples);

INLINED T NAME(whole)(T x) { return IS_SINGLE ? (T)floorf((float)x) : (T)floor((double)x); }

/* How far rounding alone may move a point from a pixel, of so many along an axis. */
INLINED T NAME(slack)(isize size) { return (T)(size - 1) * (IS_SINGLE ? (T)FLT_EPSILON : (T)DBL_EPSILON); }

/* A coordinate of a point, which is outside of the image from 4 on, however far; infinity minus itself would be NaN. */
INLINED T NAME(nearer)(T coordinate) { return coordinate < -4 ? -4 : coordinate > 4 ? 4 : coordinate; }

/* Finds the pixels around n points; columns and rows of the points are from -1 to 1. */
static void NAME(find_samples)(NAME(samples) *const s, const T *columns, const T *rows, isize n, isize height, isize width) {
    const T across = NAME(slack)(width), down = NAME(slack)(height);
    for (isize p = 0; p < n; p++) {
        const T column = (NAME(nearer)(columns[p]) + 1) * (T)(width - 1) / 2;
        const T row = (NAME(nearer)(rows[p]) + 1) * (T)(height - 1) / 2;
        const T left = NAME(whole)(column + across), top = NAME(whole)(row + down), u_ = column - left, v_ = row - top;
        const T u = u_ <= across ? 0 : u_, v = v_ <= down ? 0 : v_;
        s->across[p] = u;
        s->down[p] = v;
        for (int k = 0; k < 4; k++) {
            const T i = top + (T)(k >> 1), j = left + (T)(k & 1);
            const int inside = i >= 0 && i < (T)height && j >= 0 && j < (T)width; /* not if it is NaN */
            s->weight[k][p] = (k >> 1 ? v : 1 - v) * (k & 1 ? u : 1 - u);
            s->place[k][p] = inside ? (int32_t)i * (int32_t)width + (int32_t)j : -1;
        }
    }
}

/* Pixels of weight 0 count as outside: 0 times infinity would be NaN. Returns whether no pixel is outside. */
static int NAME(leave_out)(NAME(samples) *const s, isize n) {
    int32_t outside = 0;
    for (int k = 0; k < 4; k++)
        for (isize p = 0; p < n; p++) {
            s->place[k][p] = s->weight[k][p] == 0 ? -1 : s->place[k][p];
            outside |= s->place[k][p];
        }
    return outside >= 0;
}

INLINED T NAME(pixel)(const T *image, int32_t place, int all_inside) {
    return all_inside || place >= 0 ? image[place] : 0;
}

INLINED void NAME(sample_channel)(const NAME(samples) *s, const T *image, T *restrict y, isize n, const int all_inside) {
    for (isize p = 0; p < n; p++) {
        T total = NAME(pixel)(image, s->place[0][p], all_inside) * s->weight[0][p];
        for (int k = 1; k < 4; k++) total += NAME(pixel)(image, s->place[k][p], all_inside) * s->weight[k][p];
        y[p] = total;
    }
}

/* Weighted sums of the four pixels around each point, 0 outside. Arguments: images (batch, channels, height, width), points
   (batch, 2, points), result (batch, channels, points). Sizes: batch, channels, height, width, points. */
KERNEL(sample_images) {
    const isize channels = sizes[1], height = sizes[2], width = sizes[3], points = sizes[4];
    NAME(samples) s;
    UNUSED(numbers);
    for (isize b = 0; b < sizes[0]; b++)
        for (isize begin = 0; begin < points; begin += MOST_SAMPLES) {
            const isize n = points - begin < MOST_SAMPLES ? points - begin : MOST_SAMPLES;
            const T *const columns = IN(T, 1) + 2 * b * points + begin;
            NAME(find_samples)(&s, columns, columns + points, n, height, width);
            const int all_inside = NAME(leave_out)(&s, n);
            for (isize c = b * channels; c < (b + 1) * channels; c++) {
                const T *const image = IN(T, 0) + c * height * width;
                T *const y = OUT(T, 2) + c * points + begin;
                if (all_inside) NAME(sample_channel)(&s, image, y, n, 1);
                else NAME(sample_channel)(&s, image, y, n, 0);
            }
        }
}

/* The gradient of the images, added to the result: arguments gy (batch, channels, points), points (batch, 2, points),
   result (batch, channels, height, width). Sizes as above. */
KERNEL(sample_images_adjoint) {
    const isize channels = sizes[1], height = sizes[2], width = sizes[3], points = sizes[4];
    NAME(samples) s;
    UNUSED(numbers);
    for (isize b = 0; b < sizes[0]; b++)
        for (isize begin = 0; begin < points; begin += MOST_SAMPLES) {
            const isize n = points - begin < MOST_SAMPLES ? points - begin : MOST_SAMPLES;
            const T *const columns = IN(T, 1) + 2 * b * points + begin;
            NAME(find_samples)(&s, columns, columns + points, n, height, width);
            NAME(leave_out)(&s, n);
            for (isize c = b * channels; c < (b + 1) * channels; c++) {
                const T *const gy = IN(T, 0) + c * points + begin;
                T *const gx = OUT(T, 2) + c * height * width;
                for (isize p = 0; p < n; p++)
                    for (int k = 0; k < 4; k++)
                        if (s.place[k][p] >= 0) gx[s.place[k][p]] += gy[p] * s.weight[k][p];
            }
        }
}

/* The gradient of the points: arguments gy (batch, channels, points), images, points, result (batch, 2, points). Sizes as
   above. */
KERNEL(sample_points_gradient) {
    const isize channels = sizes[1], height = sizes[2], width = sizes[3], points = sizes[4];
    NAME(samples) s;
    T sums[4][MOST_SAMPLES];
    UNUSED(numbers);
    for (isize b = 0; b < sizes[0]; b++)
        for (isize begin = 0; begin < points; begin += MOST_SAMPLES) {
            const isize n = points - begin < MOST_SAMPLES ? points - begin : MOST_SAMPLES, at = 2 * b * points + begin;
            const T *const columns = IN(T, 2) + at;
            T *const across = OUT(T, 3) + at, *const down = across + points;
            NAME(find_samples)(&s, columns, columns + points, n, height, width);
            memset(sums, 0, sizeof(sums));
            for (isize c = b * channels; c < (b + 1) * channels; c++) {
                const T *const gy = IN(T, 0) + c * points + begin, *const image = IN(T, 1) + c * height * width;
                for (int k = 0; k < 4; k++)
                    for (isize p = 0; p < n; p++) sums[k][p] += gy[p] * NAME(pixel)(image, s.place[k][p], 0);
            }
            for (isize p = 0; p < n; p++) {
                const T u = s.across[p], v = s.down[p];
                across[p] = ((1 - v) * (sums[1][p] - sums[0][p]) + v * (sums[3][p] - sums[2][p])) * (T)(width - 1) / 2;
                down[p] = ((1 - u) * (sums[2][p] - sums[0][p]) + u * (sums[3][p] - sums[1][p])) * (T)(height - 1) / 2;
            }
        }
}
