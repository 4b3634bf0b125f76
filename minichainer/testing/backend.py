"""Running the same tests on several devices and with several settings."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from minichainer import backend
from minichainer.backends._device import Device
from minichainer.configuration import using_config
from minichainer.testing import attr
from minichainer.testing._cases import Variant, multiply, test_names

__all__ = ['BackendConfig', 'inject_backend_tests']

# Name and default of each setting, in display order.
_DEFAULTS: dict[str, Any] = {
    'use_chainerx': False,
    'chainerx_device': None,
    'use_cuda': False,
    'cuda_device': None,
    'use_cudnn': 'never',
    'cudnn_deterministic': False,
    'autotune': False,
    'cudnn_fast_batch_normalization': False,
    'use_ideep': 'never',
}
_CONFIG_KEYS = ('use_cudnn', 'cudnn_deterministic', 'autotune', 'cudnn_fast_batch_normalization')


class BackendConfig:
    """A device and settings for a test, active inside ``with config:``.

    Args:
        params: A dict with any of ``use_cuda`` (bool), ``cuda_device`` (int, 0 with ``use_cuda``), ``use_cudnn``
            (``'never'``, ``'auto'`` or ``'always'``), ``cudnn_deterministic``, ``autotune``,
            ``cudnn_fast_batch_normalization`` (bools). Those of ChainerX and iDeep (``use_chainerx``,
            ``chainerx_device``, ``use_ideep``) are accepted, so that old tests can be read; their tests are
            skipped, and ``device`` and ``with`` raise a RuntimeError.

    Raises:
        ValueError: A setting of another name, or ``use_cuda`` together with ``use_chainerx``.

    Source: documentation of ``chainer.testing.BackendConfig``.

    >>> from minichainer import testing
    >>> config = testing.BackendConfig({'use_cudnn': 'always'})
    >>> config.device
    <CpuDevice (numpy)>
    """

    use_chainerx: bool
    chainerx_device: str | None
    use_cuda: bool
    cuda_device: int | None
    use_cudnn: str
    cudnn_deterministic: bool
    autotune: bool
    cudnn_fast_batch_normalization: bool
    use_ideep: str

    def __init__(self, params: dict[str, Any]) -> None:
        if not isinstance(params, dict):
            raise TypeError(f'BackendConfig: expected a dict of settings, got {params!r}')
        unknown = sorted(set(params) - set(_DEFAULTS))
        if unknown:
            raise ValueError(f'BackendConfig: unknown setting {unknown[0]!r}; there are {", ".join(_DEFAULTS)}')
        vars(self).update(_DEFAULTS, **params)
        if self.use_chainerx and self.use_cuda:
            raise ValueError('BackendConfig: use_cuda and use_chainerx are mutually exclusive')
        if self.use_cuda and self.cuda_device is None:
            self.cuda_device = 0
        self._contexts: list[contextlib.ExitStack] = []

    def _refuse_missing(self) -> None:
        for what, wanted in (('ChainerX', self.use_chainerx), ('iDeep', self.use_ideep != 'never')):
            if wanted:
                raise RuntimeError(f'{self!r}: {what} is not supported by minichainer; such tests are skipped')

    @property
    def device(self) -> Device:
        """The device of the arrays."""
        self._refuse_missing()
        return backend.get_device(('cupy', self.cuda_device) if self.use_cuda else '@numpy')

    @property
    def xp(self) -> Any:
        """The array module of the device."""
        return self.device.xp

    def __enter__(self) -> BackendConfig:
        with contextlib.ExitStack() as stack:
            stack.enter_context(backend.using_device(self.device))
            for key in _CONFIG_KEYS:
                stack.enter_context(using_config(key, getattr(self, key)))
            self._contexts.append(stack.pop_all())
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        self._contexts.pop().close()

    def __repr__(self) -> str:
        settings = ' '.join(f'{key}={getattr(self, key)!r}' for key in _DEFAULTS)
        return f'<BackendConfig {settings}>'

    def get_func_str(self) -> str:
        """The settings as a suffix for the name of a test."""
        return '__'.join(f'{key}_{_word(getattr(self, key))}' for key in _DEFAULTS)

    def get_pytest_marks(self) -> list[Any]:
        """Decorators that mark a test with the requirements of these settings, and skip it if they are not met."""
        marks: list[Any] = []
        if self.use_chainerx:
            marks.append(attr.chainerx)
        if self.use_cuda:
            marks.append(attr.multi_gpu((self.cuda_device or 0) + 1))
            if self.use_cudnn == 'always':
                marks.append(functools.partial(attr._marked, 'cudnn'))
        if self.use_ideep != 'never':
            marks.append(attr.ideep)
        return marks

    def get_array(self, np_array: Any) -> Any:
        """An array, or a list or tuple of arrays, on the device of these settings.

        Args:
            np_array: a NumPy array, a list or a tuple of them, or None.
        """
        return self.device.send(np_array)


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def inject_backend_tests(
    method_names: Sequence[str] | None, params: Sequence[dict[str, Any]]
) -> Callable[[type], type]:
    """Class decorator: runs the named tests with each of several :class:`BackendConfig`.

    Other tests run once, unchanged. GPU tests are skipped if there is no GPU, tests of ChainerX and iDeep always.

    Args:
        method_names: Names of tests, which take the config as argument after ``self``; None for all of them.
        params: Dicts of settings, as :class:`BackendConfig` takes.

    Raises:
        TypeError: ``params`` is not a list of dicts.
        ValueError: The class has no test of a name in ``method_names``.

    Source: documentation of ``chainer.testing.inject_backend_tests``.

    >>> import unittest
    >>> from minichainer import testing
    >>> @testing.inject_backend_tests(['test_sum'], [{}, {'use_cuda': True}])
    ... class TestSum(unittest.TestCase):
    ...     def test_sum(self, backend_config):
    ...         assert backend_config.xp.ones(3).sum() == 3
    """
    if not isinstance(params, (list, tuple)) or not all(isinstance(p, dict) for p in params):
        raise TypeError(f'inject_backend_tests: params must be a list of dicts, got {params!r}')
    configs = [BackendConfig(p) for p in params]

    def variants(cls: type) -> Iterator[Variant]:
        names = test_names(cls) if method_names is None else list(method_names)
        missing = set(names) - set(test_names(cls))
        if missing:
            raise ValueError(f'inject_backend_tests: {cls.__name__} has no test {", ".join(sorted(missing))}')
        for i, config in enumerate(configs):
            yield Variant(f'_{config.get_func_str()}', wrap=functools.partial(_wrapped, config, names, i == 0))

    return lambda cls: multiply(cls, variants)


def _wrapped(config: BackendConfig, names: list[str], is_first: bool, name: str, test: Any) -> Any:
    """A test for one config; None for an unnamed test with any but the first config."""
    if name not in names:
        return test if is_first else None
    test = _with_config(config, test)
    for mark in config.get_pytest_marks():
        test = mark(test)
    return test


def _with_config(config: BackendConfig, test: Any) -> Any:
    """The test with a config as its first argument."""

    @functools.wraps(test)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        # A fresh one, so that a test that changes its config does not affect others.
        fresh = BackendConfig({key: getattr(config, key) for key in _DEFAULTS})
        return test(self, fresh, *args, **kwargs)

    parameters = list(inspect.signature(test).parameters.values())
    if len(parameters) > 1:  # pytest treats the others as fixtures.
        wrapper.__signature__ = inspect.Signature([parameters[0], *parameters[2:]])  # type: ignore[attr-defined]
    return wrapper
