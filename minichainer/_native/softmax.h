/* Softmax, its logarithm, and softmax cross entropy along the last axis. Included for each T. */
#define SOFTMAX(BOTH, SINGLE)
