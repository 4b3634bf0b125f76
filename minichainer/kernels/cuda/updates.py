"""One kernel for the update of many parameters, from the formula of their rule.

The arrays of all parameters are arguments of one launch: nothing is copied, and nothing is waited for. Element ``i``
of the launch belongs to the first parameter whose size is not used up.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from minichainer.backends import cuda
from minichainer.kernels.cuda.tracing import statements

__all__ = [
    'Update', 'arguments', 'computing', 'element', 'limit', 'parameters', 'pointers', 'pointing',
    'source_of', 'steps_of', 'update',
]  # fmt: skip

#: Bytes of arguments that every CUDA device accepts, of one array with one axis, and of the loop's indexer.
_ARGUMENT_BYTES = 4096
_ARRAY_BYTES = 32
_INDEXER_BYTES = 64


class Update(NamedTuple):
    """What determines the kernel, besides the number of parameters.

    Args:
        formula: ``formula(xp, coefficients, temporaries, param, grad, *states)``, as of a FormulaRule.
        name: name of the kernel.
        given: for each coefficient whether it is a number; the others are None.
        temporaries: number of scratch variables.
        states: number of states.
        dtype: name of the dtype of parameters and states; float16 is computed in float32.
        scaled: whether gradients are divided by a loss scale, the last coefficient, and written back.
        half_copy: whether the parameters are float32 copies of float16 parameters, whose gradients are float16.
    """

    formula: Callable[..., Any]
    name: str
    given: tuple[bool, ...]
    temporaries: int
    states: int
    dtype: str
    scaled: bool = False
    half_copy: bool = False

    @property
    def arrays(self) -> int:
        """Arrays per parameter: gradient, parameter, states and float16 parameter."""
        return 2 + self.states + self.half_copy


class Source(NamedTuple):
    """The arguments of CuPy's ElementwiseKernel."""

    inputs: str
    outputs: str
    body: str
    name: str


def limit(how: Update, others: int = 0) -> int:
    """How many parameters one launch can take, besides other arrays."""
    coefficients = 8 * (sum(how.given) + how.scaled)
    return (_ARGUMENT_BYTES - _INDEXER_BYTES - coefficients - _ARRAY_BYTES * others) // (_ARRAY_BYTES * how.arrays)


@functools.lru_cache(maxsize=256)
def source_of(how: Update, count: int) -> Source | None:
    """The kernel for ``count`` parameters; None if the formula has no form in C++."""
    steps = steps_of(how)
    if steps is None:
        return None
    return Source(*parameters(how, count), _body(how, count, steps), f'{how.name}_{count}')


def parameters(how: Update, count: int) -> tuple[str, str]:
    """The inputs and outputs of a kernel for ``count`` parameters."""
    grad_type = 'float16' if how.half_copy else how.dtype
    gradients = [f'raw {grad_type} g{k}' for k in range(count)]
    outputs = [f'raw {how.dtype} {name}{k}' for k in range(count) for name in _names(how)]
    if how.half_copy:
        outputs += [f'raw float16 w{k}' for k in range(count)]
    inputs = [f'{computing(how)} c{k}' for k, is_given in enumerate(how.given) if is_given]
    inputs += [f'{computing(how)} loss_scale'] if how.scaled else []
    if how.scaled and not how.half_copy:
        return ', '.join(inputs), ', '.join([*gradients, *outputs])
    return ', '.join([*gradients, *inputs]), ', '.join(outputs)


def arguments(how: Update, coefficients: Sequence[float], params: Sequence[Sequence[Any]]) -> list[Any]:
    """The arguments of a kernel with these :func:`parameters`, as :func:`update` takes them."""
    flat = [[array.reshape(-1) for array in arrays] for arrays in params]
    gradients, end = [arrays[0] for arrays in flat], 2 + how.states
    others = [array for arrays in flat for array in arrays[1:end]] + [arrays[end] for arrays in flat if how.half_copy]
    if how.scaled and not how.half_copy:
        return [*coefficients, *gradients, *others]
    return [*gradients, *coefficients, *others]


def computing(how: Update) -> str:
    """Name of the dtype of the computation."""
    return 'float32' if how.dtype == 'float16' else how.dtype


def update(how: Update, coefficients: Sequence[float], params: Sequence[Sequence[Any]]) -> None:
    """Updates parameters of one device, the current one.

    Args:
        how: the update, whose formula must have a source.
        coefficients: the numbers, the loss scale last.
        params: for each parameter gradient, array, states and float16 parameter; contiguous, at most :func:`limit`.
    """
    source = source_of(how, len(params))
    assert source is not None
    size = sum(arrays[0].size for arrays in params)
    cuda.elementwise(*source)(*arguments(how, coefficients, params), size=size)


def _names(how: Update) -> list[str]:
    """The arrays of a parameter that are written: itself and its states."""
    return ['p', *[f's{k}_' for k in range(how.states)]]


def steps_of(how: Update) -> list[str] | None:
    """The statements of the formula, if it has a form in C++."""
    coefficients = [f'c{k}' if is_given else None for k, is_given in enumerate(how.given)]
    temporaries = [f't{k}' for k in range(how.temporaries)]
    return statements(how.formula, coefficients, temporaries, ['param', 'grad', *_names(how)[1:]])


def _body(how: Update, count: int, steps: list[str]) -> str:
    """The body of the kernel: finds the element's parameter, loads, computes, stores."""
    return '\n'.join(['ptrdiff_t j = i;', *pointers(how), *_search(how, count), *element(how, steps)])


def pointers(how: Update) -> list[str]:
    """Declares C, the type of the computation, and pointers to an element of each array."""
    held = _names(how)
    c, t, g = (_C_TYPES[d] for d in (computing(how), how.dtype, 'float16' if how.half_copy else how.dtype))
    const = '' if how.scaled and not how.half_copy else 'const '
    lines = [f'typedef {c} C;', f'{t} {", ".join(f"*at_{name}" for name in held)};', f'{const}{g} *at_g;']
    return [*lines, 'float16 *at_w;'] if how.half_copy else lines


def element(how: Update, steps: list[str]) -> list[str]:
    """Loads what the pointers point to, computes, and stores."""
    held, t, g = _names(how), _C_TYPES[how.dtype], _C_TYPES['float16' if how.half_copy else how.dtype]
    param = ['C param = (C)*at_p;', 'C grad = (C)*at_g;']
    if how.half_copy:  # a float16 parameter that has been written to since takes precedence
        param.append('if (float(float16(param)) != float(*at_w)) param = float(*at_w);')
    if how.scaled:
        param.append('grad = grad / loss_scale;')
    param += [f'C {name} = (C)*at_{name};' for name in held[1:]]
    scratch = [f'C {", ".join(f"t{k}" for k in range(how.temporaries))};'] if how.temporaries else []
    stores = [f'*at_p = ({t})param;', *[f'*at_{name} = ({t}){name};' for name in held[1:]]]
    stores += ['*at_w = (float16)param;'] if how.half_copy else []
    stores += [f'*at_g = ({g})grad;'] if how.scaled and not how.half_copy else []
    return [*param, *scratch, *steps, *stores]


def pointing(how: Update, k: int) -> str:
    """Statements that set the pointers to element ``j`` of a parameter."""
    held = ['g', *_names(how), *(['w'] if how.half_copy else [])]
    return ' '.join(f'at_{name} = &{name}{k}[j];' for name in held)


def _search(how: Update, count: int) -> list[str]:
    """Statements that set the pointers to the element of the parameter to which position ``i`` belongs."""
    lines = []
    for k in range(count):
        found = pointing(how, k)
        if k + 1 < count:
            lines.append(f'if (j < p{k}.size()) {{ {found} }} else {{ j -= p{k}.size();')
        else:
            lines.append(f'{{ {found} }}{"}" * k}')
    return lines


_C_TYPES = {'float16': 'float16', 'float32': 'float', 'float64': 'double'}
