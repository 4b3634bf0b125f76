"""Where the time of forward and backward goes: the surface of ``torch.autograd.profiler``.

>>> import minichainer as chainer
>>> from minichainer.autograd.profiler import profile, record_function
>>> with profile() as prof:
...     with record_function('preparation'):
...         total = sum(range(10))
>>> [event.key for event in prof.function_events]
['preparation']
"""

from minichainer.autograd.profiler.event_list import EventList as EventList
from minichainer.autograd.profiler.events import FunctionEvent as FunctionEvent
from minichainer.autograd.profiler.events import FunctionEventAvg as FunctionEventAvg
from minichainer.autograd.profiler.events import Interval as Interval
from minichainer.autograd.profiler.nvprof import load_nvprof as load_nvprof
from minichainer.autograd.profiler.nvtx import emit_nvtx as emit_nvtx
from minichainer.autograd.profiler.profile import profile as profile
from minichainer.autograd.profiler.profile import record_function as record_function

__all__ = [
    'profile', 'record_function', 'emit_nvtx', 'load_nvprof', 'EventList', 'FunctionEvent', 'FunctionEventAvg',
    'Interval',
]  # fmt: skip
