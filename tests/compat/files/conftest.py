"""`make.py` runs with Chainer only."""

collect_ignore = ['make.py']
