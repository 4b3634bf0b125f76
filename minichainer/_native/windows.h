/* Windows over up to three axes, of images with channels first or last: what pooling, depthwise convolution and patches
   share. Included for each T.

   Images are (outer, d1, d2, d3, inner): channels first with inner = 1, channels last with outer the number of images;
   an axis of 1 with windows of 1 stands for one that is not there. Sizes: outer, inner, then for the three axes the
   input size, number of windows, window size, stride, padding and dilation. */
#ifndef MINICHAINER_WINDOWS
#define MINICHAINER_WINDOWS
#define WINDOWS_ ":nnnnnnnnnnnnnnnnnnnn"
enum { WINDOWS_AT_ONCE = 1024 };

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
    if (!w->outer || !w->inner || !w->out[0] || !w->out[1] || !w->out[2]) return 0;
    r->at += r->count;
    r->channel += r->channels;
    if (r->channel == w->inner) r->channel = 0, r->from = r->until;
    if (r->from == w->out[2]) r->from = 0, r->o[1]++;
    if (r->o[1] == w->out[1]) r->o[1] = 0, r->o[0]++;
    if (r->o[0] == w->out[0]) r->o[0] = 0, r->image++;
    if (r->image == w->outer) return 0;
    r->channels = w->inner < WINDOWS_AT_ONCE ? w->inner : WINDOWS_AT_ONCE;
    if (r->channels > w->inner - r->channel) r->channels = w->inner - r->channel;
    const isize most = w->inner < WINDOWS_AT_ONCE ? WINDOWS_AT_ONCE / w->inner : 1, rest = w->out[2] - r->from;
    r->until = r->from + (most < rest ? most : rest);
    r->count = (r->until - r->from) * r->channels;
    return 1;
}

/* An element of windows, for those windows of a run, from first to end, of which it is not in the padding. In the first
   of them it is at the place at of the images. */
typedef struct {
    isize t[3], number, first, end, at;
} tap;

static const tap before_taps = {{0, 0, -1}, -1, 0, 0, 0};

/* The element that follows another one, skipping those that are in the padding of all windows; 0 if there is none. */
static inline int next_tap(const windows *w, const run *r, tap *t) {
    for (;;) {
        t->number++;
        if (++t->t[2] == w->window[2]) t->t[2] = 0, t->t[1]++;
        if (t->t[1] == w->window[1]) t->t[1] = 0, t->t[0]++;
        if (t->t[0] == w->window[0]) return 0;
        if (!is_inside(w, 0, r->o[0], t->t[0]) || !is_inside(w, 1, r->o[1], t->t[1])) continue;
        t->first = r->from;
        t->end = r->until;
        while (t->first < t->end && !is_inside(w, 2, t->first, t->t[2])) t->first++;
        while (t->first < t->end && !is_inside(w, 2, t->end - 1, t->t[2])) t->end--;
        if (t->first == t->end) continue;
        const isize i0 = position(w, 0, r->o[0], t->t[0]), i1 = position(w, 1, r->o[1], t->t[1]);
        const isize line = ((r->image * w->in[0] + i0) * w->in[1] + i1) * w->in[2];
        t->at = (line + position(w, 2, t->first, t->t[2])) * w->inner + r->channel;
        return 1;
    }
}
#endif

static inline void NAME(clear)(const windows *w, T *images) {
    memset(images, 0, (size_t)(w->outer * w->in[0] * w->in[1] * w->in[2] * w->inner) * sizeof(T));
}
