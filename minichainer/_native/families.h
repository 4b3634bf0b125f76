/* All families of kernels, for one T, and the list of all their kernels. */
#include "elementary.h"
#include "sums.h"

#include "activations.h"
#include "channels.h"
#include "special.h"
#include "transcendental.h"
#include "updates.h"
#include "softmax.h"
#include "normalization.h"
#include "windows.h"
#include "reductions.h"

#include "pooling.h"
#include "depthwise.h"
#include "patches.h"
#include "direct.h"
#include "winograd.h"
#include "gates.h"
#include "gathering.h"
#include "margins.h"
#include "sampling.h"
#include "ctc.h"

#define KERNELS(BOTH, SINGLE) \
    ACTIVATIONS(BOTH, SINGLE) \
    CHANNELS(BOTH, SINGLE) \
    SPECIAL(BOTH, SINGLE) \
    TRANSCENDENTAL(BOTH, SINGLE) \
    UPDATES(BOTH, SINGLE) \
    SOFTMAX(BOTH, SINGLE) \
    NORMALIZATION(BOTH, SINGLE) \
    REDUCTIONS(BOTH, SINGLE) \
    POOLING(BOTH, SINGLE) \
    DEPTHWISE(BOTH, SINGLE) \
    PATCHES(BOTH, SINGLE) \
    DIRECT(BOTH, SINGLE) \
    WINOGRAD(BOTH, SINGLE) \
    GATES(BOTH, SINGLE) \
    GATHERING(BOTH, SINGLE) \
    MARGINS(BOTH, SINGLE) \
    SAMPLING(BOTH, SINGLE) \
    CTC(BOTH, SINGLE)
