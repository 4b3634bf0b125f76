"""Initial values of parameters."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.initializers._generate import _get_initializer, generate_array
from minichainer.initializers.constant import Constant, Identity, NaN, One, Zero
from minichainer.initializers.normal import GlorotNormal, HeNormal, LeCunNormal, Normal
from minichainer.initializers.orthogonal import Orthogonal
from minichainer.initializers.sampling import DownsamplingConvFilter, UpsamplingDeconvFilter
from minichainer.initializers.uniform import GlorotUniform, HeUniform, LeCunUniform, Uniform

__all__ = [
    'Constant',
    'DownsamplingConvFilter',
    'GlorotNormal',
    'GlorotUniform',
    'HeNormal',
    'HeUniform',
    'Identity',
    'LeCunNormal',
    'LeCunUniform',
    'NaN',
    'Normal',
    'One',
    'Orthogonal',
    'Uniform',
    'UpsamplingDeconvFilter',
    'Zero',
    '_get_initializer',
    'generate_array',
]

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__)
