"""Datasets: combinations of datasets, and data."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.datasets.concatenated_dataset import ConcatenatedDataset as ConcatenatedDataset
from minichainer.datasets.dict_dataset import DictDataset as DictDataset
from minichainer.datasets.digits import get_digits as get_digits
from minichainer.datasets.sub_dataset import SubDataset as SubDataset
from minichainer.datasets.sub_dataset import get_cross_validation_datasets as get_cross_validation_datasets
from minichainer.datasets.sub_dataset import (
    get_cross_validation_datasets_random as get_cross_validation_datasets_random,
)
from minichainer.datasets.sub_dataset import split_dataset as split_dataset
from minichainer.datasets.sub_dataset import split_dataset_n as split_dataset_n
from minichainer.datasets.sub_dataset import split_dataset_n_random as split_dataset_n_random
from minichainer.datasets.sub_dataset import split_dataset_random as split_dataset_random
from minichainer.datasets.transform_dataset import TransformDataset as TransformDataset
from minichainer.datasets.tuple_dataset import TupleDataset as TupleDataset

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
