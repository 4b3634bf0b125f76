"""Optimizers: gradient methods that update the parameters of a link."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.optimizers.ada_delta import AdaDelta as AdaDelta
from minichainer.optimizers.ada_grad import AdaGrad as AdaGrad
from minichainer.optimizers.adam import AdaBound as AdaBound
from minichainer.optimizers.adam import Adam as Adam
from minichainer.optimizers.adam import AdamW as AdamW
from minichainer.optimizers.adam import AMSBound as AMSBound
from minichainer.optimizers.adam import AMSGrad as AMSGrad
from minichainer.optimizers.corrected_momentum_sgd import CorrectedMomentumSGD as CorrectedMomentumSGD
from minichainer.optimizers.lamb import LAMB as LAMB
from minichainer.optimizers.lion import Lion as Lion
from minichainer.optimizers.momentum_sgd import MomentumSGD as MomentumSGD
from minichainer.optimizers.msvag import MSVAG as MSVAG
from minichainer.optimizers.nesterov_ag import NesterovAG as NesterovAG
from minichainer.optimizers.radam import RAdam as RAdam
from minichainer.optimizers.rmsprop import RMSprop as RMSprop
from minichainer.optimizers.rmsprop_graves import RMSpropGraves as RMSpropGraves
from minichainer.optimizers.sgd import SGD as SGD
from minichainer.optimizers.smorms3 import SMORMS3 as SMORMS3

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
