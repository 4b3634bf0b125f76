"""Replays the figures recorded from Chainer 7.8.1 against a package with its API.

A family is a pair of files: `<family>.json` lists the cases, `<family>.npz` holds their arrays under
`<case id>:<role>`. A case is a Python expression with given inputs, and what Chainer made of it: the
results, their gradients, second-order gradients, a link's state afterwards, or the exception it raised.
README.md in this folder explains the fields.

    python -m tests.reference.replay [-k PART_OF_ID] [--package chainer] [FAMILY ...]

prints every deviation; pytest runs the same through test_recorded.py.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.util
import json
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).resolve().parent
FAMILIES = ('functions', 'errors', 'links', 'distributions', 'optimizers', 'initializers', 'misc', 'snapshots')
# Relative and absolute tolerance by the coarsest float type among the arrays of a case.
TOLERANCES = {'float16': (1e-2, 4e-3), 'float32': (1e-4, 1e-5), 'float64': (1e-7, 1e-9)}

# Modules that recorded code reaches as attributes of the package or imports from `chainer`.
REACHED = """
    backends.cuda computational_graph dataset.convert datasets distributions function_hooks
    function_node functions gradient_check initializer initializers iterators link link_hooks links
    optimizer_hooks optimizers reporter serializers testing training.extensions training.triggers
    training.updaters utils.conv utils.type_check variable
""".split()


@dataclass(frozen=True)
class Case:
    """One recorded case: its entry in the index, and access to its arrays."""

    family: str
    spec: dict[str, Any] = field(repr=False)
    prelude: str = field(repr=False)

    @property
    def id(self) -> str:
        return str(self.spec['id'])

    @property
    def target(self) -> str:
        return str(self.spec['target'])

    @property
    def tags(self) -> list[str]:
        return list(self.spec.get('tags', []))

    @property
    def inputs(self) -> str:
        """One letter per input: v differentiated Variable, c constant Variable, a array."""
        return str(self.spec.get('inputs', ''))

    @property
    def differentiated(self) -> list[int]:
        return [i for i, kind in enumerate(self.inputs) if kind == 'v']

    def array(self, role: str) -> np.ndarray:
        """A fresh copy of the array recorded under this role."""
        return np.array(_arrays(self.family)[f'{self.id}:{role}'])

    def tolerance(self) -> tuple[float, float]:
        if 'tol' in self.spec:
            rtol, atol = self.spec['tol']
            return rtol, atol
        kinds = {str(self.array(role).dtype) for role in self.spec.get('roles', [])}
        return max((TOLERANCES[k] for k in kinds if k in TOLERANCES), default=TOLERANCES['float64'])

    def __str__(self) -> str:
        return f'{self.family}:{self.id}'


@functools.cache
def _arrays(family: str) -> dict[str, np.ndarray]:
    # All at once: opening a member of the archive costs more than most cases do.
    with np.load(DATA / f'{family}.npz') as archive:
        return {role: archive[role] for role in archive.files}


@functools.cache
def load(family: str) -> list[Case]:
    """All cases of a family, in recorded order."""
    index = json.loads((DATA / f'{family}.json').read_text(encoding='utf-8'))
    preludes = index.get('preludes', {})
    return [Case(family, spec, preludes.get(spec.get('prelude'), '')) for spec in index['cases']]


# --- the package under test ---


def _import_if_there(name: str) -> None:
    """Imports a module unless it does not exist; an error inside an existing one is not hidden."""
    parent = name.rpartition('.')[0]
    if '.' in parent:
        _import_if_there(parent)
    if parent in sys.modules and importlib.util.find_spec(name) is not None:
        importlib.import_module(name)


@contextlib.contextmanager
def names_of(package: str) -> Iterator[dict[str, Any]]:
    """Yields the names that recorded expressions use; `import chainer` finds the package meanwhile."""
    root = importlib.import_module(package)
    before = {name for name in sys.modules if name == 'chainer' or name.startswith('chainer.')}
    for name in REACHED:
        _import_if_there(f'{package}.{name}')
    if package != 'chainer':
        for name, module in list(sys.modules.items()):
            if name == package or name.startswith(package + '.'):
                sys.modules['chainer' + name[len(package) :]] = module
    short = {
        'F': 'functions',
        'L': 'links',
        'O': 'optimizers',
        'I': 'initializers',
        'D': 'distributions',
    }
    sys.path.insert(0, str(DATA / 'snapshots'))
    try:
        with contextlib.chdir(DATA) if hasattr(contextlib, 'chdir') else _chdir(DATA):
            yield {'np': np, 'chainer': root} | {k: getattr(root, v, None) for k, v in short.items()}
    finally:
        sys.path.remove(str(DATA / 'snapshots'))
        for name in [n for n in sys.modules if n == 'chainer' or n.startswith('chainer.')]:
            if name not in before:
                del sys.modules[name]


@contextlib.contextmanager
def _chdir(folder: Path) -> Iterator[None]:  # contextlib.chdir came with Python 3.11.
    import os

    old = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(old)


# --- evaluation ---


@dataclass
class Outcome:
    """What the package made of a case: arrays by role, and what is compared as plain values."""

    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    structure: Any = None
    params: Any = None
    serialized: Any = None
    raised: BaseException | None = None


@dataclass
class _Forward:
    names: dict[str, Any]
    structure: Any
    leaves: list[Any]
    params: Any


def evaluate(case: Case, names: dict[str, Any]) -> Outcome:
    """Evaluates a case: results, gradients, state afterwards and second order, or the exception."""
    with warnings.catch_warnings(), np.errstate(all='ignore'), _configured(case, names['chainer']):
        warnings.simplefilter('ignore')
        if 'raises' in case.spec:
            return Outcome(raised=_exception_of(case, names))
        outcome = Outcome()
        forward = _forward(case, names)
        outcome.structure, outcome.params = forward.structure, forward.params
        for i, leaf in enumerate(forward.leaves):
            outcome.arrays[f'y{i}'] = _raw(leaf).copy()
        _first_order(case, forward, outcome)
        _state_after(case, forward, outcome)
        if case.spec.get('ggx'):
            _second_order(case, names, outcome)
        return outcome


@contextlib.contextmanager
def _configured(case: Case, chainer: Any) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for key, value in case.spec.get('config', {}).items():
            stack.enter_context(chainer.using_config(key, chainer.mixed16 if value == 'mixed16' else value))
        yield


def _exception_of(case: Case, names: dict[str, Any]) -> BaseException | None:
    try:
        _forward(case, names)
    except Exception as error:
        return error
    return None


def _forward(case: Case, base: dict[str, Any]) -> _Forward:
    names, spec = dict(base), case.spec
    variable = base['chainer'].Variable
    for i, kind in enumerate(case.inputs):
        array = case.array(f'x{i}')
        names[f'x{i}'] = array if kind == 'a' else variable(array, requires_grad=kind == 'v')
    for code in (case.prelude, spec.get('setup', '')):
        exec(code, names)
    params = _prepare_link(case, names) if 'link' in spec else None
    if 'seed' in spec:
        np.random.seed(spec['seed'])
    leaves: list[Any] = []
    structure = _describe(eval(spec['call'], names), leaves, variable)
    return _Forward(names, structure, leaves, params)


def _describe(value: Any, leaves: list[Any], variable: type) -> Any:
    """The shape of a result as JSON; its arrays and Variables go to `leaves`, in order."""
    if isinstance(value, (variable, np.ndarray, np.generic)):
        leaves.append(value)
        return ['V' if isinstance(value, variable) else 'A', len(leaves) - 1]
    if isinstance(value, (list, tuple)):
        kind = 'list' if type(value) is list else 'tuple'
        return [kind, [_describe(v, leaves, variable) for v in value]]
    if isinstance(value, dict):
        return ['dict', {str(k): _describe(value[k], leaves, variable) for k in sorted(value)}]
    if isinstance(value, np.dtype):
        return ['S', str(value)]
    if isinstance(value, float) and not np.isfinite(value):
        return ['S', repr(value)]
    if value is None or isinstance(value, (bool, int, float, str)):
        return ['S', value]
    raise TypeError(f'a recorded call returned a {type(value).__name__}, which no recorded result is')


def _raw(value: Any) -> np.ndarray:
    return np.asarray(getattr(value, 'array', value))


def _prepare_link(case: Case, names: dict[str, Any]) -> Any:
    """Puts the recorded state into the link; returns names and shapes of its parameters before that."""
    link, spec = names['link'], case.spec['link']
    shapes = [[n, None if p.array is None else list(p.shape)] for n, p in sorted(link.namedparams())]
    if spec.get('lazy'):
        with names['chainer'].no_backprop_mode():
            eval(case.spec['call'], names)
    if spec.get('reset'):
        for child in link.links():
            if hasattr(child, 'reset_state'):
                child.reset_state()
    for name, param in link.namedparams():
        param.array[...] = case.array(f'p:{name}')
    for path in spec['persistents']:
        _set_persistent(link, path, case.array(f's:{path}'))
    link.cleargrads()
    return shapes


def _owner(link: Any, path: str) -> tuple[Any, str]:
    prefix, name = path.rsplit('/', 1)
    return dict(link.namedlinks())[prefix or '/'], name


def _set_persistent(link: Any, path: str, value: np.ndarray) -> None:
    owner, name = _owner(link, path)
    old = getattr(owner, name)
    if not isinstance(old, np.ndarray):
        setattr(owner, name, value.item())
    elif old.ndim:
        old[...] = value
    else:
        setattr(owner, name, value)


def _first_order(case: Case, forward: _Forward, outcome: Outcome) -> None:
    outputs = case.spec.get('gy', [])
    if not outputs:
        return
    for k in outputs:
        forward.leaves[k].grad = case.array(f'gy{k}')
    if len(outputs) == 1:
        forward.leaves[outputs[0]].backward()
    else:
        forward.names['chainer'].backward([forward.leaves[k] for k in outputs])
    for i in case.differentiated:
        gradient = forward.names[f'x{i}'].grad
        if gradient is not None:
            outcome.arrays[f'gx{i}'] = _raw(gradient)
    if 'link' in case.spec:
        for name, param in forward.names['link'].namedparams():
            if param.grad is not None:
                outcome.arrays[f'gp:{name}'] = _raw(param.grad)


def _state_after(case: Case, forward: _Forward, outcome: Outcome) -> None:
    for i, expression in enumerate(case.spec.get('after', [])):
        outcome.arrays[f'after{i}'] = _raw(eval(expression, forward.names)).copy()
    if 'link' not in case.spec:
        return
    link = forward.names['link']
    for path in case.spec['link']['persistents']:
        owner, name = _owner(link, path)
        outcome.arrays[f't:{path}'] = _raw(getattr(owner, name))
    serializer = forward.names['chainer'].serializers.DictionarySerializer()
    serializer.save(link)
    outcome.serialized = sorted(_entry(key, np.asarray(v)) for key, v in serializer.target.items())


def _entry(key: str, value: np.ndarray) -> list[Any]:
    if value.dtype.kind == 'O':  # A parameter that was never initialised is stored as None.
        return [key, None, None]
    return [key, list(value.shape), str(value.dtype)]


def _second_order(case: Case, names: dict[str, Any], outcome: Outcome) -> None:
    """Gradients of sum_i <gx_i, ggx_i> with respect to the inputs and the upstream gradients."""
    forward, chainer = _forward(case, names), names['chainer']
    xs = [forward.names[f'x{i}'] for i in case.differentiated]
    outputs = case.spec['gy']
    upstream = [chainer.Variable(case.array(f'gy{k}')) for k in outputs]
    first = chainer.grad([forward.leaves[k] for k in outputs], xs, upstream, enable_double_backprop=True)
    by_input = dict(zip(case.differentiated, first, strict=True))
    products = [names['F'].sum(by_input[i] * chainer.Variable(case.array(f'ggx{i}'))) for i in case.spec['ggx']]
    ones = [chainer.Variable(np.ones_like(p.array)) for p in products]
    second = chainer.grad(products, xs + upstream, ones)
    roles = [f'g2x{i}' for i in case.differentiated] + [f'g2gy{k}' for k in outputs]
    for role, gradient in zip(roles, second, strict=True):
        if gradient is not None:
            outcome.arrays[role] = _raw(gradient)


# --- comparison ---


def complaints(case: Case, names: dict[str, Any]) -> list[str]:
    """Evaluates a case and returns what differs from the record; an empty list is a pass."""
    try:
        outcome = evaluate(case, names)
    except Exception as error:
        return [f'{type(error).__name__}: {str(error).strip()[:500]}']
    if 'raises' in case.spec:
        return _judge_exception(case, outcome.raised)
    return [*_judge_values(case, outcome), *_judge_arrays(case, outcome), *_judge_extra(case, outcome)]


def _judge_exception(case: Case, raised: BaseException | None) -> list[str]:
    accepted = set(case.spec.get('accept', [case.spec['raises']]))
    if raised is not None and accepted & {c.__name__ for c in type(raised).__mro__}:
        return []
    got = 'nothing was raised' if raised is None else f'{type(raised).__name__}: {raised}'
    return [f'expected {" or ".join(sorted(accepted))}, {got}']


def _judge_values(case: Case, outcome: Outcome) -> Iterator[str]:
    if 'out' in case.spec and not _alike(case.spec['out'], outcome.structure, case.tolerance()):
        yield f'result {json.dumps(outcome.structure)[:400]}, recorded {json.dumps(case.spec["out"])[:400]}'
    link = case.spec.get('link')
    if link is not None:
        for what, got in (('params', outcome.params), ('serialized', outcome.serialized)):
            if got != link[what]:
                yield f'{what} {got}, recorded {link[what]}'


def _alike(want: Any, got: Any, tolerance: tuple[float, float]) -> bool:
    (want_kind, want_value), (got_kind, got_value) = want, got
    sequences = ('list', 'tuple')
    if want_kind in sequences and got_kind in sequences:
        return len(want_value) == len(got_value) and all(
            _alike(w, g, tolerance) for w, g in zip(want_value, got_value, strict=True)
        )
    if want_kind != got_kind:
        return False
    if want_kind == 'dict':
        return want_value.keys() == got_value.keys() and all(
            _alike(want_value[k], got_value[k], tolerance) for k in want_value
        )
    if isinstance(want_value, float) and isinstance(got_value, (int, float)):
        return excess(np.float64(got_value), np.float64(want_value), tolerance) <= 1
    return bool(want_value == got_value)


def _wrong_in_chainer(case: Case) -> tuple[str, ...]:
    """Prefixes of roles whose recorded gradient disagrees with numerical differentiation."""
    numeric = case.spec.get('numeric', {})
    first = ('gx', 'gp:') if numeric.get('g1') is False else ()
    return first + (('g2',) if numeric.get('g2') is False else ())


def _judge_arrays(case: Case, outcome: Outcome) -> Iterator[str]:
    for role in case.spec.get('results', []):
        if role.startswith(_wrong_in_chainer(case)):
            continue
        want, got = case.array(role), outcome.arrays.get(role)
        if got is None:
            if np.any(want):  # None says the same as a gradient of zeros.
                yield f'{role}: None, recorded {want.dtype}{want.shape}'
        elif (got.shape, got.dtype) != (want.shape, want.dtype):
            yield f'{role}: {got.dtype}{got.shape}, recorded {want.dtype}{want.shape}'
        elif 'shape_only' not in case.tags:
            units = excess(got, want, case.tolerance())
            if units > 1:
                yield f'{role}: off by {units:.3g} times the tolerance {case.tolerance()}'


def _judge_extra(case: Case, outcome: Outcome) -> Iterator[str]:
    expected = set(case.spec.get('results', []))
    for role in sorted(set(outcome.arrays) - expected):
        if not role.startswith(_wrong_in_chainer(case)) and np.any(outcome.arrays[role]):
            yield f'{role}: an array, recorded None'


def excess(got: Any, want: Any, tolerance: tuple[float, float]) -> float:
    """The largest deviation in units of the permitted one; at most 1 is a pass.

    Permitted is rtol |want| + atol max(1, max |want|), element by element. NaN agrees with NaN; integers,
    bools and text must be equal.
    """
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype.kind not in 'fc' or want.dtype.kind not in 'fc':
        return 0.0 if np.array_equal(got, want) else float('inf')
    wide = np.complex128 if 'c' in got.dtype.kind + want.dtype.kind else np.float64
    got, want = got.astype(wide), want.astype(wide)
    differs = ~((got == want) | (np.isnan(got) & np.isnan(want)))
    if not differs.any():
        return 0.0
    if not (np.isfinite(got[differs]).all() and np.isfinite(want[differs]).all()):
        return float('inf')
    rtol, atol = tolerance
    scale = max(1.0, float(np.abs(want[np.isfinite(want)]).max()))
    permitted = rtol * np.abs(want[differs]) + atol * scale
    return float((np.abs(got[differs] - want[differs]) / permitted).max())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description='Replay the figures recorded from Chainer 7.8.1.')
    parser.add_argument('families', nargs='*', default=FAMILIES, metavar='FAMILY')
    parser.add_argument('-k', default='', metavar='PART_OF_ID', help='only cases whose id contains this')
    parser.add_argument('--package', default='minichainer')
    args = parser.parse_args(argv)
    failed = 0
    with names_of(args.package) as names:
        for family in args.families:
            cases = [case for case in load(family) if args.k in case.id]
            found = [(case, bad) for case in cases if (bad := complaints(case, names))]
            for case, bad in found:
                print(f'{case}  {case.spec["call"][:100]}', *bad, sep='\n    ')
            print(f'{family}: {len(cases) - len(found)} of {len(cases)} cases agree')
            failed += len(found)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
