/* Depthwise convolution of the windows of windows.h, channels last: each channel has one filter, in taps (elements of a
   window, channels). Included for each T. */
#define DEPTHWISE(BOTH, SINGLE) \
    BOTH(depthwise_convolve, "TT>T" WINDOWS_) \
    BOTH(depthwise_data_gradient, "TT>T" WINDOWS_) \
    BOTH(depthwise_filter_gradient, "TT>T" WINDOWS_)

/* sum += a b for n channels of count windows: step_a and so on from one window to the next. */
INLINED void NAME(add_products)(T *sum, const T *a, const T *b, isize count, isize n, isize step, isize step_a,
                                isize step_b) {
    for (isize j = 0; j < count; j++) {
        INDEPENDENT
        for (isize c = 0; c < n; c++)
            sum[j * step + c] = MULTIPLY_ADD(a[j * step_a + c], b[j * step_b + c], sum[j * step + c]);
    }
}

/* y = the sum over elements t of x t: x, taps, y. */
KERNEL(depthwise_convolve) {
    const windows w = windows_of(sizes);
    UNUSED(numbers);
    for (run r = {0}; next_run(&w, &r);) {
        T *const y = OUT(T, 2) + r.at;
        memset(y, 0, (size_t)r.count * sizeof(T));
        for (tap t = before_taps; next_tap(&w, &r, &t);)
            NAME(add_products)(y + (t.first - r.from) * r.channels, IN(T, 0) + t.at,
                               IN(T, 1) + t.number * w.inner + r.channel, t.end - t.first, r.channels, r.channels,
                               w.stride[2] * w.inner, 0);
    }
}

/* Its transpose for the images: gy, taps, gx. */
KERNEL(depthwise_data_gradient) {
    const windows w = windows_of(sizes);
    UNUSED(numbers);
    NAME(clear)(&w, OUT(T, 2));
    for (run r = {0}; next_run(&w, &r);) {
        for (tap t = before_taps; next_tap(&w, &r, &t);)
            NAME(add_products)(OUT(T, 2) + t.at, IN(T, 0) + r.at + (t.first - r.from) * r.channels,
                               IN(T, 1) + t.number * w.inner + r.channel, t.end - t.first, r.channels,
                               w.stride[2] * w.inner, r.channels, 0);
    }
}

/* Its transpose for the filters: x, gy, taps. Sums of a run first, which is more accurate. */
KERNEL(depthwise_filter_gradient) {
    const windows w = windows_of(sizes);
    UNUSED(numbers);
    memset(OUT(T, 2), 0, (size_t)(w.window[0] * w.window[1] * w.window[2] * w.inner) * sizeof(T));
    for (run r = {0}; next_run(&w, &r);) {
        for (tap t = before_taps; next_tap(&w, &r, &t);) {
            T sum[WINDOWS_AT_ONCE], *const total = OUT(T, 2) + t.number * w.inner + r.channel;
            memset(sum, 0, (size_t)r.channels * sizeof(T));
            NAME(add_products)(sum, IN(T, 0) + t.at, IN(T, 1) + r.at + (t.first - r.from) * r.channels,
                               t.end - t.first, r.channels, 0, w.stride[2] * w.inner, r.channels);
            for (isize c = 0; c < r.channels; c++) total[c] += sum[c];
        }
    }
}
