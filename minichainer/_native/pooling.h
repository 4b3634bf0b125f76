/* Pooling of the windows of windows.h. Included for each T.

   A place is the index of an element in its window, in C's order, less than 256. What is outside of the image does not
   count. */
#define POOLING(BOTH, SINGLE) \
    BOTH(pool_maxima, "T>T" WINDOWS_) \
    BOTH(pool_places, "TT>B" WINDOWS_) \
    BOTH(pool_spread, "TB>T" WINDOWS_) \
    BOTH(pool_pick, "TB>T" WINDOWS_) \
    BOTH(pool_sums, "T>T" WINDOWS_) \
    BOTH(pool_spread_sums, "T>T" WINDOWS_) \
    BOTH(pool_maxima_gradient, "TTT>T" WINDOWS_)

#ifndef MINICHAINER_POOLING
#define MINICHAINER_POOLING
/* What is done with each element: HAND_OVER, PUT and PUT_ALL are HAND_BACK, SPREAD and SPREAD_ALL
   where each element is in one window. */
typedef enum { LARGEST, PLACE, HAND_BACK, HAND_OVER, PICK, SUM, SPREAD, SPREAD_ALL, PUT, PUT_ALL } pooling;
#endif

SHORT_LOOPS
/* The values of a run, and their places, or something else of which each window has one. Places are of type T, which
   holds them exactly: vectors of one type are fast. */
typedef struct {
    T value[WINDOWS_AT_ONCE], place[WINDOWS_AT_ONCE];
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

/* The same for all elements of a run's windows. Gradients are for HAND_BACK and HAND_OVER. */
INLINED void NAME(meet_all)(pooling what, const windows *w, const run *r, NAME(some) *some, T *images,
                            T *gradients) {
    for (tap t = before_taps; next_tap(w, r, &t);)
        NAME(meet_windows)(what, w, r, some, images + t.at, gradients + t.at, t.first, t.end, (T)t.number);
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

#define EACH_RUN(some) \
    const windows w = windows_of(sizes); \
    NAME(some) some; \
    UNUSED(numbers); \
    for (run r = {0}; next_run(&w, &r);)

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
END_OF_SHORT_LOOPS
