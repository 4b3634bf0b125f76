"""What to write if a call does not fit the parameters of a function or class of the package.

Python itself refuses such a call, before any code of the function runs, and its error names neither the parameters
nor what is called otherwise elsewhere. A check in each function would cost time in every call; so the error is
explained where it passes: in calls of links, in updates by a function, in trainers, and by the porting layer's hooks.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

from minichainer._elsewhere import elsewhere
from minichainer._names import argument_advice

_CALL = re.compile(
    r"(?:(?P<owner>\w+)\.)?(?P<name>\w+)\(\) (?:got an unexpected keyword argument '(?P<word>\w+)'|"
    r'takes (?:from \d+ to )?\d+ positional arguments? but (?P<given>\d+) were given)'
)
#: NumPy's function of an array of objects calls their methods; its error has no more than that.
_OF_NUMPY = re.compile(
    r'loop of ufunc does not support argument \d of type (?:Variable|Parameter) which has no callable (\w+) method'
)
#: Where the names of functions and classes are looked up, if they are loaded.
_PLACES = ('functions', 'iterators', 'training', 'training.extensions', 'training.triggers', 'training.updaters')
_MORE = ('', 'optimizers', 'optimizer_hooks', 'initializers', 'datasets', 'serializers', 'distributions', 'links')
#: Parameters that take several values, which other frameworks and NumPy's methods take one by one.
_TUPLES = {'shape': '(2, 3)', 'axes': '(1, 0)', 'reps': '(2, 3)', 'xs': '(x, y)'}


def explain(error: BaseException) -> None:
    """Adds to the text of a TypeError what to write, if it is Python's about a call of something of the package.

    Args:
        error: any error.
    """
    if type(error) is not TypeError:
        return
    if of_numpy := _OF_NUMPY.fullmatch(str(error)):
        error.args = (f'{error}{elsewhere(f"x.{of_numpy[1]}")}',)
        return
    found = _CALL.fullmatch(str(error))
    if found is None or (found['owner'] and found['name'] != '__init__'):
        return
    called = _called(found['owner'] or found['name'], error)
    if called is None:
        return
    try:
        parameters = inspect.signature(called).parameters
    except (TypeError, ValueError):
        return
    names = list(parameters)
    remedy = _renamed(called, found['word'], names) if found['word'] else _as_tuple(called.__name__, names)
    error.args = (f'{error}{remedy}; expected {called.__name__}({_shown(parameters)})',)


def _called(name: str, error: BaseException) -> Any:
    """The function or class of the package that has this name, unless the program that called has another one."""
    modules = [sys.modules.get(f'{__package__}.{place}'.rstrip('.')) for place in (*_PLACES, *_MORE)]
    found = next((getattr(module, name) for module in modules if module is not None and name in dir(module)), None)
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    frame = None if trace is None else trace.tb_frame
    own = None if frame is None else frame.f_locals.get(name, frame.f_globals.get(name, found))
    return found if callable(found) and own is found else None


def _renamed(called: Any, word: str, names: list[str]) -> str:
    if called.__name__ == 'using_config':
        return f': write using_config({word!r}, {word})'
    return argument_advice(word, names)


def _as_tuple(name: str, names: list[str]) -> str:
    """What to write where several values were given one by one."""
    last = next((known for known in names if known in _TUPLES), None)
    if last is None:
        return ''
    before = ''.join(f'{known}, ' for known in names[: names.index(last)])
    return f': give {last} as one tuple, as in F.{name}({before}{_TUPLES[last]})'


def _shown(parameters: Any) -> str:
    plain = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in parameters.values()]
    return str(inspect.Signature(plain))[1:-1]
