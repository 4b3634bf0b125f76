"""Checks without tolerance: shapes, dtypes, repeatability, arrays that are modified."""

from __future__ import annotations

import contextlib
import operator
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from minichainer.backend import get_array_module, get_device_from_array
from minichainer.configuration import config, using_config
from minichainer.verification.arrays import fresh_copy, full, largest, same
from minichainer.verification.complex_numbers import joined
from minichainer.verification.environment import in_another_thread
from minichainer.verification.function_under_test import Evaluation
from minichainer.verification.order_check import SMALL, OrderCheck, times
from minichainer.verification.refusals import settle
from minichainer.verification.rounding import ROUNDINGS

#: How the graph's own error messages about a user's backward begin.
_STRUCTURE = re.compile(r'backward of .* returned a wrong (number of gradients|gradient for input)')
#: Close to 1, so that the other data stay within the domain of most functions.
_OTHER = 1 - 2.0**-10


#: A cause, with the pass for it.
_SHARED = (
    'shared memory: {} returns an array that the same pass of another call overwrites; return a new array each time'
)


class Stop(Exception):
    """No further check of this order is possible."""


class ExactChecks:
    """All checks of a point that compare bit by bit."""

    def __init__(self, order_check: OrderCheck) -> None:
        self.order_check = order_check

    def begin(self) -> None:
        """Calls the function, and chooses what is checked; adds failures, and raises Stop, as :meth:`run`."""
        order_check = self.order_check
        self.arrays = [fresh_copy(x) for x in order_check.arrays]
        self.first = order_check.function.evaluate(self.arrays)
        self._unmodified('the forward pass')
        self._held = self._stored_gradients()
        order_check.draw(self.first)
        self._kept = {o: order_check.values[o].copy() for o in order_check.outputs}
        if not order_check.options.check_undefined_grad and len(order_check.outputs) > 1:
            order_check.function.zeros_for = tuple(order_check.outputs)
        self._finite_outputs()

    def run(self) -> None:
        """Adds failures to the report; raises Stop where further checks make no sense."""
        self.begin()
        order_check = self.order_check
        for o in order_check.outputs:
            self._structure(o)
        self._contiguous()
        self._returned_only()
        self._stale_or_random()
        self.repeat_forward()
        if len(order_check.outputs) > 1 and order_check.options.check_undefined_grad:
            self._undefined()

    # --- in place ----------------------------------------------------------------------------------------------
    def _unmodified(self, where: str) -> None:
        for i, (old, new) in enumerate(zip(self.order_check.arrays, self.arrays, strict=True)):
            if not self.order_check.function.leaves[i].hidden and not same(old, new):
                self._modified(i, f'modified in place: {where} changes {self.order_check.function.leaves[i].label}')

    def _contiguous(self) -> None:
        """Runs both passes on C-contiguous copies, if there are other layouts: a node may get copies of those."""
        order_check, layouts = self.order_check, self.arrays
        for array in (*layouts, *map(operator.itemgetter(0), order_check.upstream.values())):
            if not array.flags.c_contiguous:
                break
        else:
            return
        self.arrays = [a.copy() for a in layouts]  # in C order
        evaluation = order_check.function.evaluate(self.arrays)
        self._unmodified('the forward pass')
        for o in order_check.gradients:
            self._vjp(evaluation, order_check.only(o, order_check.upstream[o][0].copy()), o)
            self._unmodified('the backward pass')
        self.arrays = layouts
        self._give_to_parameters()

    def _modified(self, i: int, cause: str, output: int = 0) -> None:
        advice = '; work on a copy, because the array may be in use elsewhere'
        self.order_check.fail(output, i, cause + advice, verdict='input_modified')
        raise Stop

    def _finite_outputs(self) -> None:
        """Reports outputs that contain NaN or infinity."""
        for o in self.order_check.outputs:
            y = self.order_check.values[o]
            finite = (np if type(y) is np.ndarray else get_array_module(y)).isfinite(y)
            if not finite.all():
                bad = ~finite
                index = worst_index(bad)
                where = self.order_check.place(o, index)
                cause = (
                    f'not finite: output {o} is {float(y[index])} at {where} ({int(bad.sum())} of {y.size} '
                    'elements); check the inputs against the domain of the function'
                )
                self.order_check.fail(o, -1, cause, verdict='not_finite')
        if self.order_check.broken:
            raise Stop

    # --- number, shape, dtype, device, None --------------------------------------------------------------------
    def _structure(self, o: int) -> None:
        """Reports gradients of a wrong shape, dtype or device, or that must be None."""
        order_check = self.order_check
        found = self._first_gradients(o)
        if found is None:
            return
        order_check.gradients[o] = found
        for i, (leaf, g) in enumerate(zip(order_check.function.leaves, found, strict=True)):
            if g is None:
                continue
            if leaf.must_be_none:
                cause = f'unwanted: the gradient of {leaf.label} must be None, because no_grads says so'
                g = joined(g) if leaf.is_complex else g
                order_check.fail(o, i, f'{cause}; it has shape {g.shape} and dtype {g.dtype}')
            elif type(g) is not type(leaf.array) and get_array_module(g) is not get_array_module(leaf.array):
                order_check.fail(
                    o, i, f'device: the gradient is a {type(g).__name__}, the input a {type(leaf.array)}'
                )
            elif g.shape != leaf.array.shape:
                g = joined(g) if leaf.is_complex and g.shape[-1:] == (2,) else g
                order_check.fail(o, i, _shape_cause(g.shape, leaf.value.shape))
            elif g.dtype != leaf.array.dtype and order_check.options.check_grad_dtypes:
                g = joined(g) if leaf.is_complex else g
                order_check.fail(o, i, f'dtype: the gradient is {g.dtype}, the input {leaf.value.dtype}')

    def _first_gradients(self, o: int) -> list[Any] | None:
        """The gradients for output ``o`` alone; None after a failure."""
        order_check, v = self.order_check, self.order_check.upstream[o][0]
        try:
            return self._vjp(self.first, order_check.only(o, fresh_copy(v)), o)
        except Stop:
            raise
        except Exception as error:
            if isinstance(error, (ValueError, TypeError)) and _STRUCTURE.search(str(error)):
                self._refused(o, error)
            else:
                return self._without_others(o, error)
        return None

    def _refused(self, o: int, error: Exception) -> None:
        """Reports a backward that the graph has rejected because of its result."""
        text = str(error)
        kind = 'number' if 'wrong number' in text else 'dtype' if 'dtype' in text else 'shape'
        kind = 'type' if 'Variable or None' in text else kind
        shapes = re.findall(r'shape (\(.*\))', text)
        if len(shapes) == 2:
            kind = _shape_cause(_shape(shapes[1]), _shape(shapes[0])).partition(':')[0]
        for i in self._refused_leaf(text, shapes):
            self.order_check.fail(o, i, f'{kind}: ' + text.replace('\n', ', '))
        self.order_check.broken |= {(o, i) for i in self.order_check.function.moving}

    def _refused_leaf(self, text: str, shapes: Sequence[str]) -> list[int]:
        """The leaf that is the input of which the graph speaks, if its shape is the expected one; else the first."""
        moving, leaves = self.order_check.function.moving, self.order_check.function.leaves
        number = re.search(r'for input (\d+)', text)
        i = int(number[1]) if number is not None else -1
        if i in moving and shapes and _shape(shapes[0]) == leaves[i].value.shape:
            return [i]
        return moving[:1]

    def _without_others(self, o: int, error: Exception) -> list[Any] | None:
        """Reports a backward that fails because other outputs have no upstream gradient; raises any other error.

        Where that is only a warning, these are the gradients with zeros for the other outputs.
        """
        order_check = self.order_check
        if len(order_check.outputs) < 2 or not order_check.options.check_undefined_grad:
            raise error
        v = order_check.upstream[o][0]
        found = self._vjp(
            self.first, order_check.only(o, fresh_copy(v), 'zeros'), o
        )  # raises if that is not the reason
        settle(error, lambda: None, lambda: self.first.vjp(order_check.only(o, fresh_copy(v))))
        if order_check.options.follows_chainer:
            order_check.tolerate_undefined(f'with only the upstream gradient of output {o}', error)
            for k in order_check.gradients:  # those with None may differ by rounding
                order_check.gradients[k] = self._again(self.first, k)
            return found
        cause = f'undefined upstream gradient: with only that of output {o} backward raises {error!r}'
        for i in order_check.function.moving[:1]:
            order_check.fail(o, i, cause + '; None means zero')
        order_check.broken |= {(o, i) for i in order_check.function.moving}
        return None

    def _vjp(self, evaluation: Evaluation, gys: Sequence[Any], o: int) -> list[Any]:
        """Runs backward, and reports arrays that it modifies."""
        before = fresh_copy(gys[o])
        found = evaluation.vjp(gys)
        if not same(before, gys[o]):
            cause = f'modified in place: backward changes the upstream gradient of output {o}'
            self._modified(-1, cause, o)
        if evaluation is self.first:
            self._unmodified('the backward pass')
        return found

    def _stored_gradients(self) -> list[Any]:
        """The gradients that the leaves hold themselves: none but those that the forward pass has stored."""
        return [(v._node or v.edge).grad_value for v in self.first.variables]

    def _returned_only(self) -> None:
        """Reports a backward that stores a gradient in a leaf and returns it too, so that it counts twice."""
        for i, (now, held) in enumerate(zip(self._stored_gradients(), self._held, strict=True)):
            if now is held:
                continue
            o = next((o for o, found in self.order_check.gradients.items() if found[i] is not None), None)
            if o is not None:
                label = self.order_check.function.leaves[i].label
                text = (
                    f'added twice: backward returns the gradient of {label} and also stores it there; return it only'
                )
                self.order_check.fail(o, i, text)

    # --- repetition ---------------------------------------------------------------------------------------------
    def _stale_or_random(self) -> None:
        """Repeats backward after a call on other data and in another thread; the results must be equal."""
        other = self._call_on_other_data()
        found = self._elsewhere(train=not config.train) if self.order_check.options.conditions else None
        if found is None or self._unequal(found):
            here = self._all_again()
            if found is not None and not self._unequal(here) and not self._unequal(self._all_again()):
                self._thread_or_config()
            found = here if found is None or self._unequal(here) else found
        for o, again in found.items():
            for i, (g, h) in enumerate(zip(self.order_check.gradients[o], again, strict=True)):
                index = self.differ(g, h)
                if index is not None:
                    self._not_repeated(o, i, index, again)
        if other is not None:
            self._backward_on_other_data(other)

    def _again(self, evaluation: Evaluation, o: int) -> list[Any]:
        return self._vjp(evaluation, self.order_check.only(o, fresh_copy(self.order_check.upstream[o][0])), o)

    def _all_again(self) -> dict[int, list[Any]]:
        with get_device_from_array(*self.arrays).create_context():  # each thread has its own current device
            return {o: self._again(self.first, o) for o in self.order_check.gradients}

    def _elsewhere(self, **settings: Any) -> dict[int, list[Any]] | None:
        """The gradients from another thread; None where that or the settings are refused, or it does not finish."""
        return self._unless_refused(lambda: in_another_thread(self._all_again, **settings))

    def _with_other_settings(self) -> dict[int, list[Any]]:
        """The gradients with another ``config.train`` than in the forward pass."""
        function = self.order_check.function
        function.settling = True  # what is usual would be repeated with these settings
        try:
            with using_config('train', not config.train):
                return self._all_again()
        finally:
            function.settling = False

    def _unless_refused(self, gradients: Callable[[], dict[int, list[Any]] | None]) -> dict[int, list[Any]] | None:
        """Gradients from unusual surroundings; None, with a note, where backward refuses these."""
        try:
            return gradients()
        except Stop:
            raise
        except Exception as error:
            self._all_again()
            settle(error, lambda: None, gradients)
            text = f'{type(error).__name__}: {error}'.partition('\n')[0].rstrip('.')
            note = f'Backward does not take another thread or another config.train than the forward pass: {text}.'
            self.order_check.function.calls.notes[note] = None
        return None

    def _unequal(self, found: dict[int, list[Any]]) -> tuple[int, int, Any] | None:
        """Output, leaf and index of a gradient that differs from the first one by more than rounding."""
        for o, again in found.items():
            for i, (g, h) in enumerate(zip(self.order_check.gradients[o], again, strict=True)):
                index = self.differ(g, h)
                if index is not None and not self._is_rounding(g, h):
                    return o, i, index
        return None

    def _is_rounding(self, g: Any, h: Any) -> bool:
        if g is None or h is None:
            return False
        with np.errstate(all='ignore'):
            return bool((abs(g - h) <= ROUNDINGS * np.finfo(g.dtype).eps * largest(g)).all())

    def _thread_or_config(self) -> None:
        """Tells whether the thread or ``config.train`` is the reason, if gradients differ in another thread only."""
        cause = 'depends on thread: backward gives a different result outside the thread of the forward pass'
        found = self._elsewhere()
        if found is None or not self._unequal(found):
            cause = 'depends on config: backward looks at config.train, which may have changed since the forward pass'
            found = self._unless_refused(self._with_other_settings)
        place = None if found is None else self._unequal(found)
        if found is not None and place is not None:
            o, i, index = place
            values = {'numeric': at(self.order_check.gradients[o][i], index), 'analytic': at(found[o][i], index)}
            self.order_check.fail(o, i, cause, index=index, **values)
            raise Stop

    def _not_repeated(self, o: int, i: int, index: Any, again: list[Any]) -> None:
        """Reports a difference between backward passes, as randomness or as a stale cache."""
        order_check = self.order_check
        twice = [self._again(self.first, o) for _ in range(2)]
        random = any(self.differ(a, b) is not None for a, b in zip(*twice, strict=True))
        random |= any(self.differ(a, b) is not None for a, b in zip(again, twice[0], strict=True))
        values = {'index': index, 'numeric': at(order_check.gradients[o][i], index), 'analytic': at(again[i], index)}
        if random:
            cause = 'nondeterministic: two backward passes over one graph differ'
            order_check.fail(o, i, cause, verdict='nondeterministic', **values)
        else:
            cause = 'stale cache: backward gives a different result after the function has run on other data'
            order_check.fail(o, i, cause + '; store what it needs per call, not in a shared place', **values)
        raise Stop

    def _backward_on_other_data(self, other: Evaluation) -> None:
        """Runs backward for another call, and for both calls in one pass.

        This exposes a backward that caches results by upstream gradient, which it would return for the point itself,
        and one that returns memory which it writes to again.
        """
        function = self.order_check.function
        plain = not function.complex_outputs and not function.zeros_for and len(self.order_check.outputs) == 1
        for o in self.order_check.gradients:
            v, w = self.order_check.upstream[o]
            small = self.order_check.only(o, times(w, SMALL.get(w.dtype.itemsize, 1.0)))
            with contextlib.suppress(Exception):
                if plain:
                    self._compare_beside(
                        o, self.first.vjp_beside(other, o, self.order_check.only(o, v.copy()), small)
                    )
                else:
                    other.vjp(small)

    def _compare_beside(self, o: int, found: dict[int, Any]) -> None:
        """Reports gradients that differ if another call is in the graph of the same backward pass."""
        for i, gradient in found.items():
            expected = self.order_check.gradients[o][i]
            index = self.differ(expected, gradient)
            if index is not None and not self._is_rounding(expected, gradient):
                values = {'index': index, 'numeric': at(expected, index), 'analytic': at(gradient, index)}
                self.order_check.fail(o, i, _SHARED.format('backward'), **values)

    def _call_on_other_data(self) -> Evaluation | None:
        """Calls the function on other data, which overwrites its caches; None if it rejects the data."""
        others, leaves = [], self.order_check.function.leaves
        for leaf in leaves:
            others.append(_other(leaf.array) if leaf.differentiable else fresh_copy(leaf.array))
        try:
            with np.errstate(all='ignore'):
                evaluation = self.order_check.function.evaluate(others)
        except Exception:
            evaluation = None  # other data may be refused: only the side effects of the call matter
        self._give_to_parameters()
        return evaluation

    def _give_to_parameters(self) -> None:
        """Gives the parameters the arrays of the first call."""
        for leaf, array in zip(self.order_check.function.leaves, self.arrays, strict=True):
            if leaf.parameter is not None:
                leaf.variable(array)

    def repeat_forward(self) -> None:
        """Calls the function again on the same data; the outputs must be equal."""
        for o, kept in self._kept.items():
            if not same(kept, self.order_check.values[o]):
                self.order_check.fail(o, -1, _SHARED.format('forward'))
                raise Stop
        self.second = self.order_check.function.evaluate([*map(fresh_copy, self.order_check.arrays)])
        for o, (y, z) in enumerate(zip(self.order_check.values, self.second.arrays, strict=True)):
            if y is not None and (z is None or y.shape != z.shape):
                cause = f'nondeterministic: two calls on the same data give output {o} different shapes'
                self.order_check.fail(o, -1, cause, verdict='nondeterministic')
                raise Stop
            index = self.differ(y, z)
            if index is not None:
                cause = 'nondeterministic: two calls on the same data differ; does the function draw random numbers?'
                values = {'index': None, 'numeric': at(y, index), 'analytic': at(z, index)}
                self.order_check.fail(o, -1, cause, verdict='nondeterministic', **values)
                raise Stop

    def differ(self, a: Any, b: Any) -> tuple[int, ...] | None:
        """Where two arrays differ most, by more than ``nondet_tol``; None if nowhere. NaN equals NaN."""
        if a is b:
            return None
        if a is None or b is None:
            a, b = _or_zeros(a, b), _or_zeros(b, a)
        if same(a, b):
            return None
        tolerance = self.order_check.options.nondet_tol
        with np.errstate(all='ignore'):
            unequal = (a != b) & ~((a != a) & (b != b))
            if tolerance and bool(unequal.any()):
                unequal &= ~(abs(a - b) <= tolerance)
        return worst_index(unequal) if bool(unequal.any()) else None

    # --- undefined upstream gradients --------------------------------------------------------------------------
    def _undefined(self) -> None:
        """Leaves out the upstream gradient of one output at a time; the result must be as with zeros."""
        order_check = self.order_check
        if len(order_check.outputs) < 3:
            return
        for o in order_check.outputs:
            rest = next(k for k in order_check.outputs if k != o)
            gys = order_check.only(rest, fresh_copy(order_check.upstream[rest][0]), 'drawn')
            try:
                zeros = self.second.vjp(
                    [times(gy, 0) if k == o and gy is not None else gy for k, gy in enumerate(gys)]
                )
                gys[o] = None
                missing = self.second.vjp(gys)
            except Exception as error:
                if gys[o] is not None:
                    raise
                if order_check.options.follows_chainer:
                    order_check.tolerate_undefined(f'without the upstream gradient of output {o}', error)
                    return
                cause = f'undefined upstream gradient: without that of output {o} backward raises {error!r}'
                order_check.fail(o, order_check.function.moving[0], cause)
                continue
            self._compare_undefined(o, zeros, missing)

    def _compare_undefined(self, o: int, zeros: list[Any], missing: list[Any]) -> None:
        """Reports leaves whose gradients with None differ from those with zeros."""
        for i in self.order_check.function.moving:
            expected, found = (full(a, self.order_check.arrays[i]) for a in (zeros[i], missing[i]))
            allowed = 64 * np.finfo(found.dtype).eps * largest(expected) + self.order_check.options.nondet_tol
            off = abs(found - expected) > allowed
            if bool(off.any()):
                index = worst_index(off)
                cause = f'undefined upstream gradient: None for output {o} gives a different result than zeros'
                values = {'index': index, 'numeric': at(expected, index), 'analytic': at(found, index)}
                self.order_check.fail(o, i, cause, **values)


def at(array: Any, index: tuple[int, ...]) -> float | None:
    """One element as a Python number."""
    return None if array is None else float(array[index])


def worst_index(mask: Any) -> tuple[int, ...]:
    """The index of the first True."""
    return tuple(map(int, np.unravel_index(int(mask.argmax()), mask.shape)))


def _other(x: Any) -> Any:
    """Other data of the same kind: the elements in reverse order, and a little smaller.

    If that has the same signs as ``x``, and both occur, the negative of ``x``: masks like ``x < 0`` must change.
    """
    backwards = (slice(None, None, -1),) * x.ndim
    negative = x < 0
    if bool((negative[backwards] == negative).all()) and bool(negative.any()) and not bool(negative.all()):
        return times(x, -_OTHER)
    other = fresh_copy(x)
    other[...] = x[backwards] * x.dtype.type(_OTHER)
    return other


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r'\d+', text))


def _shape_cause(actual: tuple[int, ...], expected: tuple[int, ...]) -> str:
    """The cause for a gradient of a wrong shape."""
    text = f'the gradient has shape {actual}, the input {expected}'
    if actual[::-1] == expected and actual != expected:
        return f'shape: {text}; transposed?'
    try:
        broadcasts = np.broadcast_shapes(actual, expected) == actual
    except ValueError:
        broadcasts = False
    if broadcasts:
        return f'not summed over a broadcast axis: {text}'
    return f'shape: {text}'


def _or_zeros(gradient: Any, other: Any) -> Any:
    """A gradient; for None zeros like the other one, but NaN where that is not finite."""
    return other * 0 if gradient is None else gradient
