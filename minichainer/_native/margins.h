/* The hinge loss. Included for each T. */
#define MARGINS(BOTH, SINGLE) \
    BOTH(label_signs, "i?l?>T!:nn") \
    BOTH(mean_hinge, "TT>T:nnn")

/* -1 at the label of each sample, else 1; negative labels count from the last class, and others that are none are not
   taken. Arguments: labels (int32 or int64), result (samples, classes). Sizes: samples, classes. */
KERNEL(label_signs) {
    const int32_t *const few = IN(int32_t, 0);
    const int64_t *const many = IN(int64_t, 1);
    const isize classes = sizes[1];
    UNUSED(numbers);
    for (isize n = 0; n < sizes[0]; n++) {
        T *const signs = OUT(T, 2) + n * classes;
        const int64_t label = few ? few[n] : many[n];
        for (isize k = 0; k < classes; k++) signs[k] = 1;
        if (label >= -classes && label < classes) signs[label < 0 ? label + classes : label] = -1;
        else *OUT(unsigned char, 3) = 0;
    }
}

/* max(x s + 1, 0); NaN stays NaN. */
INLINED T NAME(hinge_of)(T x, T sign) {
    const T excess = x * sign + 1;
    return excess <= 0 ? 0 : excess;
}

INLINED T NAME(squared_hinge_of)(T x, T sign) {
    const T excess = NAME(hinge_of)(x, sign);
    return excess * excess;
}

/* The sum of these, or of their squares, divided by the number of samples. Arguments: x, signs (samples, classes),
   result (one element). Sizes: samples, classes, whether they are squared. */
KERNEL(mean_hinge) {
    const T *const x = IN(T, 0), *const signs = IN(T, 1);
    const isize count = sizes[0] * sizes[1];
    double total = 0;
    UNUSED(numbers);
    if (sizes[2]) ADD_SUM(total, count, NAME(squared_hinge_of)(x[i], signs[i]));
    else ADD_SUM(total, count, NAME(hinge_of)(x[i], signs[i]));
    *OUT(T, 2) = (T)(total / (double)sizes[0]);
}
