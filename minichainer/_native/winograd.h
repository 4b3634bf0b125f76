/* Transforms of Winograd's minimal filtering with 3 x 3 filters, F(m, 3) for m = 2 and 4: from images to tiles and back.
   Included for each T. The products of tiles with filters are not here: they are products of matrices.

   A tile is m x m results, or the a x a pixels under their windows, a = m + 2. Tiles are numbered through all images,
   row by row; count of them from the number first on are transformed at once, to planes (a * a, count, c), one for each
   element of a tile. Images are (N, height, width, c); the first tile of each begins at row top and column left, which
   may be negative; outside of an image is 0. Sizes: height, width, c, top, left, lines and columns of tiles, first,
   count, m.

   Source: A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308. */
#define WINOGRAD(BOTH, SINGLE) \
    BOTH(winograd_inputs, "T>T:nnnnnnnnnn") \
    BOTH(winograd_outputs, "T>T:nnnnnnnnnn") \
    BOTH(winograd_unfolded, "T>T:nnnnnnnnnn")

#ifndef MINICHAINER_WINOGRAD
#define MINICHAINER_WINOGRAD
enum { CHANNELS_AT_ONCE = 32, LARGEST_TILE = 6 };
#endif

/* What the three kernels get: sizes by name. */
typedef struct {
    isize height, width, c, top, left, lines, columns, first, count, m;
} NAME(tiles);

/* One of the maps below, of lines of n channels. */
typedef void (*NAME(line_map))(const T *const *x, T *const *y, isize m, isize n);

/* B^T x: the transform of a pixels. */
INLINED void NAME(to_products)(const T *const *x, T *const *y, isize m, isize n) {
    if (m == 2) {
        INDEPENDENT
        for (isize i = 0; i < n; i++) {
            const T a = x[0][i], b = x[1][i], c = x[2][i], d = x[3][i];
            y[0][i] = a - c;
            y[1][i] = b + c;
            y[2][i] = c - b;
            y[3][i] = b - d;
        }
        return;
    }
    INDEPENDENT
    for (isize i = 0; i < n; i++) {
        const T a = x[0][i], b = x[1][i], c = x[2][i], d = x[3][i], e = x[4][i], f = x[5][i];
        const T even = e - 4 * c, odd = d - 4 * b, near = e - c, far = 2 * (d - b);
        y[0][i] = 4 * (a - c) + (e - c);
        y[1][i] = even + odd;
        y[2][i] = even - odd;
        y[3][i] = near + far;
        y[4][i] = near - far;
        y[5][i] = 4 * (b - d) + (f - d);
    }
}

/* A^T x: m results of a products. */
INLINED void NAME(to_results)(const T *const *x, T *const *y, isize m, isize n) {
    if (m == 2) {
        INDEPENDENT
        for (isize i = 0; i < n; i++) {
            const T a = x[0][i], b = x[1][i], c = x[2][i], d = x[3][i];
            y[0][i] = b + c + a;
            y[1][i] = b - c - d;
        }
        return;
    }
    INDEPENDENT
    for (isize i = 0; i < n; i++) {
        const T sum = x[1][i] + x[2][i], difference = x[1][i] - x[2][i];
        const T far_sum = x[3][i] + x[4][i], far_difference = x[3][i] - x[4][i];
        y[0][i] = x[0][i] + sum + far_sum;
        y[1][i] = difference + 2 * far_difference;
        y[2][i] = sum + 4 * far_sum;
        y[3][i] = difference + 8 * far_difference + x[5][i];
    }
}

/* A x: the transpose of the map to results. */
INLINED void NAME(from_results)(const T *const *x, T *const *y, isize m, isize n) {
    if (m == 2) {
        INDEPENDENT
        for (isize i = 0; i < n; i++) {
            const T a = x[0][i], b = x[1][i];
            y[0][i] = a;
            y[1][i] = a + b;
            y[2][i] = a - b;
            y[3][i] = -b;
        }
        return;
    }
    INDEPENDENT
    for (isize i = 0; i < n; i++) {
        const T a = x[0][i], b = x[1][i], c = x[2][i], d = x[3][i];
        const T even = a + c, odd = b + d, far_even = a + 4 * c, far_odd = 2 * b + 8 * d;
        y[0][i] = a;
        y[1][i] = even + odd;
        y[2][i] = even - odd;
        y[3][i] = far_even + far_odd;
        y[4][i] = far_even - far_odd;
        y[5][i] = d;
    }
}

/* Applies a map to the columns of a tile of in x in lines of n channels, then to the rows. */
INLINED void NAME(both_ways)(NAME(line_map) map, const T *x[][LARGEST_TILE], T *y[][LARGEST_TILE], isize in,
                             isize out, isize m, isize n) {
    T half[LARGEST_TILE][LARGEST_TILE][CHANNELS_AT_ONCE];
    for (isize column = 0; column < in; column++) {
        const T *from[LARGEST_TILE];
        T *to[LARGEST_TILE];
        for (isize k = 0; k < in; k++) from[k] = x[k][column];
        for (isize k = 0; k < out; k++) to[k] = half[k][column];
        map(from, to, m, n);
    }
    for (isize row = 0; row < out; row++) {
        const T *from[LARGEST_TILE];
        for (isize k = 0; k < in; k++) from[k] = half[row][k];
        map(from, y[row], m, n);
    }
}

static inline NAME(tiles) NAME(tiles_of)(const isize *sizes) {
    const NAME(tiles) t = {sizes[0], sizes[1], sizes[2], sizes[3], sizes[4],
                           sizes[5], sizes[6], sizes[7], sizes[8], sizes[9]};
    return t;
}

/* The pixels of a tile of side x side: where their channels are, or outside where there is no pixel. */
static inline void NAME(pixels)(const NAME(tiles) *t, const T *images, isize tile, isize side, const T *outside,
                                const T *found[][LARGEST_TILE]) {
    const isize image = tile / (t->lines * t->columns), place = tile % (t->lines * t->columns);
    const isize top = t->top + place / t->columns * t->m, left = t->left + place % t->columns * t->m;
    for (isize u = 0; u < side; u++) {
        const isize i = top + u;
        for (isize v = 0; v < side; v++) {
            const isize j = left + v;
            const int inside = i >= 0 && i < t->height && j >= 0 && j < t->width;
            found[u][v] = inside ? images + ((image * t->height + i) * t->width + j) * t->c : NULL;
            if (!inside) found[u][v] = outside;
        }
    }
}

/* The elements of a tile in the planes. */
static inline void NAME(elements)(const NAME(tiles) *t, T *planes, isize number, T *found[][LARGEST_TILE]) {
    const isize a = t->m + 2;
    for (isize k = 0; k < a * a; k++) found[k / a][k % a] = planes + (k * t->count + number) * t->c;
}

/* Applies a map to a tile, some channels at a time. Pixels that are outside do not move with the channels. */
INLINED void NAME(transform)(NAME(line_map) map, const T *x[][LARGEST_TILE], T *y[][LARGEST_TILE], isize in, isize out,
                             isize m, isize c, const T *outside) {
    for (isize begin = 0; begin < c; begin += CHANNELS_AT_ONCE) {
        if (c - begin >= CHANNELS_AT_ONCE) NAME(both_ways)(map, x, y, in, out, m, CHANNELS_AT_ONCE);
        else NAME(both_ways)(map, x, y, in, out, m, c - begin);
        for (isize u = 0; u < in; u++)
            for (isize v = 0; v < in; v++) x[u][v] += x[u][v] == outside ? 0 : CHANNELS_AT_ONCE;
        for (isize u = 0; u < out; u++)
            for (isize v = 0; v < out; v++) y[u][v] += y[u][v] == outside ? 0 : CHANNELS_AT_ONCE;
    }
}

INLINED void NAME(pixels_to_planes)(NAME(line_map) map, const T *images, T *planes, const isize *sizes, isize m,
                                    isize side) {
    const NAME(tiles) t = NAME(tiles_of)(sizes);
    static const T outside[CHANNELS_AT_ONCE];
    for (isize number = 0; number < t.count; number++) {
        const T *x[LARGEST_TILE][LARGEST_TILE];
        T *y[LARGEST_TILE][LARGEST_TILE];
        NAME(pixels)(&t, images, t.first + number, side, outside, x);
        NAME(elements)(&t, planes, number, y);
        NAME(transform)(map, x, y, side, m + 2, m, t.c, outside);
    }
}

INLINED void NAME(planes_to_pixels)(T *planes, T *images, const isize *sizes, isize m) {
    const NAME(tiles) t = NAME(tiles_of)(sizes);
    T outside[CHANNELS_AT_ONCE]; /* results that nobody wants */
    for (isize number = 0; number < t.count; number++) {
        T *x[LARGEST_TILE][LARGEST_TILE], *y[LARGEST_TILE][LARGEST_TILE];
        NAME(elements)(&t, planes, number, x);
        NAME(pixels)(&t, images, t.first + number, m, outside, (const T *(*)[LARGEST_TILE])y);
        NAME(transform)(NAME(to_results), (const T *(*)[LARGEST_TILE])x, y, m + 2, m, m, t.c, outside);
    }
}

/* Images to planes: B^T x B of each tile of a x a pixels. */
KERNEL(winograd_inputs) {
    UNUSED(numbers);
    if (sizes[9] == 2) NAME(pixels_to_planes)(NAME(to_products), IN(T, 0), OUT(T, 1), sizes, 2, 4);
    else NAME(pixels_to_planes)(NAME(to_products), IN(T, 0), OUT(T, 1), sizes, 4, 6);
}

/* Planes to images: A^T x A of each tile of a x a products, those of its m x m results that are on the image. */
KERNEL(winograd_outputs) {
    UNUSED(numbers);
    if (sizes[9] == 2) NAME(planes_to_pixels)(OUT(T, 0), OUT(T, 1), sizes, 2);
    else NAME(planes_to_pixels)(OUT(T, 0), OUT(T, 1), sizes, 4);
}

/* The transpose of winograd_outputs: images to planes. */
KERNEL(winograd_unfolded) {
    UNUSED(numbers);
    if (sizes[9] == 2) NAME(pixels_to_planes)(NAME(from_results), IN(T, 0), OUT(T, 1), sizes, 2, 2);
    else NAME(pixels_to_planes)(NAME(from_results), IN(T, 0), OUT(T, 1), sizes, 4, 4);
}
