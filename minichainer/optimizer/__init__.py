"""Shared code of all optimizers: target, update rules, hyperparameters, hooks, loss scaling, snapshots.

An :class:`Optimizer` has a target link. A :class:`GradientMethod` gives each parameter of the link an
:class:`UpdateRule`, and applies the rules on every update. The algorithms are in ``optimizers``.
"""

import typing

from minichainer._names import namespace as _namespace
from minichainer.optimizer.base import Optimizer as Optimizer
from minichainer.optimizer.declarations import hyperparameter as hyperparameter
from minichainer.optimizer.declarations import state as state
from minichainer.optimizer.deprecated import GradientClipping as GradientClipping
from minichainer.optimizer.deprecated import GradientHardClipping as GradientHardClipping
from minichainer.optimizer.deprecated import GradientNoise as GradientNoise
from minichainer.optimizer.deprecated import Lasso as Lasso
from minichainer.optimizer.deprecated import WeightDecay as WeightDecay
from minichainer.optimizer.deprecated import make_deprecation_message as make_deprecation_message
from minichainer.optimizer.formula import FormulaRule as FormulaRule
from minichainer.optimizer.gradient_method import GradientMethod as GradientMethod
from minichainer.optimizer.hyperparameters import Hyperparameter as Hyperparameter
from minichainer.optimizer.hyperparameters import HyperparameterProxy as HyperparameterProxy
from minichainer.optimizer.rule import UpdateRule as UpdateRule

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
