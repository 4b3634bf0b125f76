"""How many Python calls inside the package a common operation takes, and why each of them is there.

    python benchmarks/calls.py [--list WORKLOAD]

Counts ``call`` events of the interpreter's profiler during the second call of each workload (comprehensions are calls
before Python 3.12). A hop is a function that is entered. ``tests/test_calls.py`` holds the counts to their targets
and requires a reason for each hop.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.gradient_check import check_gradients

PACKAGE = Path(chainer.__file__).resolve().parent
#: Calls that a workload may take; None where there is no target.
TARGETS = {
    'x * W': None,
    'relu': None,
    'softmax cross entropy': 30,
    'L.Linear': None,
    'backward': None,
    'double backward': None,
    'SGD update of one parameter': 15,
    'Adam update of one parameter': 15,
    'check_gradients(F.tanh, x, precise=False)': 600,
}
#: Why a function is called, by its dotted name; of the gradient checker, which enters hundreds, by module.
REASONS = {
    '_frames': 'finds the line of the user, whose names a report uses',
    # Variables and their places in the graph
    '_operators.Operators.__mul__': 'x * y is the op that the registry has under that name',
    '_operators.Operators.__sub__': 'x - y is the op that the registry has under that name',
    '_graph_methods.GraphMethods.requires_grad': 'constants take no gradient',
    'variable.Variable.__init__': 'wraps an array, after a check that it is one',
    'variable.Variable.backward': 'what the user calls',
    '_tangents.upstream': 'in forward mode an upstream gradient may have a tangent, which the pass carries',
    '_tangents.carries': 'whether there are tangents in this thread',
    '_tangents.records_pass': 'whether a pass on Variables is recorded, or only carries tangents',
    '_roots.initial_gradient': 'a loss without a gradient begins with ones, if it is a scalar',
    '_graph_methods.GraphMethods.retains_grad': 'a gradient kept by retain_grad() is not an upstream gradient',
    'variable.Variable._known': 'raises a helpful error where a Parameter has no array yet',
    'variable.Variable.dtype': 'compared with the dtype of the place that a gradient is for',
    'variable.Variable.edge': 'the node that gradients flow to; made on demand where no graph was recorded',
    'variable.Variable.shape': 'compared with the shape of the place that a gradient is for',
    'variable.as_array': 'labels may be given as an array or as a Variable',
    'variable.as_variable': 'inputs may be given as arrays or as Variables',
    'variable.gradient_without_graph': 'a result of grad, marked so that a second grad of it can say why it is None',
    'variable.variable_on': 'a saved result becomes a Variable again at its place in the graph',
    'backprop.LeafNode.__init__': 'a Variable that no function made is a leaf',
    # calling an op
    'functions._call._unary.call': 'the way of an op with one array: checks, forward, recording',
    'functions._call._binary.call': 'the way of an op with two arrays: checks, forward, recording',
    'functions._call._general.call': 'the way of an op with any fixed number of arrays: checks, forward, recording',
    'recorder.record': 'makes the node and the Variable: the one short way into the graph',
    'functions._primitive.Primitive.keep': 'picks what the gradient needs from inputs, result and static values',
    'kernels._dispatch.Kernel.__call__': 'chooses the body for the array module',
    # single ops
    'kernels.rectifier._relu_numpy': 'the forward body of relu, quicker than maximum',
    'kernels.rectifier._step_numpy': 'the derivative of relu',
    'link.link.Link.__call__': 'looks for link hooks before forward',
    'links.connection.linear.Linear.forward': 'what the link computes; sizes left open are settled here',
    'functions.connection.linear.linear': 'the public function, also without the link',
    'functions.connection.linear._on_plain_matrices': 'float matrices that fit need none of the other checks',
    'kernels.affine.affine': 'the product and the bias, in the quicker order of the factors',
    'functions.loss.softmax_cross_entropy.softmax_cross_entropy': 'the public function: options become static values',
    'functions.loss.softmax_cross_entropy._check_class_weight': 'refuses weights that do not fit',
    'functions.loss.softmax_cross_entropy._samples': 'labels, weights and scale, for forward and gradient',
    'functions.loss.softmax_cross_entropy._check_labels': 'refuses labels out of range, of which NumPy takes some',
    'functions.loss.softmax_cross_entropy.cross_entropy': 'the forward body, for any array module',
    'functions._arguments.Arguments.choice': 'refuses an option that does not exist',
    'functions._arguments.Arguments.number': 'refuses an ignore_label that is not a number',
    'kernels.cross_entropy.cross_entropy': 'the arithmetic on arrays',
    'kernels.cross_entropy._place': 'the index of the scores of the labels, which the gradient needs as well',
    'kernels.precision.in_float32': 'float16 is computed in float32',
    'kernels.softmax._total_numpy': 'sums of rows, as a product with ones where that is quicker',
    'kernels.softmax.total_of_others': 'what is missing to certainty keeps its digits',
    'kernels.conditions.somewhere': 'whether a score is so certain; a device is not asked',
    # a backward pass
    'backprop.propagate': 'the pass of backward(): to all leaves, whose gradients are then written',
    'backprop.run': 'the pass itself, which grad() has in common with backward()',
    'backprop._started': 'the gradients of the outputs, with which the pass begins',
    'backprop.accumulate': 'ends the pass: gradients of leaves, and their hooks',
    'backprop._watch': 'whether anything watches the pass',
    '_inplace.prints_of': 'notes when arrays of leaves are saved, so that a later modification is detected',
    '_inplace._written': 'arrays of leaves that the package or the user may have written to',
    '_inplace.check': 'compares what is saved with that, because a leaf or an array that was read may be modified',
    '_inplace._modified': 'the comparison, saved value by saved value',
    'backprop._enter': 'puts a node that a gradient has reached into the bucket of its level',
    'backprop.is_wanted': 'whether an edge needs a gradient at all',
    'backprop.keep': 'retain_grad: gradients of what is not a leaf',
    'backprop.commit_arrays': 'leaves are written once, at the end, under a lock',
    'backprop.commit_variables': 'gradients that Variables retain, in a differentiable pass',
    'backprop._added': 'adds to the gradient that a leaf has already, on its device',
    'backprop._sum_of': 'a second gradient has reached a node',
    '_pass_table.take_own': 'a result of grad() shares no memory with other gradients',
    '_observers.observers': 'function hooks and debug mode, if there are any',
    '_checks.array_types': 'a gradient must be an array of NumPy or CuPy',
    '_checks.as_raw': 'the array of a gradient that is an array or a Variable',
    '_checks.check_gradient': 'refuses gradients of another shape or dtype than what they are for',
    '_checks.native': 'a given gradient may have the other byte order',
    'backends.cuda.get_array_module': 'NumPy or CuPy, for code that serves both',
    'function_hook.get_function_hooks': 'the hooks of the thread, which a check puts back',
    # gradients of a node, on arrays
    'functions._node.PrimitiveNode.pullback': 'the gradients of an op for which there is no quicker form',
    'functions._node.PrimitiveNode._by_array_rule': 'calls a rule with what it asks for',
    'functions._node.PrimitiveNode._gy': 'outputs without a gradient get zeros',
    'functions._node.PrimitiveNode._fitted': 'compares the gradients of a rule with the places that they are for',
    'function_node.FunctionNode._applied_edges': 'raises an error of its own where the node has been unchained',
    'functions._primitive.Primitive._getter.<lambda>': 'a saved array or value that a rule asks for',
    'functions._primitive.Primitive._plain_getter.<lambda>': 'the shape of an input, for which no array is saved',
    'ops.Evaluators.on': 'what a rule calls as m, for the array module',
    'functions.arithmetic.<lambda>': 'the rules of sums and products',
    'kernels.rectifier._relu_gradient_numpy': 'the gradient',
    'functions.activation.sigmoidal.<lambda>': 'the rule of tanh',
    'functions.math.reductions.<lambda>': 'the rule of sum',
    'functions._reduce.kept_shape': 'the shape with summed axes of size 1, which broadcasts against the input',
    'functions.array.shape._reshape_raw': 'm.reshape on arrays',
    'functions.array.shape.<lambda>': 'm.broadcast_to on arrays',
    # grad(), and gradients on Variables
    'differentiate.grad': 'what the user calls',
    'differentiate._checked': 'refuses gradients of another shape or dtype than what they are for',
    'differentiate._expect_sequence': 'refuses a single Variable in the place of a list',
    'differentiate._expect_length': 'refuses lists that do not fit together',
    'differentiate._initial': 'an output without a gradient begins with ones',
    'backprop.gradients_of_leaves': 'several passes over one graph find the nodes on their way once',
    'backprop.gradients_of': 'grad() on nodes, which recomputation uses as well',
    'backprop.between': 'only what lies between outputs and inputs is computed',
    'backprop.between.<lambda>': 'nodes in the order of their levels',
    'backprop.reachable': 'what gradients of the outputs can reach at all',
    'function_node.FunctionNode.pullback_variables': 'the gradients of any function, with their graph',
    'function_node.FunctionNode._wanted': 'indexes of the inputs that need one, which backward() takes',
    'function_node.FunctionNode._upstream_variables': 'backward() takes Variables',
    '_node_parts.as_gradient_variable': 'the upstream gradient as a Variable',
    'function_node.FunctionNode._gradients': 'backward(), or a backward_accumulate of the user',
    'function_node.FunctionNode._wanted_gradients': 'calls backward() and has the result checked',
    'function_node.FunctionNode._checked': 'the number of gradients that backward() has returned',
    'function_node.FunctionNode._check_gradient': 'type, shape and dtype of each of them',
    'function_node.FunctionNode._per_edge': 'None for the inputs that were not wanted',
    'functions._node.PrimitiveNode.backward': 'the backward() of all ops that have rules',
    'functions._node.PrimitiveNode._by_rule': 'calls a rule with Variables of what it asks for',
    'functions._node.PrimitiveNode.conform': 'makes a gradient fit the place that it is for',
    'functions._node.PrimitiveNode.label': 'the name of the op for errors of backward()',
    'functions._node.PrimitiveNode.outputs_as_variables': 'a rule asks for the result, of one output or several',
    'functions._primitive.Primitive._variable_getter.<lambda>': 'what a rule asks for, as a Variable',
    'functions._primitive.Primitive.label': 'may depend on static values',
    # settings
    'configuration.current_settings': 'the settings of this thread, for another one',
    'configuration.using_config': 'the graph of gradients is recorded also inside no_backprop_mode()',
    'configuration._UsingConfig.__init__': 'notes which setting is to change',
    'configuration._UsingConfig.__enter__': 'gives the setting another value',
    'configuration._UsingConfig.__exit__': 'puts the value back that it had, also if an interrupt comes',
    'configuration._UsingConfig._restore': 'does so, a second time after an interrupt',
    'configuration._own_values': "the thread's own values, which a setting is put back to",
    'configuration._weight': 'whether a value differs from the default',
    'configuration._put': 'sets the value and counts it in one statement, so that ops look at one number',
    'configuration._take': 'removes the value, and what was counted for it, likewise',
    'configuration.LocalConfig.__delattr__': 'a setting that the thread had not set is unset again',
    'configuration.LocalConfig.__getattr__': 'a setting as this thread sees it',
    'configuration.LocalConfig.__setattr__': 'sets it for this thread, and counts it if it is not the default',
    # an update
    'optimizer.gradient_method.GradientMethod.update': 'what the user calls',
    'link.parameters.ParameterTree.params': 'the parameters, once per link',
    'link.parameters.ParameterTree._named_children': 'the links below: by name, by position, or none',
    'optimizer.grouped.GroupedUpdate.update': 'updates all parameters together',
    'optimizer.grouped.GroupedUpdate._add': 'whether a parameter can be updated with others',
    'optimizer.grouped.GroupedUpdate._place': 'finds the group of those with the same rule and values',
    'optimizer.grouped.GroupedUpdate._run': 'updates the groups, at the end or before a parameter that has none',
    'optimizer.grouped._Group.__init__': 'takes what the group has in common from its first rule',
    'optimizer.grouped._Block.run': 'gathers the arrays of a group, applies the formula, scatters the results',
    'optimizer.rule.UpdateRule._kept_states': 'some states are kept only with some hyperparameters',
    'optimizer.formula.FormulaRule.operands': 'NumPy takes 0-d arrays more quickly than Python numbers',
    'optimizer.formula.FormulaRule.coefficients': 'the numbers of a formula, by default its hyperparameters',
    'optimizer.formula._operand': 'a number that no earlier update had, such as the rate of Adam',
    'optimizers.sgd.SGDRule.formula': 'the arithmetic',
    'optimizers.adam.AdamRule.coefficients': 'the numbers of the formula, among them the rate of this update',
    'optimizers.adam.AdamRule.formula': 'the arithmetic',
    'optimizers.adam._learning_rate': 'the corrected rate, which users read as alpha_t',
    # the gradient checker, by module
    'gradient_check': 'what the user calls, and the verdict as an exception',
    'verification.additivity': 'gradients of sums, in other layouts: what random upstream gradients cannot see',
    'verification.arguments': 'inputs and parameters as one list of arrays; refuses what makes no sense',
    'verification.arrays': 'copies, so that nothing is shared, in several layouts',
    'verification.check': 'the order of the checks, cheap ones first',
    'verification.complex_numbers': 'complex numbers are checked as pairs of real ones; asks whether there are any',
    'verification.comparison': 'how far apart gradients may be that differ by rounding only',
    'verification.directional_derivatives': 'compares the gradient with slopes along few directions',
    'verification.directions': 'random directions in which every element counts; computes each point once',
    'verification.double_precision': 'takes the inputs to float64, where they are not',
    'verification.environment': 'puts back what the function may change; repeats the gradient in another thread',
    'verification.exact_checks': 'shapes, dtypes, repeatability, nothing written to: no tolerance is needed',
    'verification.reporting.explanation': 'the report in parts, of which text, page and picture are made',
    'verification.extrapolation': 'ends a check after a few differences where all is well',
    'verification.function_under_test': 'the function as one of a list of arrays, and its gradient',
    'verification.reporting.hints': 'refuses classes and single nodes, which cannot be called several times',
    'verification.leaf': 'measures one input along its directions, and looks whether each element was seen',
    'verification.linearity': 'the gradient is linear in the upstream gradient, bit by bit',
    'verification.reporting.message': 'the report as text',
    'verification.order_check': 'draws the upstream gradients',
    'verification.preparation': 'takes inputs and parameters to one dtype; finds parameters that are not registered',
    'verification.progress': 'shows how far a long check is',
    'verification.random_states': 'puts back the states of the random numbers that the function may draw',
    'verification.reachable': 'what the function can reach: its parameters and links',
    'verification.reporting.replay': 'names the arguments as the program does',
    'verification.reporting.report': 'the verdict',
}


class Hop(NamedTuple):
    """A function of the package that is entered."""

    module: str
    function: str

    def __str__(self) -> str:
        return f'{self.module}.{self.function}'


def workloads() -> dict[str, Callable[[], Any]]:
    """What is counted; everything is built beforehand."""
    x, W = (chainer.Variable(np.full((3, 4), value, 'f')) for value in (0.5, 2.0))
    labels = np.array([0, 1, 2], 'i')
    layer = L.Linear(4, 2)
    loss = F.sum(F.relu(x * W))

    def double_backward() -> None:
        (gx,) = chainer.grad([F.tanh(x)], [x], [W], enable_double_backprop=True)
        chainer.grad([gx], [x], [W])

    return {
        'x * W': lambda: x * W,
        'relu': lambda: F.relu(x),
        'softmax cross entropy': lambda: F.softmax_cross_entropy(x, labels),
        'L.Linear': lambda: layer(x),
        'backward': loss.backward,
        'double backward': double_backward,
        'SGD update of one parameter': _update(chainer.optimizers.SGD()),
        'Adam update of one parameter': _update(chainer.optimizers.Adam()),
        'check_gradients(F.tanh, x, precise=False)': lambda: check_gradients(
            F.tanh, np.full((2, 2), 0.3), precise=False
        ),
    }


def _update(optimizer: Any) -> Callable[[], None]:
    model = chainer.Link(w=3)
    optimizer.setup(model)
    for param in model.params():
        param.array[...] = param.grad = np.ones(3, 'f')
    return optimizer.update  # type: ignore[no-any-return]


def hops(workload: Callable[[], Any]) -> list[Hop]:
    """The functions of the package that the second call enters, in order."""
    workload()
    entered: list[Hop] = []

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == 'call' and PACKAGE in path.parents:
            module = '.'.join(path.relative_to(PACKAGE).with_suffix('').parts)
            entered.append(Hop(module, _name(frame)))

    sys.setprofile(profile)
    try:
        workload()
    finally:
        sys.setprofile(None)
    return entered


def _name(frame: FrameType) -> str:
    name = getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)  # Python 3.10 has the short name only
    return name.replace('.<locals>', '')


def reason_key(hop: Hop) -> str:
    """The name under which :data:`REASONS` has a hop: its own or one that it begins with; '' if there is none."""
    name = str(hop)
    while name and name not in REASONS:
        name = name.rpartition('.')[0]
    return name


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--list', metavar='WORKLOAD', choices=TARGETS, help='say why each call of a workload is made')
    chosen = parser.parse_args().list
    print(f'Python {sys.version.split()[0]}\n{"workload":<32}{"calls":>7}{"files":>7}{"target":>8}')
    for name, workload in workloads().items():
        found = hops(workload)
        files = {hop.module for hop in found}
        print(f'{name:<32}{len(found):>7}{len(files):>7}{TARGETS[name] or "":>8}')
        if name == chosen:
            for key, count in collections.Counter(reason_key(hop) or str(hop) for hop in found).items():
                print(f'    {count:>3} {key}: {REASONS.get(key, "?")}')
    return 0


if __name__ == '__main__':
    sys.exit(main())
