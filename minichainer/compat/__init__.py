"""Old programs and files of Chainer today."""
