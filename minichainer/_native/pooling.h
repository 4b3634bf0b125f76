/* Pooling of windows over up to three axes, of images with channels first or last. Included for each T.

   Images are (outer, d1, d2, d3, inner): channels first with inner = 1, channels last with outer the number of images;
   an axis of 1 with windows of 1 stands for one that is not there. Sizes: outer, inner, then for the three axes the
   input size, number of windows, window size, stride, padding and dilation. A place is the index of an element in its
   window, in C's order, less than 256. What is outside of the image does not count. */
#define POOLED_ ":nnnnnnnnnnnnnnnnnnnn"
#define POOLING(BOTH, SINGLE) \
    BOTH(pool_maxima, "T>T" POOLED_) \
    BOTH(pool_places, "TT>B" POOLED_) \
    BOTH(pool_spread, "TB>T" POOLED_) \
    BOTH(pool_pick, "TB>T" POOLED_) \
    BOTH(pool_sums, "T>T" POOLED_) \
    BOTH(pool_spread_sums, "T>T" POOLED_) \
    BOTH(pool_maxima_gradient, "TTT>T" POOLED_)

#ifndef MINICHAINER_POOLING
#define MINICHAINER_POOLING
enum { POOLED_AT_ONCE = 1024 };

/* What is done with each element: HAND_OVER, PUT and PUT_ALL are HAND_BACK, SPREAD and SPREAD_ALL
   where each element is in one window. */
typedef enum { LARGEST, PLACE, HAND_BACK, HAND_OVER, PICK, SUM, SPREAD, SPREAD_ALL, PUT, PUT_ALL } pooling;

/* The windows; pointers have a number for each axis. */
typedef struct {
    isize outer, inner;
    const isize *in, *out, *window, *stride, *pad, *dilate;
} windows;

/* Windows that are computed together: those from from to until of row o[0], o[1] of an image, some of its channels.
   Their results begin at the place at. */
typedef struct {
    isize image, o[2], from, until, channel, channels, count, at;
} run;

static inline windows windows_of(const isize *s) {
    const windows w = {s[0], s[1], s + 2, s + 5, s + 8, s + 11, s + 14, s + 17};
    return w;
}

/* Where element t of window o is on axis k; not in [0, in) if it is in the padding. */
static inline isize position(const windows *w, int k, isize o, isize t) {
    return o * w->stride[k] - w->pad[k] + t * w->dilate[k];
}

static inline int is_inside(const windows *w, int k, isize o, isize t) {
    const isize i = position(w, k, o, t);
    return i >= 0 && i < w->in[k];
}

/* Whether each element is in exactly one window. */
static inline int is_tiling(const windows *w) {
    int found = 1;
    for (int k = 0; k < 3; k++)
        found &= !w->pad[k] && w->stride[k] == w->window[k] && (w->dilate[k] == 1 || w->window[k] == 1) &&
                 w->out[k] * w->stride[k] == w->in[k];
    return found;
}

/* The run that follows another one; 0 if there is none. It is begun with a run of zeros. */
static inline int next_run(const windows *w, run *r) {
    r->at += r->count;
    r->channel += r->channels;
    if (r->channel == w->inner) r->channel = 0, r->from = r->until;
    if (r->from == w->out[2]) r->from = 0, r->o[1]++;
    if (r->o[1] == w->out[1]) r->o[1] = 0, r->o[0]++;
    if (r->o[0] == w->out[0]) r->o[0] = 0, r->image++;
    if (r->image == w->outer) return 0;
    r->channels = w->inner < POOLED_AT_ONCE ? w->inner : POOLED_AT_ONCE;
    if (r->channels > w->inner - r->channel) r->channels = w->inner - r->channel;
    const isize most = w->inner < POOLED_AT_ONCE ? POOLED_AT_ONCE / w->inner : 1, rest = w->out[2] - r->from;
    r->until = r->from + (most < rest ? most : rest);
    r->count = (r->until - r->from) * r->channels;
    return 1;
}

static inline int is_empty(const windows *w) {
    return !(w->outer && w->inner && w->out[0] && w->out[1] && w->out[2]);
}
#endif

/* The values of a run, and their places, or something else of which each window has one. Places are of type T, which
   holds them exactly: vectors of one type are fast. */
typedef struct {
    T value[POOLED_AT_ONCE], place[POOLED_AT_ONCE];
} NAME(some);

/* What the element number tap of count windows does to their values; the elements are step apart, from x on. A maximum
   is an element that equals it, or NaN. */
INLINED void NAME(meet)(pooling what, T *value, T *place, T *x, T *gx, isize count, isize step, T tap) {
    INDEPENDENT
    for (isize i = 0; i < count; i++) {
        const T at = what == PUT || what == PUT_ALL ? 0 : x[i * step];
        if (what == LARGEST) {
            const T larger = at > value[i] ? at : value[i];
            value[i] = at == at ? larger : at;
        }
        if (what == PLACE) place[i] = ((at == value[i]) | (at != at)) & (place[i] < 0) ? tap : place[i];
        if (what == HAND_BACK || what == HAND_OVER) {
            const int is_maximum = (at == place[i]) | (at != at);
            const T gradient = value[i], old = what == HAND_OVER ? 0 : gx[i * step];
            gx[i * step] = is_maximum ? old + gradient : old;
            value[i] = is_maximum ? 0 : gradient;
        }
        if (what == PICK) value[i] = place[i] == tap ? at : value[i];
        if (what == SUM) value[i] += at;
        if (what == SPREAD) x[i * step] = place[i] == tap ? at + value[i] : at;
        if (what == SPREAD_ALL) x[i * step] = at + value[i];
        if (what == PUT) x[i * step] = place[i] == tap ? value[i] : 0;
        if (what == PUT_ALL) x[i * step] = value[i];
    }
}

/* The same for the windows from first to end of a run, all of its channels. */
INLINED void NAME(meet_windows)(pooling what, const windows *w, const run *r, NAME(some) *some, T *x, T *gx,
                                isize first, isize end, T tap) {
    T *value = some->value + (first - r->from) * r->channels, *place = some->place + (first - r->from) * r->channels;
    const isize step = w->stride[2] * w->inner, count = end - first, n = r->channels;
    if (n > 1)
        for (isize j = 0; j < count; j++) NAME(meet)(what, value + j * n, place + j * n, x + j * step, gx + j * step, n, 1, tap);
    else if (step == 1) NAME(meet)(what, value, place, x, gx, count, 1, tap);
    else if (step == 2) NAME(meet)(what, value, place, x, gx, count, 2, tap);
    else NAME(meet)(what, value, place, x, gx, count, step, tap);
}

/* The same for all elements of a run's windows that are not in the padding. Gradients are for HAND_BACK. */
INLINED void NAME(meet_all)(pooling what, const windows *w, const run *r, NAME(some) *some, T *images,
                            T *gradients) {
    isize tap = 0;
    for (isize t0 = 0; t0 < w->window[0]; t0++) {
        for (isize t1 = 0; t1 < w->window[1]; t1++) {
            const int inside = is_inside(w, 0, r->o[0], t0) && is_inside(w, 1, r->o[1], t1);
            const isize i0 = position(w, 0, r->o[0], t0), i1 = position(w, 1, r->o[1], t1);
            const isize row = ((r->image * w->in[0] + i0) * w->in[1] + i1) * w->in[2] * w->inner + r->channel;
            for (isize t2 = 0; t2 < w->window[2]; t2++, tap++) {
                isize first = r->from, end = inside ? r->until : first;
                while (first < end && !is_inside(w, 2, first, t2)) first++;
                while (first < end && !is_inside(w, 2, end - 1, t2)) end--;
                if (first == end) continue;
                const isize at = row + position(w, 2, first, t2) * w->inner;
                NAME(meet_windows)(what, w, r, some, images + at, gradients + at, first, end, (T)tap);
            }
        }
    }
}

static inline void NAME(take)(T *some, const run *r, const T *values) {
    memcpy(some, values + r->at, (size_t)r->count * sizeof(T));
}

static inline void NAME(take_places)(NAME(some) *some, const run *r, const uint8_t *places) {
    for (isize i = 0; i < r->count; i++) some->place[i] = places[r->at + i];
}

static inline void NAME(give)(const NAME(some) *some, const run *r, T *values) {
    memcpy(values + r->at, some->value, (size_t)r->count * sizeof(T));
}

static inline void NAME(clear)(const windows *w, T *images) {
    memset(images, 0, (size_t)(w->outer * w->in[0] * w->in[1] * w->in[2] * w->inner) * sizeof(T));
}

#define EACH_RUN(some) \
    const windows w = windows_of(sizes); \
    NAME(some) some; \
    UNUSED(numbers); \
    for (run r = {0}; !is_empty(&w) && next_run(&w, &r);)

/* The largest element of each window; NaN if there is one, minus infinity if all is padding: x, y. */
KERNEL(pool_maxima) {
    EACH_RUN(some) {
        for (isize i = 0; i < r.count; i++) some.value[i] = (T)-INFINITY;
        NAME(meet_all)(LARGEST, &w, &r, &some, OUT(T, 0), OUT(T, 0));
        NAME(give)(&some, &r, OUT(T, 1));
    }
}

/* The place of the maximum of each window, the first one; 0 if all is padding: x, maxima, places. */
KERNEL(pool_places) {
    EACH_RUN(some) {
        for (isize i = 0; i < r.count; i++) some.place[i] = -1;
        NAME(take)(some.value, &r, IN(T, 1));
        NAME(meet_all)(PLACE, &w, &r, &some, OUT(T, 0), OUT(T, 0));
        for (isize i = 0; i < r.count; i++) OUT(uint8_t, 2)[r.at + i] = some.place[i] < 0 ? 0 : (uint8_t)some.place[i];
    }
}

/* Adds the gradient of each window to its element with the place: gy, places, gx. */
KERNEL(pool_spread) {
    const windows all = windows_of(sizes);
    const int adds = !is_tiling(&all);
    if (adds) NAME(clear)(&all, OUT(T, 2));
    EACH_RUN(some) {
        NAME(take)(some.value, &r, IN(T, 0));
        NAME(take_places)(&some, &r, IN(uint8_t, 1));
        if (adds) NAME(meet_all)(SPREAD, &w, &r, &some, OUT(T, 2), OUT(T, 2));
        else NAME(meet_all)(PUT, &w, &r, &some, OUT(T, 2), OUT(T, 2));
    }
}

/* Adds the gradient of each window to its maximum, the first one: gy, x, maxima, gx. */
KERNEL(pool_maxima_gradient) {
    const windows all = windows_of(sizes);
    const int adds = !is_tiling(&all);
    if (adds) NAME(clear)(&all, OUT(T, 3));
    EACH_RUN(some) {
        NAME(take)(some.value, &r, IN(T, 0));
        NAME(take)(some.place, &r, IN(T, 2));
        if (adds) NAME(meet_all)(HAND_BACK, &w, &r, &some, OUT(T, 1), OUT(T, 3));
        else NAME(meet_all)(HAND_OVER, &w, &r, &some, OUT(T, 1), OUT(T, 3));
    }
}

/* The element of each window with the place, 0 in the padding: x, places, y. */
KERNEL(pool_pick) {
    EACH_RUN(some) {
        memset(some.value, 0, (size_t)r.count * sizeof(T));
        NAME(take_places)(&some, &r, IN(uint8_t, 1));
        NAME(meet_all)(PICK, &w, &r, &some, OUT(T, 0), OUT(T, 0));
        NAME(give)(&some, &r, OUT(T, 2));
    }
}

/* The sum of each window: x, y. */
KERNEL(pool_sums) {
    EACH_RUN(some) {
        memset(some.value, 0, (size_t)r.count * sizeof(T));
        NAME(meet_all)(SUM, &w, &r, &some, OUT(T, 0), OUT(T, 0));
        NAME(give)(&some, &r, OUT(T, 1));
    }
}

/* Adds the value of each window to all of its elements: gy, gx. */
KERNEL(pool_spread_sums) {
    const windows all = windows_of(sizes);
    const int adds = !is_tiling(&all);
    if (adds) NAME(clear)(&all, OUT(T, 1));
    EACH_RUN(some) {
        NAME(take)(some.value, &r, IN(T, 0));
        if (adds) NAME(meet_all)(SPREAD_ALL, &w, &r, &some, OUT(T, 1), OUT(T, 1));
        else NAME(meet_all)(PUT_ALL, &w, &r, &some, OUT(T, 1), OUT(T, 1));
    }
}
