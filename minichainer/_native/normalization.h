/* Layer, group, RMS and batch normalization. Included for each T. */
#define NORMALIZATION(BOTH, SINGLE)
