/* Sums, norms and extrema of rows. Included for each T. All take an array (rows, columns) and the sizes rows, columns. */
#define REDUCTIONS(BOTH, SINGLE) \
    BOTH(row_sums, "T>T:nns") \
    BOTH(row_squares, "T>T:nn") \
    BOTH(row_norms, "T>T:nn") \
    BOTH(row_products, "T>T:nn") \
    BOTH(row_maxima, "T>T:nn") \
    BOTH(row_minima, "T>T:nn")

#ifndef OF_ROWS
/* Results for rows: y = result, an expression in total, which is the sum of term, an expression in x[i]. */
#define OF_ROWS(name, term, result) \
    KERNEL(name) { \
        T *const ys = OUT(T, 1); \
        UNUSED(numbers); \
        for (isize row = 0; row < sizes[0]; row++) { \
            const T *const x = IN(T, 0) + row * sizes[1]; \
            double total = 0; \
            ADD_SUM(total, sizes[1], term); \
            ys[row] = (T)(result); \
        } \
    }

/* The first of rows in an order; NaN where there is one. Comparisons skip it, so it is kept beside what they find. */
#define EXTREMA(name, BEFORE) \
    INLINED T NAME(name##_of)(T x, T found) { return x BEFORE found ? x : found; } \
    static T NAME(name##_row)(const T *const x, const isize n) { \
        T lanes[LANES], odd[LANES], found = x[0], nan = 0; \
        isize i = 0; \
        for (int k = 0; k < LANES; k++) lanes[k] = found, odd[k] = 0; \
        for (; i + LANES <= n; i += LANES) \
            for (int k = 0; k < LANES; k++) { \
                lanes[k] = NAME(name##_of)(x[i + k], lanes[k]); \
                odd[k] = NAME(number_or)(odd[k], x[i + k]); \
            } \
        for (; i < n; i++) { \
            found = NAME(name##_of)(x[i], found); \
            nan = NAME(number_or)(nan, x[i]); \
        } \
        for (int k = 0; k < LANES; k++) { \
            found = NAME(name##_of)(lanes[k], found); \
            nan = NAME(number_or)(nan, odd[k]); \
        } \
        return nan == nan ? found : nan; \
    } \
    KERNEL(name) { \
        UNUSED(numbers); \
        for (isize row = 0; row < sizes[0]; row++) \
            OUT(T, 1)[row] = NAME(name##_row)(IN(T, 0) + row * sizes[1], sizes[1]); \
    }
#endif

/* x if it is NaN. */
INLINED T NAME(number_or)(T number, T x) { return x == x ? number : x; }

/* The root of a sum of squares. If that has left the range of T, it is summed again, of elements divided by the largest. */
static double NAME(scaled_norm)(const T *const x, const isize n) {
    double top = 0, sum = 0;
    for (isize i = 0; i < n; i++) top = fabs((double)x[i]) > top ? fabs((double)x[i]) : top;
    if (!(top > 0 && top <= (IS_SINGLE ? 3.4028235e38 : 1.7976931348623157e308))) top = 1;
    for (isize i = 0; i < n; i++) sum += (x[i] / top) * (x[i] / top);
    return sqrt(sum) * top;
}

INLINED double NAME(norm_of)(const T *const x, const isize n, const double total) {
    const int fits = (total >= (IS_SINGLE ? 1e-31 : 1e-292)) & (total <= (IS_SINGLE ? 3e38 : 1e308));
    return fits ? sqrt(total) : NAME(scaled_norm)(x, n);
}

OF_ROWS(row_sums, x[i], total *numbers[0])
OF_ROWS(row_squares, x[i] * x[i], total)
OF_ROWS(row_norms, x[i] * x[i], NAME(norm_of)(x, sizes[1], total))
/* The product of a row. Products of lanes may be far from 1 where that of the row, taken in order, is not: then it is
   taken in order. */
INLINED T NAME(product_of)(const T *const x, const isize n) {
    T lanes[LANES], in_order = 1;
    double pairs[LANES / 2];
    int fit = 1;
    isize i = 0;
    for (int k = 0; k < LANES; k++) lanes[k] = 1;
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++) lanes[k] *= x[i + k];
    for (; i < n; i++) lanes[i % LANES] *= x[i];
    for (int k = 0; k < LANES; k++) {
        const T size = NAME(magnitude)(lanes[k]);
        fit &= (size > (T)1e-9) & (size < (T)1e9);
    }
    for (int k = 0; k < LANES / 2; k++) pairs[k] = (double)lanes[k] * lanes[k + LANES / 2];
    for (int width = LANES / 4; width; width /= 2)
        for (int k = 0; k < width; k++) pairs[k] *= pairs[k + width];
    if (fit) return (T)pairs[0];
    for (i = 0; i < n; i++) in_order *= x[i];
    return in_order;
}

KERNEL(row_products) {
    UNUSED(numbers);
    for (isize row = 0; row < sizes[0]; row++)
        OUT(T, 1)[row] = NAME(product_of)(IN(T, 0) + row * sizes[1], sizes[1]);
}

EXTREMA(row_maxima, >)
EXTREMA(row_minima, <)
