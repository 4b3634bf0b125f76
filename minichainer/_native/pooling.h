/* Max and average pooling, channels last. Included for each T. */
#define POOLING(BOTH, SINGLE)
