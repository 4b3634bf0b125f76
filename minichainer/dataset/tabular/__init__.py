"""Datasets of columns."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.dataset.tabular import delegate_dataset as delegate_dataset
from minichainer.dataset.tabular import tabular_dataset as tabular_dataset
from minichainer.dataset.tabular.delegate_dataset import DelegateDataset as DelegateDataset
from minichainer.dataset.tabular.from_data import from_data as from_data

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
