/* Patches of images under the windows of windows.h, which must lie in the images: copied to matrices (im2col), and added
   to images (col2im). Included for each T. */
#define PATCHES(BOTH, SINGLE) \
    BOTH(patches_as_rows, "T>T" WINDOWS_) \
    BOTH(add_rows_of_patches, "T>T" WINDOWS_) \
    BOTH(patches_as_planes, "T>T" WINDOWS_ "nnn")

/* What follows for each window (n, o) and line (t0, t1) of its elements; at is where the line begins, in images with
   the channels last, and row is the number of the line among all lines of all windows. */
#define EACH_LINE_OF_PATCHES \
    isize row = 0; \
    for (isize window = 0; window < w.outer * w.out[0] * w.out[1] * w.out[2]; window++) \
        for (isize line = 0; line < w.window[0] * w.window[1]; line++, row++)

/* Where a line of elements of a window begins. */
static inline isize NAME(line_of_patch)(const windows *w, isize window, isize line) {
    const isize o2 = window % w->out[2], rest = window / w->out[2], o1 = rest % w->out[1];
    const isize o0 = rest / w->out[1] % w->out[0], image = rest / w->out[1] / w->out[0];
    const isize i0 = position(w, 0, o0, line / w->window[1]), i1 = position(w, 1, o1, line % w->window[1]);
    return (((image * w->in[0] + i0) * w->in[1] + i1) * w->in[2] + position(w, 2, o2, 0)) * w->inner;
}

/* Images, channels last, to (windows, elements of a window, channels). */
KERNEL(patches_as_rows) {
    const windows w = windows_of(sizes);
    const isize together = w.dilate[2] == 1 ? w.window[2] * w.inner : w.inner, length = w.window[2] * w.inner;
    UNUSED(numbers);
    EACH_LINE_OF_PATCHES {
        const T *x = IN(T, 0) + NAME(line_of_patch)(&w, window, line);
        T *y = OUT(T, 1) + row * length;
        for (isize done = 0; done < length; done += together, x += w.dilate[2] * w.inner)
            memcpy(y + done, x, (size_t)together * sizeof(T));
    }
}

/* The transpose of patches_as_rows: adds rows to images. */
KERNEL(add_rows_of_patches) {
    const windows w = windows_of(sizes);
    const isize together = w.dilate[2] == 1 ? w.window[2] * w.inner : w.inner, length = w.window[2] * w.inner;
    UNUSED(numbers);
    EACH_LINE_OF_PATCHES {
        T *x = OUT(T, 1) + NAME(line_of_patch)(&w, window, line);
        const T *y = IN(T, 0) + row * length;
        for (isize done = 0; done < length; done += together, x += w.dilate[2] * w.inner) {
            INDEPENDENT
            for (isize i = 0; i < together; i++) x[i] += y[done + i];
        }
    }
}

/* Images, channels first, to planes of windows, one for each element, channel and image. Sizes behind those of the
   windows: how far apart the planes of elements, channels and images are. */
KERNEL(patches_as_planes) {
    const windows w = windows_of(sizes);
    const isize *const apart = sizes + 20, elements = w.window[0] * w.window[1] * w.window[2];
    UNUSED(numbers);
    for (isize k = 0; k < w.outer * w.inner * elements; k++) {
        const isize element = k % elements, plane = k / elements, t2 = element % w.window[2];
        const isize t0 = element / w.window[2] / w.window[1], t1 = element / w.window[2] % w.window[1];
        T *y = OUT(T, 1) + element * apart[0] + plane % w.inner * apart[1] + plane / w.inner * apart[2];
        for (isize o = 0; o < w.out[0] * w.out[1]; o++, y += w.out[2]) {
            const isize i0 = position(&w, 0, o / w.out[1], t0), i1 = position(&w, 1, o % w.out[1], t1);
            const T *x = IN(T, 0) + ((plane * w.in[0] + i0) * w.in[1] + i1) * w.in[2] + position(&w, 2, 0, t2);
            if (w.stride[2] == 1) memcpy(y, x, (size_t)w.out[2] * sizeof(T));
            else
                for (isize j = 0; j < w.out[2]; j++) y[j] = x[j * w.stride[2]];
        }
    }
}
