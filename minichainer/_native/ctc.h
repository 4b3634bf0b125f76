/* Sums over paths of connectionist temporal classification. Included for each T. */
#define CTC(BOTH, SINGLE)
