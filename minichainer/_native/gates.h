/* Gates of recurrent cells. Included for each T. */
#define GATES(BOTH, SINGLE)
