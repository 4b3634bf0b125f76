"""Keyword arguments that are not supported anymore."""

from __future__ import annotations

from typing import Any

from minichainer.utils.argument import parse_kwargs

REMOVED = {
    'train': 'train argument is not supported anymore. Use chainer.using_config',
    'use_cudnn': 'use_cudnn argument is not supported anymore. Use chainer.using_config',
}


def check_kwargs(kwargs: dict[str, Any]) -> None:
    """Raises an error for removed or unknown arguments.

    Raises:
        ValueError: an argument of Chainer v1, with what to use instead.
        TypeError: any other.
    """
    parse_kwargs(kwargs, **REMOVED)
