/* Updates of parameters by optimizers, in one pass over memory. Included for each T. */
#define UPDATES(BOTH, SINGLE)
