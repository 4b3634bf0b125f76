"""DelegateDataset, a base for datasets that are made of another one."""

from minichainer.dataset.tabular.tabular_dataset import DelegateDataset as DelegateDataset
