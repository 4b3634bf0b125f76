"""The node of a user's autograd Function: it calls the user's methods, and checks what they return."""

from __future__ import annotations

import copy
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from minichainer._checks import as_raw
from minichainer.autograd._arrays import (
    as_input,
    constant,
    contains,
    is_array,
    is_float,
    is_shared,
    materialized,
    needs_gradient,
    raw,
    type_of,
)
from minichainer.autograd.grad_mode import no_grad
from minichainer.configuration import config
from minichainer.errors import describe
from minichainer.function_node import FunctionNode
from minichainer.functions._node import reaches
from minichainer.functions.array.conversion import as_dtype
from minichainer.functions.array.shape import sum_to
from minichainer.variable import Variable, as_variable, variable_on

FREED = (
    'the saved arrays have been freed with the graph; pass retain_graph=True to the first backward pass to use the '
    'graph again'
)
_CONSTANT = ('constant', 0)


class Application(FunctionNode):
    """The node of one application of an autograd ``Function``; its subclasses have the names of the users' classes.

    Args:
        function: the user's class.
        context: the ``ctx`` of the user's methods; it refers to the node weakly, so that there is no cycle.
        arguments: those of ``apply``.
        keywords: those that forward takes by keyword only.
    """

    takes_any_layout = True
    #: Shape and dtype of each position of what forward returned; None if it is not an array.
    _returned_types: tuple[Any, ...] = ()
    #: The positions of the outputs in the graph.
    _differentiable: tuple[int, ...] = ()
    #: Where the saved values stand, those for backward and those for forward mode; see :meth:`keep`.
    _places: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())

    def __init__(self, function: Any, context: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self._function = function
        context._node = weakref.ref(self)
        self.context = context
        self._call: Any = (arguments, keywords)
        self._returned: Any = ()
        #: The positions of the Variables among the arguments, which are the node's inputs.
        self._positions = tuple([i for i, x in enumerate(arguments) if isinstance(x, Variable)])
        self._argument_types: tuple[Any, ...] = tuple(
            [type_of(x) if isinstance(x, Variable) else None for x in arguments]
        )

    def applied(self) -> Any:
        """Applies the function; returns what forward returned, with Variables in the place of arrays."""
        results = self.apply([as_input(self._call[0][i]) for i in self._positions])
        found = [constant(y) if is_array(y) else y for y in self._returned]
        for i, result in zip(self._differentiable, results, strict=True):
            found[i] = self._in_place(self._returned[i], result)
        if self.edges is not None:
            self._owners = tuple([weakref.ref(found[i]) for i in self._differentiable])
        # References to arguments and outputs would keep memory, and make a cycle with an input changed in place.
        self._call = self._returned = ()
        self.context._dirty = self.context._non_differentiable = ()
        return tuple(found) if self._returns_tuple else found[0]

    def _in_place(self, returned: Any, result: Variable) -> Variable:
        """The Variable of an output: the input itself if forward has changed it in place."""
        if not isinstance(returned, Variable) or not contains(self.context._dirty, returned):
            return result
        if self.edges is not None:
            returned._node = result._node
        return result if self.edges is None and returned.requires_grad else returned

    # --- forward -----------------------------------------------------------------------------------------------
    def forward(self, inputs: tuple[Any, ...], /) -> tuple[Any, ...]:
        with no_grad():
            returned = self._call_forward()
        self._returns_tuple = isinstance(returned, tuple)
        self._returned = returned if self._returns_tuple else (returned,)
        self._check_dirty(inputs)
        self._returned_types = tuple([type_of(y) if is_array(y) else None for y in self._returned])
        self._differentiable = tuple([i for i, y in enumerate(self._returned) if self._is_differentiable(y)])
        return tuple([raw(self._returned[i]) for i in self._differentiable])

    def _call_forward(self) -> Any:
        function, (arguments, keywords) = self._function, self._call
        if not function._has_setup_context():
            return function.forward(self.context, *arguments, **keywords)
        outputs = function.forward(*arguments, **keywords)
        function.setup_context(self.context, arguments, outputs)
        return outputs

    def _is_differentiable(self, returned: Any) -> bool:
        return is_float(returned) and not contains(self.context._non_differentiable, returned)

    def _check_dirty(self, arrays: tuple[Any, ...]) -> None:
        """Raises RuntimeError for an input that may not be changed in place, or that is not returned."""
        groups = self.context._to_save or ()
        for x in self.context._dirty:
            if not contains(self._returned, x):
                raise RuntimeError(f'{self.label}: forward marks an input as dirty that is not an output; return it')
            if not config.enable_backprop or not contains(self._call[0], x):
                continue
            if needs_gradient(x) and x.edge.edges is None:
                raise RuntimeError(
                    f'{self.label}: forward changes a leaf Variable in place that requires a gradient; '
                    'pass a copy (functions.copy or x * 1), or apply it while no graph is recorded'
                )
            if needs_gradient(x) and is_shared(x, arrays, self._returned, vars(self.context).values(), *groups):
                raise RuntimeError(
                    f'{self.label}: forward changes an input in place, {describe(x._data)}, but something else uses '
                    'its memory: a Variable of which it is a view, a view of it (by indexing, reshape, ...), or a '
                    'reference to its array. Gradients of these would be wrong, because their graphs do not know '
                    'of the change; pass a copy (functions.copy or x * 1)'
                )

    # --- saved arrays ------------------------------------------------------------------------------------------
    def keep(self, arrays: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """The arrays to save: those for backward, then those for forward mode.

        Their places are noted: ``('input', i)``, ``('output', i)`` or ``('constant', 0)``; None for a value that is
        None, which has no array.
        """
        groups = self.context._to_save or ((), ())
        for group in groups:
            self._check_saved(group)
        places = self._identified()
        backward, forward = [
            tuple([None if x is None else places.get(id(x), _CONSTANT) for x in group]) for group in groups
        ]
        self._places, self.context._to_save = (backward, forward), None
        return tuple([raw(x) for group in groups for x in group if x is not None])

    def _check_saved(self, values: tuple[Any, ...]) -> None:
        for i, x in enumerate(values):
            if x is not None and not is_array(x):
                raise TypeError(
                    f'save_for_backward of {self.label}: Variable, array or None expected, got {type(x).__name__} as '
                    f'argument {i}; other values can be attributes: ctx.name = value'
                )

    def _identified(self) -> dict[int, tuple[str, int]]:
        """The places of arguments and outputs by identity; later entries replace earlier ones."""
        arguments = self._call[0]
        outputs = [(self._returned[i], ('output', j)) for j, i in enumerate(self._differentiable)]
        found = [
            *outputs,
            *[(arguments[i], ('input', j)) for j, i in enumerate(self._positions)],
            *[(x, _CONSTANT) for x in arguments if not isinstance(x, Variable)],
            *[(y, place) for y, place in outputs if contains(self.context._dirty, y)],
        ]
        places = {}
        for x, place in found:
            places[id(as_raw(x))] = places[id(x)] = place
        return places

    def saved_variables(self, for_forward_mode: bool = False) -> tuple[Variable | None, ...]:
        """What forward has saved, as Variables in the graph.

        Args:
            for_forward_mode: what ``save_for_forward`` got, if it was called, instead of ``save_for_backward``.

        Raises:
            RuntimeError: it has been freed.
        """
        backward, forward = self._places
        counts = [len([place for place in group if place is not None]) for group in self._places]
        if len(self.saved) != sum(counts):
            raise RuntimeError(f'saved_tensors of {self.label}: {FREED}')
        use_forward = for_forward_mode and bool(forward)
        arrays = iter(self.saved[counts[0] :] if use_forward else self.saved)
        chosen = forward if use_forward else backward
        return tuple([None if place is None else self._variable_at(next(arrays), *place) for place in chosen])

    def _variable_at(self, array: Any, kind: str, index: int) -> Variable:
        if kind == 'input':
            return variable_on(array, self._applied_edges()[index])
        if kind == 'output':
            return variable_on(array, self._output_node(index, array))
        return constant(array)

    def _kept_of_all(self) -> dict[str, tuple[int, int]]:
        return {'saved_tensors': (len(self._places[0]), sys.maxsize)}

    def input_arrays(self) -> tuple[Any, ...]:
        """The saved input arrays, None for the others; for hooks."""
        return self._saved_of('input', len(self.edges or ()))

    @property
    def output_data(self) -> Any:
        """The saved output arrays, None for the others."""
        return self._saved_of('output', self.output_count)

    def _saved_of(self, kind: str, count: int) -> tuple[Any, ...]:
        places = [place for group in self._places for place in group if place is not None]
        found = {place: array for place, array in zip(places, self.saved, strict=False)}
        return tuple([found.get((kind, i)) for i in range(count)])

    # --- backward ----------------------------------------------------------------------------------------------
    def backward(self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Any, ...], /) -> Any:
        given = dict(zip(self._differentiable, grad_outputs, strict=True))
        upstream = materialized(given, self._returned_types, self.context._materializes)
        found = self._function._derivative()(self.context, *upstream)
        gradients = self._per_argument(found if isinstance(found, tuple) else (found,))
        return [self._fitted(self._positions[i], gradients[self._positions[i]]) for i in target_input_indexes]

    def _per_argument(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        """Checks that there is one gradient per argument, with further ones None; None for what is not a Variable."""
        count = len(self._argument_types)
        if len(gradients) < count or any(gx is not None for gx in gradients[count:]):
            raise RuntimeError(
                f'backward of {self.label} returned a wrong number of gradients\n'
                f'Expect: {count}, one per argument of apply\nActual: {len(gradients)}'
            )
        for i, gx in enumerate(gradients[:count]):
            self._check_gradient_type(i, gx)
        return gradients

    def _check_gradient_type(self, position: int, gx: Any) -> None:
        if gx is not None and not is_array(gx):
            raise RuntimeError(
                f'backward of {self.label} returned a wrong gradient for argument {position}\n'
                f'Expect: Variable, array or None\nActual: {type(gx).__name__}'
            )
        if gx is not None and self._argument_types[position] is None:
            raise RuntimeError(
                f'backward of {self.label} returned a gradient for argument {position}, which is not a Variable\n'
                f'Expect: None\nActual: {type(gx).__name__}'
            )

    def _fitted(self, position: int, gx: Any) -> Variable | None:
        """A gradient with the dtype and shape of its argument; axes along which that was broadcast are summed."""
        if gx is None:
            return None
        shape, dtype = self._argument_types[position]
        array = raw(gx)
        if not reaches(shape, array.shape) or (array.dtype.kind == 'c' and dtype.kind != 'c'):
            raise RuntimeError(
                f'backward of {self.label} returned a wrong gradient for argument {position}\n'
                f'Expect: shape {shape}, or one that it can be broadcast to; dtype {dtype}\n'
                f'Actual: shape {array.shape}, dtype {array.dtype}'
            )
        return as_dtype(sum_to(as_variable(gx if isinstance(gx, Variable) else array), shape), dtype)

    # --- forward mode ------------------------------------------------------------------------------------------
    def _pushforward(self, tangents: Sequence[Any], variables: bool) -> Sequence[Any]:
        """The tangents of the outputs, by the user's ``jvp``."""
        return self.jvp_of(tangents)

    def jvp_of(self, tangents: Sequence[Any]) -> list[Variable | None]:
        """The tangents of the outputs, computed by the user's ``jvp``.

        Args:
            tangents: those of the node's inputs, Variables or arrays of the inputs' shapes; None for no tangent.

        Returns:
            One per output of the node; None for an output that has none.

        Raises:
            NotImplementedError: the function has no ``jvp``; a RuntimeError.
            RuntimeError: ``jvp`` returned a wrong number of tangents, or one that does not fit its output.
        """
        context = copy.copy(self.context)
        context._is_forward_mode = True
        given = {i: None if t is None else as_variable(t) for i, t in zip(self._positions, tangents, strict=True)}
        found = self._function.jvp(context, *materialized(given, self._argument_types, context._materializes))
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(self._returned_types):
            raise RuntimeError(
                f'jvp of {self.label} returned a wrong number of tangents\n'
                f'Expect: {len(self._returned_types)}, one per output\nActual: {len(found)}'
            )
        return [self._fitted_tangent(i, found[i]) for i in self._differentiable]

    def _fitted_tangent(self, position: int, tangent: Any) -> Variable | None:
        if tangent is None:
            return None
        shape, dtype = self._returned_types[position]
        if not is_array(tangent) or raw(tangent).shape != shape:
            got = f'shape {raw(tangent).shape}' if is_array(tangent) else type(tangent).__name__
            raise RuntimeError(
                f'jvp of {self.label} returned a wrong tangent for output {position}\n'
                f'Expect: a Variable or array of shape {shape}, or None\nActual: {got}'
            )
        return as_dtype(tangent if isinstance(tangent, Variable) else raw(tangent), dtype)
