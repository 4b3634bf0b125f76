"""Datasets: combinations of datasets, and data."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.datasets.cifar import get_cifar10 as get_cifar10
from minichainer.datasets.cifar import get_cifar100 as get_cifar100
from minichainer.datasets.concatenated_dataset import ConcatenatedDataset as ConcatenatedDataset
from minichainer.datasets.dict_dataset import DictDataset as DictDataset
from minichainer.datasets.digits import get_digits as get_digits
from minichainer.datasets.fashion_mnist import get_fashion_mnist as get_fashion_mnist
from minichainer.datasets.fashion_mnist import get_fashion_mnist_labels as get_fashion_mnist_labels
from minichainer.datasets.image_dataset import ImageDataset as ImageDataset
from minichainer.datasets.image_dataset import LabeledImageDataset as LabeledImageDataset
from minichainer.datasets.image_dataset import LabeledZippedImageDataset as LabeledZippedImageDataset
from minichainer.datasets.image_dataset import MultiZippedImageDataset as MultiZippedImageDataset
from minichainer.datasets.image_dataset import ZippedImageDataset as ZippedImageDataset
from minichainer.datasets.kuzushiji_mnist import get_kuzushiji_mnist as get_kuzushiji_mnist
from minichainer.datasets.kuzushiji_mnist import get_kuzushiji_mnist_labels as get_kuzushiji_mnist_labels
from minichainer.datasets.mnist import get_mnist as get_mnist
from minichainer.datasets.pickle_dataset import PickleDataset as PickleDataset
from minichainer.datasets.pickle_dataset import PickleDatasetWriter as PickleDatasetWriter
from minichainer.datasets.pickle_dataset import open_pickle_dataset as open_pickle_dataset
from minichainer.datasets.pickle_dataset import open_pickle_dataset_writer as open_pickle_dataset_writer
from minichainer.datasets.ptb import get_ptb_words as get_ptb_words
from minichainer.datasets.ptb import get_ptb_words_vocabulary as get_ptb_words_vocabulary
from minichainer.datasets.sub_dataset import SubDataset as SubDataset
from minichainer.datasets.sub_dataset import get_cross_validation_datasets as get_cross_validation_datasets
from minichainer.datasets.sub_dataset import (
    get_cross_validation_datasets_random as get_cross_validation_datasets_random,
)
from minichainer.datasets.sub_dataset import split_dataset as split_dataset
from minichainer.datasets.sub_dataset import split_dataset_n as split_dataset_n
from minichainer.datasets.sub_dataset import split_dataset_n_random as split_dataset_n_random
from minichainer.datasets.sub_dataset import split_dataset_random as split_dataset_random
from minichainer.datasets.svhn import get_svhn as get_svhn
from minichainer.datasets.text_dataset import TextDataset as TextDataset
from minichainer.datasets.transform_dataset import TransformDataset as TransformDataset
from minichainer.datasets.tuple_dataset import TupleDataset as TupleDataset

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
