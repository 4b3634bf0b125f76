"""Updates of many parameters whose steps are as long as the norm of each parameter says, as LAMB's.

Three launches for all parameters: the directions of the steps, with the states, and squares summed by each thread;
norms; and the steps.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from minichainer.backends import cuda
from minichainer.kernels.cuda import updates
from minichainer.kernels.cuda.gradients import norms
from minichainer.kernels.cuda.updates import Source, Update

#: Threads that share the work; each has two sums for every parameter.
THREADS = 1 << 14


def limit(how: Update) -> int:
    """How many parameters one launch can take."""
    return updates.limit(how, others=3)


@functools.lru_cache(maxsize=64)
def directions_source(how: Update, count: int) -> Source:
    """Computes the formula, whose first temporary is the direction, for ``count`` parameters."""
    steps = updates.steps_of(how)
    assert steps is not None
    inputs, outputs = updates.parameters(how, count)
    body = f"""{chr(10).join(updates.pointers(how))}
ptrdiff_t first = 0, threads = _ind.size();
for (int k = 0; k < {count}; ++k) {{
double of_param = 0, of_step = 0;
ptrdiff_t size = 0;
{_switch(f'size = p{k}.size();' for k in range(count))}
for (ptrdiff_t j = i; j < size; j += threads) {{
{_switch(updates.pointing(how, k) for k in range(count))}
{chr(10).join(updates.element(how, steps))}
direction[first + j] = t0;
of_param += (double)param * (double)param;
of_step += (double)t0 * (double)t0;
}}
parts[k * threads + i] = of_param;
parts[({count} + k) * threads + i] = of_step;
first += size;
}}"""
    outputs = f'{outputs}, raw {updates.computing(how)} direction, raw float64 parts'
    return Source(inputs, outputs, body, f'{how.name}_directions_{count}')


@functools.lru_cache(maxsize=64)
def steps_source(how: Update, count: int) -> Source:
    """Moves ``count`` parameters along directions, as far as the rate and the ratio of norms say."""
    computing, half = updates.computing(how), how.half_copy
    found = (
        f'p = &p{k}[0]; {f"w = &w{k}[0]; " if half else ""}size = p{k}.size(); '
        f'of_param = norms[{k}]; of_step = norms[{count + k}];'
        for k in range(count)
    )
    types = {'float16': 'float16', 'float32': 'float', 'float64': 'double'}
    body = f"""typedef {types[computing]} C;
ptrdiff_t first = 0;
for (int k = 0; k < {count}; ++k) {{
{types[how.dtype]} *p = 0;
{'float16 *w = 0;' if half else ''}
ptrdiff_t size = 0;
double of_param = 0, of_step = 0;
{_switch(found)}
C ratio = of_param == 0 || of_step == 0 ? (C)1 : (C)(of_param / of_step);
for (ptrdiff_t j = i; j < size; j += _ind.size()) {{
C param = (C)p[j] - direction[first + j] * ratio * rate;
p[j] = ({types[how.dtype]})param;
{'w[j] = (float16)param;' if half else ''}
}}
first += size;
}}"""
    inputs = f'raw float64 norms, raw {computing} direction, {computing} rate'
    outputs = [f'raw {how.dtype} p{k}' for k in range(count)] + [f'raw float16 w{k}' for k in range(count) if half]
    return Source(inputs, ', '.join(outputs), body, f'{how.name}_steps_{count}')


def update(xp: Any, how: Update, coefficients: Sequence[float], params: Sequence[Sequence[Any]]) -> None:
    """Updates parameters of the current device.

    Args:
        xp: cupy.
        how: the update, whose formula leaves the direction in the first temporary.
        coefficients: the numbers; the rate is the last one, before the loss scale.
        params: as for :func:`updates.update`, at most :func:`limit`.
    """
    params = [arrays for arrays in params if arrays[0].size]
    if not params:
        return
    sizes = [arrays[0].size for arrays in params]
    count, threads = len(params), min(THREADS, max(sizes))
    direction, parts = xp.empty(sum(sizes), updates.computing(how)), xp.empty((2 * count, threads))
    given = updates.arguments(how, coefficients, params)
    cuda.elementwise(*directions_source(how, count))(*given, direction, parts, size=threads)
    written = [arrays[1].reshape(-1) for arrays in params]
    written += [arrays[-1].reshape(-1) for arrays in params if how.half_copy]
    rate = coefficients[sum(how.given) - 1]
    cuda.elementwise(*steps_source(how, count))(norms(parts, axis=1), direction, rate, *written, size=threads)


def _switch(cases: Any) -> str:
    """A statement for each number of a parameter ``k``."""
    lines = [f'case {k}: {statements} break;' for k, statements in enumerate(cases)]
    return '\n'.join(['switch (k) {', *lines, '}'])
