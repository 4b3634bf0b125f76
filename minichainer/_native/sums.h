/* Sums and largest elements of rows, in many accumulators, so that they are vectors. Included for each T.

   Blocks are summed in T, in LANES accumulators, and the sums of blocks in double: each number of T is added to at most
   SUMMED others one after another. */
#undef LANES
#undef SUMMED
#define LANES 32
#define SUMMED 32

INLINED T NAME(larger_number)(T a, T b) { return a > b ? a : b; }

/* Adds up the accumulators in pairs, which it overwrites; in steps of constant size, which compilers unroll. */
INLINED double NAME(folded)(T *lanes) {
    for (int k = 0; k < 16; k++) lanes[k] += lanes[k + 16];
    for (int k = 0; k < 8; k++) lanes[k] += lanes[k + 8];
    for (int k = 0; k < 4; k++) lanes[k] += lanes[k + 4];
    return (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]);
}

/* Adds the terms for i = 0 to n - 1 to a double. */
#undef ADD_SUM
#define ADD_SUM(total, n, term)                                                                        \
    do {                                                                                               \
        isize begin_ = 0;                                                                              \
        while ((n)-begin_ >= LANES) {                                                                  \
            T lanes_[LANES] = {0};                                                                     \
            const isize left_ = ((n)-begin_) / LANES, end_ = begin_ + LANES * (left_ < SUMMED ? left_ : SUMMED); \
            for (; begin_ < end_; begin_ += LANES)                                                     \
                for (int k_ = 0; k_ < LANES; k_++) {                                                   \
                    const isize i = begin_ + k_;                                                       \
                    lanes_[k_] += (term);                                                              \
                }                                                                                      \
            (total) += NAME(folded)(lanes_);                                                           \
        }                                                                                              \
        T rest_ = 0;                                                                                   \
        for (isize i = begin_; i < (n); i++) rest_ += (term);                                          \
        (total) += rest_;                                                                              \
    } while (0)

/* The largest of n numbers that is not NaN, -infinity if there is none. */
INLINED T NAME(largest)(const T *x, isize n) {
    T top = -(T)INFINITY;
    isize i = 0;
    if (n >= LANES) {
        T lanes[LANES];
        memcpy(lanes, x, sizeof lanes);
        for (i = LANES; i + LANES <= n; i += LANES)
            for (int k = 0; k < LANES; k++) lanes[k] = NAME(larger_number)(x[i + k], lanes[k]);
        for (int k = 0; k < 16; k++) lanes[k] = NAME(larger_number)(lanes[k], lanes[k + 16]);
        for (int k = 0; k < 8; k++) lanes[k] = NAME(larger_number)(lanes[k], lanes[k + 8]);
        for (int k = 0; k < 4; k++) lanes[k] = NAME(larger_number)(lanes[k], lanes[k + 4]);
        top = NAME(larger_number)(NAME(larger_number)(lanes[0], lanes[2]), NAME(larger_number)(lanes[1], lanes[3]));
    }
    for (; i < n; i++) top = NAME(larger_number)(x[i], top);
    return top;
}
