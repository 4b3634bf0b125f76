"""Names of Chainer 7.8.1 that are still to come, by package; written by ``make docs``."""

NOT_YET = {
}
