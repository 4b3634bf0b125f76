/* Rows gathered from a table, and added to it. Included for each T. */
#define GATHERING(BOTH, SINGLE)
