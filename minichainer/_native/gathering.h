/* Rows added to a table, and running results along an axis. Included for each T. */
#define GATHERING(BOTH, SINGLE) \
    BOTH(add_rows, "Ti?l?>TB:nnn") \
    BOTH(running_sum, "T>T:nnnn") \
    BOTH(running_product, "T>T:nnnn") \
    BOTH(recurrence, "TT>T:nnnn")

/* Adds rows to those of a table. Arguments: rows (n, width), their numbers (n) as int32 or int64, the other None; the
   table (count, width), changed, and a byte, which says whether a number was not from -count to count - 1. Such a row is
   left out. Sizes: n, width, count. */
KERNEL(add_rows) {
    const isize n = sizes[0], width = sizes[1], count = sizes[2];
    const int32_t *const few = IN(int32_t, 1);
    const int64_t *const many = IN(int64_t, 2);
    unsigned char outside = 0;
    UNUSED(numbers);
    for (isize i = 0; i < n; i++) {
        const int64_t given = few ? few[i] : many[i], number = given < 0 ? given + count : given;
        if (number < 0 || number >= count) {
            outside = 1;
            continue;
        }
        const T *restrict const row = IN(T, 0) + i * width;
        T *restrict const target = OUT(T, 3) + (isize)number * width;
        for (isize k = 0; k < width; k++) target[k] += row[k];
    }
    *OUT(unsigned char, 4) = outside;
}

/* Running results y along the middle axis of x (outer, length, inner), one OPERATION after the other. If inner is 1,
   eight lines are computed at once, since each operation waits for the one before. Sizes: outer, length, inner, and 1 to
   begin at the end. */
#define RUNNING(name, OPERATION) \
    static void NAME(name##_rows)(const T *restrict x, const T *restrict before, T *restrict y, isize n) { \
        for (isize k = 0; k < n; k++) y[k] = before[k] OPERATION x[k]; \
    } \
    static inline void NAME(name##_lines)(const T *restrict x, T *restrict y, isize length, isize flip, const isize lines) { \
        const isize begin = flip ? length - 1 : 0, step = flip ? -1 : 1; \
        T total[8]; \
        for (isize j = 0; j < lines; j++) total[j] = y[j * length + begin] = x[j * length + begin]; \
        for (isize k = 1, at = begin + step; k < length; k++, at += step) \
            for (isize j = 0; j < lines; j++) y[j * length + at] = total[j] = total[j] OPERATION x[j * length + at]; \
    } \
    KERNEL(name) { \
        const isize outer = sizes[0], length = sizes[1], inner = sizes[2], flip = sizes[3]; \
        const isize begin = flip ? (length - 1) * inner : 0, step = flip ? -inner : inner; \
        UNUSED(numbers); \
        for (isize i = 0; i < outer; i++) { \
            const T *const x = IN(T, 0) + i * length * inner; \
            T *const y = OUT(T, 1) + i * length * inner; \
            if (inner == 1 && i + 8 <= outer) { \
                NAME(name##_lines)(x, y, length, flip, 8); \
                i += 7; \
            } else if (inner == 1) { \
                NAME(name##_lines)(x, y, length, flip, 1); \
            } else { \
                memcpy(y + begin, x + begin, (size_t)inner * sizeof(T)); \
                for (isize k = 1, at = begin + step; k < length; k++, at += step) \
                    NAME(name##_rows)(x + at, y + at - step, y + at, inner); \
            } \
        } \
    }

RUNNING(running_sum, +)
RUNNING(running_product, *)
#undef RUNNING

INLINED void NAME(recurrent_lines)(const T *restrict g, const T *restrict a, T *restrict s, isize length,
                                         isize flip, const isize lines) {
    const isize begin = flip ? length - 1 : 0, step = flip ? -1 : 1;
    T last[8];
    for (isize j = 0; j < lines; j++) last[j] = s[j * length + begin] = g[j * length + begin];
    for (isize k = 1, at = begin + step; k < length; k++, at += step)
        for (isize j = 0; j < lines; j++)
            s[j * length + at] = last[j] = g[j * length + at] + a[j * length + at] * last[j];
}

static void NAME(recurrent_rows)(const T *restrict g, const T *restrict a, const T *restrict before, T *restrict s,
                                 isize n) {
    for (isize k = 0; k < n; k++) s[k] = g[k] + a[k] * before[k];
}

/* s along the middle axis of g and a (outer, length, inner), where s[k] = g[k] + a[k] s[k - 1]. Sizes: outer, length,
   inner, and 1 to begin at the end. */
KERNEL(recurrence) {
    const isize outer = sizes[0], length = sizes[1], inner = sizes[2], flip = sizes[3];
    const isize begin = flip ? (length - 1) * inner : 0, step = flip ? -inner : inner;
    UNUSED(numbers);
    for (isize i = 0; i < outer; i++) {
        const T *const g = IN(T, 0) + i * length * inner, *const a = IN(T, 1) + i * length * inner;
        T *const s = OUT(T, 2) + i * length * inner;
        if (inner == 1 && i + 8 <= outer) {
            NAME(recurrent_lines)(g, a, s, length, flip, 8);
            i += 7;
        } else if (inner == 1) {
            NAME(recurrent_lines)(g, a, s, length, flip, 1);
        } else {
            memcpy(s + begin, g + begin, (size_t)inner * sizeof(T));
            for (isize k = 1, at = begin + step; k < length; k++, at += step)
                NAME(recurrent_rows)(g + at, a + at, s + at - step, s + at, inner);
        }
    }
}
