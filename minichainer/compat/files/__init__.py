"""Files that any version of Chainer wrote: loading with a report, and conversion to today's forms."""

from minichainer.compat.files.loading import LoadReport, load
from minichainer.compat.files.pickles import load_pickle

__all__ = ['LoadReport', 'load', 'load_pickle']
