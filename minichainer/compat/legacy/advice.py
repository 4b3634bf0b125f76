"""Which errors come from the style of Chainer v1 or v2, or of a computer with GPUs, and how to accept it."""

from __future__ import annotations

import functools
import re
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from minichainer._unfitting_calls import explain
from minichainer.compat.changes import Changes

_ARGUMENTS = 'train|test|finetune|volatile|wscale|bias|use_cudnn|deterministic|p'
_ATTRIBUTES = (
    'volatile|FunctionSet|zero_grads|clip_grads|compute_grads_norm|weight_decay|accumulate_grads|collect_parameters|'
    'copy_parameters_from|add_uninitialized_param|init|to_gpu_async|flag|ON|OFF|AUTO|caffe'
)
_PATTERNS = [
    ('v1', rf"unexpected (?:keyword )?argument(?:s|\(s\))?[ :\[']*(?:{_ARGUMENTS})\b"),
    ('v1', rf'\b(?:{_ARGUMENTS})\b.* not supported (?:anymore|since)'),
    ('v1', rf"has no attribute '(?:{_ATTRIBUTES})'"),
    ('v1', rf"cannot import name '(?:{_ATTRIBUTES}|Flag)'"),
    ('v1', r"multiple values for argument '(?:nobias|initialW|initial_bias|use_gamma|use_beta)'"),
    ('v1', r"'minichainer.functions' has no attribute '[A-Z]"),
    ('v2', r'invoke_before_training'),
    ('v2', r"snapshot.*unexpected.*'trigger'"),
    ('v2', r"'device' of .* object has no setter|can't set attribute 'device'"),
]
#: Errors about GPUs that are not there.
_WITHOUT_GPU = re.compile(r"\bCUDA is not available|No module named 'cupy\b")


def advice_on(error: BaseException) -> str | None:
    """How to accept the style that an error comes from; None for other errors.

    Args:
        error: any error.

    >>> print(advice_on(TypeError("relu() got an unexpected keyword argument 'use_cudnn'")))
    This is the style of Chainer v1, which later versions refuse. To accept it: python -m minichainer.compat run
    --legacy v1 ..., or minichainer.compat.install(legacy='v1')
    """
    text = str(error)
    if isinstance(error, (RuntimeError, AttributeError, ImportError)) and _WITHOUT_GPU.search(text):
        return 'To run code for GPUs on the CPU: python -m minichainer.compat run --gpu-as-cpu ...'
    if not isinstance(error, (TypeError, ValueError, AttributeError, ImportError)):
        return None
    style = next((style for style, pattern in _PATTERNS if re.search(pattern, text)), None)
    if style is None:
        return None
    return (
        f'This is the style of Chainer {style}, which later versions refuse. To accept it: python -m '
        f"minichainer.compat run --legacy {style} ..., or minichainer.compat.install(legacy='{style}')"
    )


def add_advice(error: BaseException) -> None:
    """Adds to an error how to accept the style that it comes from, once: a note, or before Python 3.11 its message.

    Args:
        error: any error.
    """
    explain(error)
    advice = advice_on(error)
    if advice is None or advice in (*getattr(error, '__notes__', ()), *str(error).splitlines()):
        return
    if sys.version_info >= (3, 11):
        error.add_note(advice)
    elif isinstance(error, ImportError):
        error.msg = f'{error.msg}\n{advice}'
    else:
        error.args = (f'{error}\n{advice}', *error.args[1:])


class Advising(Changes):
    """Lets errors say how to accept their style where they are shown; :meth:`undo` ends that.

    They are shown by hooks of the interpreter and by :mod:`traceback`, which ``logging`` and ``unittest`` use.

    >>> import logging
    >>> with Advising():
    ...     try:
    ...         raise TypeError("relu() got an unexpected keyword argument 'use_cudnn'")
    ...     except TypeError as error:
    ...         text = logging.Formatter().formatException((type(error), error, None))
    >>> text.splitlines()[-1].startswith('This is the style of Chainer v1')
    True
    """

    def __init__(self) -> None:
        super().__init__()
        self.set(sys, 'excepthook', _hook(sys.excepthook))
        self.set(threading, 'excepthook', _hook_of_threads(threading.excepthook))
        self.set(traceback.TracebackException, '__init__', _described(traceback.TracebackException.__init__))


def _hook(excepthook: Callable[[Any, Any, Any], object]) -> Callable[[Any, Any, Any], None]:
    def hook(kind: Any, error: Any, trace: Any) -> None:
        add_advice(error)
        excepthook(kind, error, trace)

    return hook


def _hook_of_threads(excepthook: Callable[[Any], object]) -> Callable[[Any], None]:
    def hook(args: Any) -> None:
        if args.exc_value is not None:
            add_advice(args.exc_value)
        excepthook(args)

    return hook


def _described(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def __init__(self: Any, exc_type: Any, exc_value: Any, *args: Any, **kwargs: Any) -> None:
        if isinstance(exc_value, BaseException):
            add_advice(exc_value)
        original(self, exc_type, exc_value, *args, **kwargs)

    return __init__
