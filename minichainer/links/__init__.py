"""Links: functions with parameters, ready to be the layers of a model."""

from __future__ import annotations

from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier

__all__ = ['Classifier', 'Linear']
