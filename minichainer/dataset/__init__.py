"""The interfaces of datasets, iterators and converters."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.dataset import convert as convert
from minichainer.dataset import dataset_mixin as dataset_mixin
from minichainer.dataset import download as download
from minichainer.dataset import iterator as iterator
from minichainer.dataset import tabular as tabular
from minichainer.dataset.convert import ConcatWithAsyncTransfer as ConcatWithAsyncTransfer
from minichainer.dataset.convert import Converter as Converter
from minichainer.dataset.convert import concat_examples as concat_examples
from minichainer.dataset.convert import converter as converter
from minichainer.dataset.convert import to_device as to_device
from minichainer.dataset.dataset_mixin import DatasetMixin as DatasetMixin
from minichainer.dataset.download import cache_or_load_file as cache_or_load_file
from minichainer.dataset.download import cached_download as cached_download
from minichainer.dataset.download import get_dataset_directory as get_dataset_directory
from minichainer.dataset.download import get_dataset_root as get_dataset_root
from minichainer.dataset.download import set_dataset_root as set_dataset_root
from minichainer.dataset.iterator import Iterator as Iterator
from minichainer.dataset.tabular.tabular_dataset import TabularDataset as TabularDataset

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['convert', 'dataset_mixin', 'download', 'iterator', 'tabular'])
