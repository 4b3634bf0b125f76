"""What to write where something else than an array was given: the call is looked at after it has failed."""

from __future__ import annotations

import inspect
import numbers
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from minichainer._frames import PACKAGE

#: Modules that pass values on.
_PASSED_ON = ('variable', '_not_arrays', '_checks')


class Place(NamedTuple):
    """An argument of a function that was called."""

    function: str
    argument: str
    parameters: list[inspect.Parameter]


def not_an_array(value: Any) -> TypeError:
    """The error for a value that no Variable can hold, with what to write instead.

    Args:
        value: neither an array nor None.
    """
    kind = type(value).__name__
    place = None if isinstance(value, (list, tuple)) else _place_of(value)
    remedy = '' if place is None else _instead(value, place) or _of_examples(value, place)
    if remedy and place:
        got = f'{value!r}' if isinstance(value, numbers.Real) else kind
        return TypeError(f'{place.function}: an array expected as {place.argument}, got {got}; {remedy}')
    text = f'Variable: numpy.ndarray or cupy.ndarray expected, {kind} given'
    return TypeError(f'{text}; convert it first, for example by numpy.asarray(x, dtype=numpy.float32)')


def _place_of(value: Any) -> Place | None:
    """The outermost function of the package, called one inside the other, that has got the value."""
    found = None
    for frame in _own_frames():
        place = _of_op(frame, value) or _of_function(frame, value)
        found = place or found
    return found


def _own_frames() -> Iterator[Any]:
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        if frame.f_globals.get('__name__', '').rpartition('.')[2] not in _PASSED_ON:
            yield frame
        frame = frame.f_back


def _of_op(frame: Any, value: Any) -> Place | None:
    """The argument of an op that is called by its specification."""
    spec, given = frame.f_locals.get('spec'), frame.f_locals
    if frame.f_code.co_name != 'call' or not hasattr(spec, 'parameters'):
        return None
    places = [i for i, name in enumerate(('x', 'other')) if given.get(name) is value]
    if not places:
        places = [i for i, x in enumerate(given.get('args', ())) if x is value]
    if not places or places[0] >= len(spec.parameters):
        return None
    return Place(spec.body.__name__, spec.parameters[places[0]].name, list(spec.parameters))


def _of_function(frame: Any, value: Any) -> Place | None:
    """The argument of a public function of the package, or of a link's forward."""
    code: Any = frame.f_code
    given = frame.f_locals
    names = [name for name in code.co_varnames[: code.co_argcount] if name != 'self' and given.get(name) is value]
    function: Any = frame.f_globals.get(code.co_name)
    if code.co_name == 'forward' and 'self' in given:
        function = getattr(type(given['self']), 'forward', None)
    if not names or code.co_name[0] == '_' or getattr(function, '__code__', None) != code:
        return None
    name = type(given['self']).__name__ if 'self' in given else str(code.co_name)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != 'self']
    return Place(name, names[0], parameters)


def _instead(value: Any, place: Place) -> str:
    """The keyword argument that a flag or a number was meant for."""
    if not isinstance(value, numbers.Real):
        return ''
    names = [parameter.name for parameter in place.parameters]
    after = place.parameters[names.index(place.argument) + 1 :]
    is_flag = isinstance(value, bool)
    kinds = bool if is_flag else (int, float) if isinstance(value, float) else int
    for parameter in after:
        if isinstance(parameter.default, kinds) and isinstance(parameter.default, bool) is is_flag:
            if place.argument == names[0]:
                return f'for a layer write lambda {names[0]}: F.{place.function}({names[0]}, {value!r})'
            return f'for that write {parameter.name}={value!r}'
    return ''


def _of_examples(value: Any, place: Place) -> str:
    """How to make an array of a dataset."""
    has_examples = hasattr(value, '__len__') and hasattr(value, '__getitem__') and len(value) > 0
    if not has_examples or hasattr(value, 'dtype') or isinstance(value, (str, bytes, dict, list, tuple)):
        return ''
    first = '[0]' if isinstance(value[0], tuple) else ''
    return f'for the examples of a dataset write chainer.dataset.concat_examples({place.argument}){first}'
