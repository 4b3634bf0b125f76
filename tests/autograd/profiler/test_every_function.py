"""Every public function under every kind of profile: results stay, and what has run has a row."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
from minichainer import _trace, autograd, function_hooks, link_hooks
from minichainer.autograd.profiler import profile
from minichainer.autograd.profiler.nvtx import _Ranges
from minichainer.functions import elementwise, primitive, reduction
from tests.functions.checks import bound, upstream_of
from tests.functions.over_cases import over_cases
from tests.functions.row import Case, Row
from tests.functions.table import CASES


class Quiet(chainer.FunctionHook):
    """Watches, and does nothing."""

    name = 'quiet'

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        """Does nothing."""


class Ranges:
    """Stands for CuPy's module nvtx."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.seen: list[str] = []

    def RangePush(self, name: str) -> None:
        self.open.append(name)
        self.seen.append(name)

    def RangePop(self) -> None:
        self.open.pop()


@contextlib.contextmanager
def emitting(outer: profile | None = None) -> Any:
    """What emit_nvtx does inside its block, without a GPU."""
    ranges = Ranges()
    with outer or contextlib.nullcontext():
        trace = _Ranges(_trace.current(), ranges, True)
        _trace.start(trace)
        try:
            yield outer
        finally:
            _trace.stop(trace)
    assert not ranges.open


@contextlib.contextmanager
def entered(*contexts: Any) -> Any:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(context) for context in contexts]


DETAILS = {'record_shapes': True, 'profile_memory': True, 'with_stack': True}
#: Makes contexts; profiles among them must record.
PROFILES: dict[str, Callable[[], Any]] = {
    'profile': profile,
    'profile in detail': lambda: profile(**DETAILS),
    'nested profiles': lambda: entered(profile(), profile(), profile(record_shapes=True)),
    'TimerHook': function_hooks.TimerHook,
    'link TimerHook': link_hooks.TimerHook,
    'profile with a hook': lambda: entered(profile(), Quiet()),
    'TimerHook around a profile': lambda: entered(function_hooks.TimerHook(), profile()),
    'emit_nvtx': emitting,
    'emit_nvtx in a profile': lambda: emitting(profile()),
    'profile in forward mode': lambda: entered(profile(), autograd.forward_ad.dual_level()),
    'profile in debug mode': lambda: entered(profile(), chainer.using_config('debug', True)),
    'profile in anomaly mode': lambda: entered(profile(), autograd.detect_anomaly()),
}
WITHOUT_GRAPH: dict[str, Callable[[], Any]] = {
    'no_backprop_mode': chainer.no_backprop_mode,
    'no_grad': autograd.no_grad,
    'inference_mode': autograd.inference_mode,
    'set_grad_enabled(False)': lambda: autograd.set_grad_enabled(False),
}
#: The first case of each row.
ONE_EACH = {str(row): (row, case) for _, row, case in reversed(CASES)}.values()


#: No function of the graph, as in Chainer, so that hooks and profiles do not see them; and why.
_STEP = 'a step function'
_COUNTS = 'counts elements'
_SAME = 'returns its argument'
WITHOUT_A_NODE = {
    **dict.fromkeys(('sign', 'fix', 'floor', 'ceil'), _STEP),
    **{f'__{r}floordiv__{kind}': _STEP for r in ('', 'r') for kind in ('', '[array]', '[number]')},
    'norm[count]': _COUNTS,
    **dict.fromkeys(('sum_to[same shape]', 'reshape[same shape]'), _SAME),
}
#: Functions that do something else where no graph is wanted, and why.
OTHERWISE_WITHOUT_GRAPH = {
    'cast': 'returns its argument if the dtype is right and no graph is recorded, as documented'
}


def rows_of(entered_: Any) -> Counter[str]:
    """Names of forward rows of the profiles among contexts."""
    profiles = [p for p in (entered_ if isinstance(entered_, list) else [entered_]) if isinstance(p, profile)]
    return Counter(event.name for event in profiles[0].function_events if event.phase == 'forward')


def outcome(row: Row, case: Case, context: Any) -> tuple[list[Any], list[Any], Any]:
    """Results and gradients, and what the context gave."""
    np.random.seed(3)
    function, xs = bound(row, case, row.draw(case))
    gys = upstream_of(function, xs)
    variables = [chainer.Variable(x) for x in xs]
    np.random.seed(3)
    with context as given:
        ys = function(*variables)
        roots = [y for y in ys if y.requires_grad]
        for y, gy in zip(ys, gys, strict=True):
            y.grad = gy
        if roots:
            chainer.backward(roots)
    return [y.array for y in ys], [x.grad for x in variables], given


@over_cases(ONE_EACH)
@pytest.mark.filterwarnings('ignore')  # of anomaly mode, and of functions themselves
def test_results_are_those_without_a_profile(row: Row, case: Case) -> None:
    expected = outcome(row, case, contextlib.nullcontext())[:2]
    has_nan = any(np.isnan(y).any() for y in expected[0])  # ratios of nothing
    for name, make in PROFILES.items():
        if 'debug mode' in name and has_nan:  # which is an error there
            continue
        *found, given = outcome(row, case, make())
        for mine, theirs in zip([*found[0], *found[1]], [*expected[0], *expected[1]], strict=True):
            if mine is None or theirs is None:
                assert mine is theirs, name
                continue
            # In forward mode some functions are composed of others, with other roundings.
            rtol = 1e-13 if 'forward mode' in name else 0
            np.testing.assert_allclose(mine, theirs, rtol, rtol, err_msg=name)
        if 'rofile' in name:
            assert bool(rows_of(given)) != (str(row) in WITHOUT_A_NODE), name


@over_cases(ONE_EACH)
def test_the_same_ops_have_rows_without_a_graph(row: Row, case: Case) -> None:
    def names(make: Callable[[], Any]) -> Counter[str]:
        np.random.seed(3)
        function, xs = bound(row, case, row.draw(case))
        with profile() as recorded, make():
            function(*[chainer.Variable(x) for x in xs])
        return rows_of(recorded)

    expected = names(contextlib.nullcontext)
    for name, make in WITHOUT_GRAPH.items():
        found = names(make)
        assert (found == expected) != (str(row) in OTHERWISE_WITHOUT_GRAPH), (name, found, expected)


def test_ops_of_users() -> None:
    @reduction(lambda m, gy, x: 2 * gy * x)
    def sum_of_squares(xp: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return (x * x).sum(axis=axis, keepdims=keepdims)

    @elementwise(lambda m, gy, x: 2 * gy * x)
    def squared(xp: Any, x: Any) -> Any:
        return x * x

    @primitive(rule=(lambda m, gy, x: 2 * gy * x,))
    def also_squared(xp: Any, x: Any) -> Any:
        return x * x

    x = chainer.Variable(np.ones((2, 3), np.float32))
    for make in (profile, lambda: profile(**DETAILS)):
        with make() as recorded:
            F.sum(squared(x) + also_squared(x)).backward()
            sum_of_squares(x, axis=1)
        names = [event.name for event in recorded.function_events if event.phase == 'forward']
        assert names == ['Squared', 'AlsoSquared', 'Add', 'Sum', 'SumOfSquares']


def names_of(recorded: profile) -> list[str]:
    return [event.name for event in recorded.function_events]


def test_inside_of_functions_of_users() -> None:
    class Twice(autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return F.tanh(x) * 2

        @staticmethod
        def backward(ctx: Any, gy: Any) -> Any:
            return gy * 2

    class Old(chainer.Function):
        def forward(self, xs: Any) -> Any:
            return (F.exp(xs[0]).array,)

    x = chainer.Variable(np.ones(3, np.float32))
    with profile() as recorded:
        Twice.apply(x)
        Old()(x)
    assert names_of(recorded) == ['Twice', 'Tanh', 'MulConstant', 'FunctionAdapter', 'Exp']
    twice, tanh, times, _, _ = recorded.function_events
    assert tanh.cpu_parent is twice and times.cpu_parent is twice


# --- time spent in hooks ---


class Watching(chainer.FunctionHook):
    name = 'watching'

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        """Does nothing."""

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        """Does nothing."""

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        """Does nothing."""

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        """Does nothing."""


class LinkWatching(chainer.LinkHook):
    name = 'watching'

    def forward_preprocess(self, args: Any) -> None:
        """Does nothing."""

    def forward_postprocess(self, args: Any) -> None:
        """Does nothing."""


def on_gradient(gradient: Any) -> None:
    """Does nothing."""


def on_node(*gradients: Any) -> None:
    """Does nothing."""


def on_variable(variable: Any) -> None:
    """Does nothing."""


def in_function_hook(x: Any) -> None:
    with Watching():
        F.sum(F.tanh(x)).backward()


def in_local_function_hook(x: Any) -> None:
    y = F.tanh(x)
    y.creator_node.add_hook(Watching())
    F.sum(y).backward()


def in_link_hook(x: Any) -> None:
    with LinkWatching():
        chainer.links.Linear(3, 2)(x)


def in_optimizer_hooks(x: Any) -> None:
    link = chainer.links.Linear(3, 2)
    optimizer = chainer.optimizers.SGD().setup(link)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.0))
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    link.W.update_rule.add_hook(lambda rule, param: None, name='own')
    link.cleargrads()
    F.sum(link(x)).backward()
    optimizer.update()


def in_variable_hooks(x: Any) -> None:
    y = F.tanh(x)
    y.register_hook(on_gradient)
    x.register_hook(on_gradient)
    y.grad_fn.register_hook(on_node)
    y.grad_fn.register_prehook(on_node)
    x.register_post_accumulate_grad_hook(on_variable)
    F.sum(y).backward()


def in_saved_hooks(x: Any) -> None:
    with autograd.graph.saved_tensors_hooks(lambda a: a, lambda a: a):
        y = F.tanh(x)
    F.sum(y).backward()


FORWARD = ['Watching.forward_preprocess', 'Watching.forward_postprocess']
BACKWARD = ['Watching.backward_preprocess', 'Watching.backward_postprocess']
HOOKED: dict[str, tuple[Callable[[Any], None], Counter[str]]] = {
    'function hook': (in_function_hook, Counter(2 * [*FORWARD, *BACKWARD])),
    'hook of one function': (in_local_function_hook, Counter(BACKWARD)),
    'link hook': (in_link_hook, Counter(['LinkWatching.forward_preprocess', 'LinkWatching.forward_postprocess'])),
    'optimizer hooks': (
        in_optimizer_hooks,
        Counter(
            [
                'hook GradientClipping',
                'hook WeightDecay',
                'hook WeightDecay',
                'hook in_optimizer_hooks.<locals>.<lambda>',
            ]
        ),
    ),
    'hooks of Variables': (
        in_variable_hooks,
        Counter(['hook on_gradient', 'hook on_gradient', 'hook on_node', 'hook on_node', 'hook on_variable']),
    ),
    'hooks of saved arrays': (
        in_saved_hooks,
        Counter(['saved_tensors_hooks.pack', 'saved_tensors_hooks.unpack']),
    ),
}


@pytest.mark.parametrize(('run', 'expected'), HOOKED.values(), ids=HOOKED)
@pytest.mark.parametrize('options', [{}, DETAILS])
def test_hooks_have_rows(run: Callable[[Any], None], expected: Counter[str], options: Any) -> None:
    x = chainer.Variable(np.ones((2, 3), np.float32))
    with profile(**options) as recorded:
        run(x)
    assert Counter(event.name for event in recorded.function_events if event.phase == 'user') == expected


def test_hooks_without_a_method_have_no_rows() -> None:
    x = chainer.Variable(np.ones(3, np.float32))
    with profile() as recorded, Quiet():
        F.sum(F.tanh(x)).backward()
    assert Counter(names_of(recorded))['Quiet.forward_preprocess'] == 2
    assert not any(name.startswith('Quiet') and 'forward_preprocess' not in name for name in names_of(recorded))


# --- torch 2's names ---


@pytest.mark.parametrize(
    'name',
    ['device_time', 'device_time_total', 'self_device_time_total', 'device_memory_usage', 'self_device_memory_usage'],
)
def test_device_names(name: str, tmp_path: Any) -> None:
    with profile(with_stack=True) as recorded:
        F.tanh(chainer.Variable(np.ones(3, np.float32)))
    averages = recorded.key_averages()
    assert 'Tanh' in averages.table(sort_by=name)
    old = name.replace('device', 'cuda')
    for event in (recorded.function_events[0], averages[0], averages.total_average()):
        assert getattr(event, name) == getattr(event, old)
        assert event.device_time_str == event.cuda_time_str
    recorded.export_stacks(tmp_path / 'stacks.txt', 'self_device_time_total')
