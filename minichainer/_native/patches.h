/* Patches of images (im2col and its adjoint), and depthwise convolution, channels last. Included for each T. */
#define PATCHES(BOTH, SINGLE)
