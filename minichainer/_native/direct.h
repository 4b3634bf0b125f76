/* Convolution of images with few channels, without patches: each pixel is multiplied with an element of many filters at
   once. Included for each T.

   Images (N, C, ...) have their channels first, and their padding; results (N, ..., O) have them last. Windows are those
   of windows.h, where inner is C. ACROSS filters are computed together, for SOME_WINDOWS windows: their sums are about as
   many vectors as a processor has registers for. */
#define DIRECT(BOTH, SINGLE) BOTH(convolve_planes, "TTT?>TT" WINDOWS_ "n")

#undef ACROSS
#ifdef __AVX512F__
#define ACROSS (IS_SINGLE ? 32 : 16)
#define SOME_WINDOWS 8
#elif defined(__AVX2__)
#define ACROSS (IS_SINGLE ? 24 : 12)
#define SOME_WINDOWS 4
#else
#define ACROSS (IS_SINGLE ? 8 : 4)
#define SOME_WINDOWS 4
#endif
#ifndef MINICHAINER_DIRECT
#define MINICHAINER_DIRECT
enum { MOST_ELEMENTS = 256 };

/* Where the elements of a window are, all channels, from its first element on; returns how many there are. */
static inline isize places_of_elements(const windows *w, isize *places) {
    isize count = 0;
    for (isize c = 0; c < w->inner; c++)
        for (isize t0 = 0; t0 < w->window[0]; t0++)
            for (isize t1 = 0; t1 < w->window[1]; t1++)
                for (isize t2 = 0; t2 < w->window[2]; t2++) {
                    const isize i0 = c * w->in[0] + t0 * w->dilate[0], i1 = i0 * w->in[1] + t1 * w->dilate[1];
                    places[count++] = i1 * w->in[2] + t2 * w->dilate[2];
                }
    return count;
}

/* Where the first window of a row of windows begins; rows are numbered through all images. */
static inline isize place_of_row(const windows *w, isize row) {
    const isize o1 = row % w->out[1], rest = row / w->out[1], o0 = rest % w->out[0], image = rest / w->out[0];
    const isize i0 = image * w->inner * w->in[0] + o0 * w->stride[0];
    return (i0 * w->in[1] + o1 * w->stride[1]) * w->in[2];
}
#endif

/* The results of SOME_WINDOWS windows, stride apart: y = filters x + bias, for filters (1 + elements, ACROSS), the bias
   first. The first used of each ACROSS results are wanted. */
static void NAME(convolve_some)(const T *x, isize stride, const isize *places, isize elements, const T *filters, T *y,
                                isize apart, isize used) {
    T sums[SOME_WINDOWS * ACROSS];
    for (int a = 0; a < SOME_WINDOWS; a++)
        for (int l = 0; l < ACROSS; l++) sums[a * ACROSS + l] = filters[l];
    for (isize k = 0; k < elements; k++) {
        const T *const pixels = x + places[k], *const factors = filters + (k + 1) * ACROSS;
        for (int a = 0; a < SOME_WINDOWS; a++) {
            const T pixel = pixels[a * stride];
            for (int l = 0; l < ACROSS; l++)
                sums[a * ACROSS + l] = MULTIPLY_ADD(pixel, factors[l], sums[a * ACROSS + l]);
        }
    }
    for (int a = 0; a < SOME_WINDOWS; a++) memcpy(y + a * apart, sums + a * ACROSS, (size_t)used * sizeof(T));
}

/* Arguments x, filters (O, elements), bias or None; results y, scratch of (1 + elements) ACROSS numbers. The last size
   is O. There are at least SOME_WINDOWS windows in a row, and at most MOST_ELEMENTS elements in each. */
KERNEL(convolve_planes) {
    const windows w = windows_of(sizes);
    const isize o = sizes[20], rows = w.outer * w.out[0] * w.out[1], width = w.out[2], stride = w.stride[2];
    const T *const x = IN(T, 0), *const filters = IN(T, 1), *const bias = IN(T, 2);
    T *const y = OUT(T, 3), *const packed = OUT(T, 4);
    isize places[MOST_ELEMENTS];
    const isize elements = places_of_elements(&w, places);
    UNUSED(numbers);
    for (isize first = 0; first < o; first += ACROSS) {
        const isize used = o - first < ACROSS ? o - first : ACROSS;
        memset(packed, 0, (size_t)((1 + elements) * ACROSS) * sizeof(T));
        for (isize l = 0; l < used; l++) {
            if (bias) packed[l] = bias[first + l];
            for (isize k = 0; k < elements; k++) packed[(1 + k) * ACROSS + l] = filters[(first + l) * elements + k];
        }
        for (isize row = 0; row < rows; row++) {
            const T *const line = x + place_of_row(&w, row);
            T *const found = y + row * width * o + first;
            /* The last windows of a row are computed together too, though some of them are there already. */
            for (isize j = 0; j < width; j += SOME_WINDOWS) {
                const isize from = j + SOME_WINDOWS <= width ? j : width - SOME_WINDOWS;
                NAME(convolve_some)(line + from * stride, stride, places, elements, packed, found + from * o, o, used);
            }
        }
    }
}
#undef SOME_WINDOWS
