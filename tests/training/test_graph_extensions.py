"""Extensions that draw: the graph of a loss, and statistics of parameters."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minichainer import config, report
from minichainer.backends import cuda
from minichainer.links import Classifier, Linear
from minichainer.serializers.npz import DictionarySerializer, NpzDeserializer, load_npz, save_npz
from minichainer.training import extensions
from minichainer.training.extensions.variable_statistics_plot import Reservoir, Statistician
from minichainer.variable import Parameter, Variable


def entries(extension: Any) -> dict[str, Any]:
    serializer = DictionarySerializer()
    extension.serialize(serializer)
    return dict(serializer.target)


# --- DumpGraph -----------------------------------------------------------------------------------------------------
@pytest.fixture(params=['with graphviz', 'without'])
def graphviz(request: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether there is a program dot; it copies its input."""
    program = tmp_path / 'dot'
    program.write_text('#!/bin/sh\ncat\n', encoding='utf-8')
    program.chmod(0o755)
    found = str(program) if request.param == 'with graphviz' else None
    monkeypatch.setattr('shutil.which', lambda name, **_: found)
    return found is not None


def _files(trainer: Any) -> dict[str, str]:
    return {path.name: path.read_text(encoding='utf-8') for path in Path(trainer.out).iterdir()}


def test_a_graph_is_written_once_with_a_picture(make_trainer: Any, graphviz: bool) -> None:
    trainer = make_trainer()
    times: list[int] = []

    class Counted(extensions.DumpGraph):
        def __call__(self, trainer: Any) -> None:
            times.append(trainer.updater.iteration)
            super().__call__(trainer)

    trainer.extend(Counted('main/loss', variable_style={'shape': 'oval'}, function_style={'shape': 'star'}))
    kept = []
    trainer.extend(lambda t: kept.append(t.observation['main/loss'].creator is not None), trigger=(1, 'iteration'))
    trainer.run()
    assert times == [1]
    assert kept == [True, False, False, False, False]
    assert not config.keep_graph_on_report
    files = _files(trainer)
    assert sorted(files) == ['cg.dot', 'cg.png' if graphviz else 'cg.svg']
    assert '[label="SoftmaxCrossEntropy",shape="star"];' in files['cg.dot']
    assert '[label="W: (5, 4), float32",shape="oval"];' in files['cg.dot']
    if graphviz:
        assert files['cg.png'] == files['cg.dot']
    else:
        assert files['cg.svg'].startswith('<svg') and 'SoftmaxCrossEntropy' in files['cg.svg']


@pytest.mark.parametrize('name', ['filename', 'out_name'])
def test_only_the_picture(make_trainer: Any, graphviz: bool, name: str) -> None:
    trainer = make_trainer((1, 'iteration'))
    trainer.extend(extensions.DumpGraph('main/loss', **{name: 'graph.svg'}))
    trainer.run()
    (text,) = _files(trainer).values()
    assert text.startswith('digraph' if graphviz else '<svg')


def test_large_graphs_are_not_given_to_graphviz(make_trainer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('minichainer.training.extensions.computational_graph.MANY_NODES', 10)
    monkeypatch.setattr('shutil.which', lambda name, **_: 'no such program')
    trainer = make_trainer((1, 'iteration'))
    trainer.extend(extensions.DumpGraph('main/loss'))
    trainer.run()
    assert sorted(_files(trainer)) == ['cg.dot', 'cg.svg']


def test_another_trigger(make_trainer: Any) -> None:
    trainer = make_trainer((3, 'iteration'))
    trainer.extend(extensions.DumpGraph('main/loss'), trigger=(2, 'iteration'))
    trainer.run()
    assert (Path(trainer.out) / 'cg.dot').exists()
    assert not config.keep_graph_on_report


def test_not_again_after_a_resumption(make_trainer: Any) -> None:
    extension = extensions.DumpGraph('main/loss')
    assert extension.trigger(None)
    assert not extension.trigger(None)
    loaded = extensions.DumpGraph('main/loss')
    loaded.serialize(NpzDeserializer(entries(extension)))
    loaded.initialize(None)
    assert not config.keep_graph_on_report
    assert not loaded.trigger(None)


def test_a_run_resumed_within_the_first_iteration_writes_the_graph_of_the_next(
    make_trainer: Any, graphviz: bool, tmp_path: Path
) -> None:
    """A snapshot has the numbers that were reported, but not their graphs."""

    def make() -> Any:
        trainer = make_trainer()
        trainer.extend(extensions.DumpGraph('main/loss'))
        return trainer

    part, rest = make(), make()
    part.extend(lambda t: 1 / 0, name='broken', priority=400, trigger=(1, 'iteration'))
    with pytest.raises(ZeroDivisionError):
        part.run(show_loop_exception_msg=False)
    save_npz(tmp_path / 'snapshot', part)
    load_npz(tmp_path / 'snapshot', rest, strict=False)
    rest.run()
    assert 'cg.dot' in _files(rest)
    assert not config.keep_graph_on_report


BAD_ROOTS = [
    (
        'main/nothing',
        KeyError,
        r"'main/nothing' has not been reported; there are \['main/accuracy', 'main/loss', 'n'",
    ),
    ('n', TypeError, "root value is not a Variable: 'n' is of <class 'float'>"),
]


@pytest.mark.parametrize(('root', 'error', 'message'), BAD_ROOTS)
def test_what_is_no_root(make_trainer: Any, root: str, error: type[Exception], message: str) -> None:
    trainer = make_trainer()
    trainer.extend(lambda t: report({'n': 1.0}), priority=400, trigger=(1, 'iteration'))
    trainer.extend(extensions.DumpGraph(root))
    with pytest.raises(error, match=message):
        trainer.run(show_loop_exception_msg=False)
    assert _files(trainer) == {}
    assert not config.keep_graph_on_report


def test_a_run_that_ends_before_leaves_the_setting_alone(make_trainer: Any) -> None:
    trainer = make_trainer()
    trainer.extend(extensions.DumpGraph('main/loss'), trigger=(100, 'epoch'))
    trainer.extend(lambda t: 1 / 0, name='broken', trigger=(2, 'iteration'))
    with pytest.raises(ZeroDivisionError):
        trainer.run(show_loop_exception_msg=False)
    assert not config.keep_graph_on_report


# --- VariableStatisticsPlot ----------------------------------------------------------------------------------------
def test_a_reservoir_keeps_all_while_there_is_room() -> None:
    reservoir = Reservoir(3, (2,))
    reservoir.add(np.array([7.0, 8.0]), idx=9)
    reservoir.add([1, 2], idx=4)
    numbers, values = reservoir.get_data()
    assert numbers.tolist() == [4, 9] and numbers.dtype == np.int32
    np.testing.assert_array_equal(values, [[1, 2], [7, 8]])
    assert values.dtype == np.float32


def test_a_reservoir_is_a_fair_sample_in_order() -> None:
    reservoir, count = Reservoir(200, ()), 20_000
    for i in range(count):
        reservoir.add(float(i))
    numbers, values = reservoir.get_data()
    assert (np.diff(numbers) > 0).all() and numbers.tolist() == values.tolist()
    quarters = np.bincount(numbers * 4 // count, minlength=4)
    assert (abs(quarters - 50) < 25).all()  # four standard deviations of a fair sample


@pytest.mark.parametrize('axis', [None, 0, (0, 1)])
def test_a_statistician_is_numpys(axis: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    found = Statistician(True, True, (0, 50, 100)).collect(x, axis=axis)
    assert list(found) == ['mean', 'std', 'percentile']
    np.testing.assert_array_equal(found['mean'], x.mean(axis))
    np.testing.assert_array_equal(found['std'], x.std(axis))
    np.testing.assert_array_equal(found['percentile'], np.percentile(x, (0, 50, 100), axis=axis))
    assert list(Statistician(False, True, ()).collect(x, None)) == ['std']


def _call(plot: Any, folder: Path, iteration: int = 1) -> None:
    plot(SimpleNamespace(updater=SimpleNamespace(iteration=iteration, epoch_detail=0.5), out=str(folder)))


def test_values_and_gradients_of_all_variables_are_taken_together(tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    layer, other = Linear(2, 3), Variable(np.array([5.0], 'f'))
    layer.b.grad = np.arange(3, dtype='f')
    plot = extensions.VariableStatisticsPlot([layer, [other, layer]], percentile_sigmas=(0, 50, 100))
    plot._trigger = lambda trainer: False
    layer.b.grad, layer.W.grad = np.arange(3, dtype='f'), None
    _call(plot, tmp_path, 4)
    numbers, ((values, gradients),) = plot._samples.get_data()
    everything = np.concatenate([layer.W.array.ravel(), layer.b.array, other.array])
    expected = [everything.mean(), everything.std(), *np.percentile(everything, (0, 50, 100))]
    assert numbers.tolist() == [4]
    np.testing.assert_allclose(values, expected, rtol=1e-6)
    np.testing.assert_allclose(gradients, [1, np.std([0, 1, 2]), 0, 1, 2], rtol=1e-6)


def test_without_values_or_gradients_there_are_nans(tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    plot = extensions.VariableStatisticsPlot(Parameter(), percentile_sigmas=3)
    plot._trigger = lambda trainer: False
    _call(plot, tmp_path)
    assert np.isnan(plot._samples.get_data()[1]).all()


DRAWN = {
    'all': ({}, (2, 2), [['mean, std'], ['mean, std'], ['percentile'], ['percentile']]),
    'values': ({'report_grad': False}, (2, 1), [['mean, std'], ['percentile']]),
    'mean': ({'plot_std': False, 'percentile_sigmas': ()}, (1, 2), [['mean'], ['mean']]),
    'std': ({'plot_mean': False, 'percentile_sigmas': (), 'report_data': False}, (1, 1), [['std']]),
    'percentiles': ({'plot_mean': False, 'plot_std': False}, (1, 2), [['percentile'], ['percentile']]),
    'one percentile': (
        {'plot_mean': False, 'plot_std': False, 'percentile_sigmas': 50, 'marker': 'x', 'grid': False},
        (1, 2),
        [['percentile'], ['percentile']],
    ),
    'an even number of percentiles': (
        {'percentile_sigmas': (5, 95), 'report_grad': False},
        (2, 1),
        [['mean, std'], ['percentile']],
    ),
}  # fmt: skip


@pytest.mark.parametrize('name', DRAWN)
def test_what_is_drawn(name: str, tmp_path: Path) -> None:
    pyplot = pytest.importorskip('matplotlib.pyplot')
    options, shape, legends = DRAWN[name]
    drawn: list[Any] = []

    class Plot(extensions.VariableStatisticsPlot):
        def save_plot_using_module(self, file_path: str, plt: Any) -> None:
            assert plt is pyplot
            figures = SimpleNamespace(subplots=self._subplots, close=plt.close)
            super().save_plot_using_module(file_path, figures)

        def _subplots(self, *args: Any, **kwargs: Any) -> Any:
            figure, axes = pyplot.subplots(*args, **kwargs)
            drawn.append(axes)
            return figure, axes

    layer = Linear(3, 4)
    plot = Plot(layer, trigger=(3, 'iteration'), filename='a.png', figsize=(5, 4), **options)
    for iteration in range(1, 4):
        layer.W.grad = layer.W.array * iteration
        layer.b.grad = layer.b.array + 1
        _call(plot, tmp_path, iteration)
    (axes,) = drawn
    assert axes.shape == shape
    assert [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes.ravel()] == legends
    assert (tmp_path / 'a.png').read_bytes().startswith(b'\x89PNG')
    assert os.listdir(tmp_path) == ['a.png']
    assert pyplot.get_fignums() == []


def test_a_plot_does_not_change_the_training(tmp_path: Path) -> None:
    pytest.importorskip('matplotlib')
    np.random.seed(0)
    plot = extensions.VariableStatisticsPlot(Variable(np.ones(3)), max_sample_size=2)
    plot._trigger = lambda trainer: False
    before = np.random.get_state()[1].tolist()
    for iteration in range(9):
        _call(plot, tmp_path, iteration)
    assert np.random.get_state()[1].tolist() == before


@pytest.mark.parametrize('available', [True, False])
def test_availability(monkeypatch: pytest.MonkeyPatch, available: bool, tmp_path: Path) -> None:
    monkeypatch.setattr('importlib.util.find_spec', lambda name: object() if available else None)
    if available:
        assert extensions.VariableStatisticsPlot.available()
        return
    with pytest.warns(UserWarning, match='VariableStatisticsPlot needs matplotlib, which is not installed'):
        plot = extensions.VariableStatisticsPlot(Linear(2, 3))
    _call(plot, tmp_path)
    assert os.listdir(tmp_path) == []


REFUSED = [
    ({'targets': []}, 'need at least one variable'),
    ({'targets': 'a'}, 'need at least one variable'),
    ({'targets': Linear(2, 3), 'plot_mean': False, 'plot_std': False, 'percentile_sigmas': ()}, 'Nothing to plot'),
    ({'targets': Linear(2, 3), 'report_data': False, 'report_grad': False}, 'Nothing to plot'),
    ({'targets': Linear(2, 3), 'max_sample_size': 0}, 'max_sample_size must be at least 1, got 0'),
]


@pytest.mark.parametrize(('arguments', 'message'), REFUSED)
def test_refused_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        extensions.VariableStatisticsPlot(**arguments)


def test_snapshots_of_chainer_have_no_statistics() -> None:
    pytest.importorskip('matplotlib')
    plot = extensions.VariableStatisticsPlot(Classifier(Linear(2, 3)), 3)
    plot._samples.add(np.zeros((2, 11)))
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # the trigger says that it is missing, too
        plot.serialize(NpzDeserializer({}))
    assert plot._samples.counter == 1
    assert cuda.to_cpu(plot._samples.data).shape == (3, 2, 11)


def test_polynomial_shift_says_that_it_is_called_before_training() -> None:
    assert extensions.PolynomialShift.invoke_before_training is True
