"""Which errors come from the style of Chainer v1 or v2, and how to accept it."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import TracebackType

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


def advice_on(error: BaseException) -> str | None:
    """How to accept the style that an error comes from; None for other errors.

    Args:
        error: any error.

    >>> print(advice_on(TypeError("relu() got an unexpected keyword argument 'use_cudnn'")))
    This is the style of Chainer v1, which later versions refuse. To accept it: python -m minichainer.compat run
    --legacy v1 ..., or minichainer.compat.install(legacy='v1')
    """
    if not isinstance(error, (TypeError, ValueError, AttributeError, ImportError)):
        return None
    text = str(error)
    style = next((style for style, pattern in _PATTERNS if re.search(pattern, text)), None)
    if style is None:
        return None
    return (
        f'This is the style of Chainer {style}, which later versions refuse. To accept it: python -m '
        f"minichainer.compat run --legacy {style} ..., or minichainer.compat.install(legacy='{style}')"
    )


def advising(
    excepthook: Callable[[type[BaseException], BaseException, TracebackType | None], object],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], None]:
    """An ``excepthook`` that also says how to accept the style of an old version, where an error comes from one.

    Args:
        excepthook: the hook that prints tracebacks.
    """

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        excepthook(kind, error, trace)
        advice = advice_on(error)
        if advice:
            print(advice, file=sys.stderr)

    return hook
