"""torch's ``autograd`` package on this package's tape: the same names, arguments and errors.

``docs/autograd.md`` has a table of all names, and says where behaviour differs and why.
"""

import typing

from minichainer._names import namespace as _namespace
from minichainer.autograd import graph as graph
from minichainer.autograd._engine import backward as backward
from minichainer.autograd._engine import grad as grad
from minichainer.autograd._variable import Variable as Variable
from minichainer.autograd.anomaly_mode import detect_anomaly as detect_anomaly
from minichainer.autograd.anomaly_mode import is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled
from minichainer.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
from minichainer.autograd.anomaly_mode import set_detect_anomaly as set_detect_anomaly
from minichainer.autograd.function import Function as Function
from minichainer.autograd.grad_mode import enable_grad as enable_grad
from minichainer.autograd.grad_mode import inference_mode as inference_mode
from minichainer.autograd.grad_mode import is_grad_enabled as is_grad_enabled
from minichainer.autograd.grad_mode import no_grad as no_grad
from minichainer.autograd.grad_mode import set_grad_enabled as set_grad_enabled
from minichainer.autograd.graph import checkpoint as checkpoint

if typing.TYPE_CHECKING:
    from minichainer.autograd import forward_ad as forward_ad
    from minichainer.autograd import functional as functional
    from minichainer.autograd import profiler as profiler
    from minichainer.autograd._gradcheck import GradcheckError as GradcheckError
    from minichainer.autograd._gradcheck import gradcheck as gradcheck
    from minichainer.autograd._gradcheck import gradgradcheck as gradgradcheck
else:
    __getattr__, __dir__ = _namespace(
        __name__,
        'anomaly_mode forward_ad function functional grad_mode graph profiler'.split(),
        {'GradcheckError': '_gradcheck', 'gradcheck': '_gradcheck', 'gradgradcheck': '_gradcheck'},
    )
