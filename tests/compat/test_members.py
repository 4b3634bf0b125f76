"""Private members of Chainer's classes, which they have while the alias is installed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import minichainer
from minichainer import compat
from minichainer.compat import members

ROWS = [(module, *row[:2]) for module, rows in members.rows().items() for row in rows]


def chainer(path: str = '') -> Any:
    return importlib.import_module(f'chainer.{path}' if path else 'chainer')


@pytest.mark.usefixtures('alias')
@pytest.mark.parametrize(('path', 'cls', 'name'), ROWS)
def test_a_member_is_there_only_with_the_alias(path: str, cls: str, name: str) -> None:
    owner = getattr(chainer(path), cls)
    assert name in vars(owner)
    compat.uninstall()
    assert name not in vars(owner)


@pytest.mark.usefixtures('alias')
def test_variables_say_that_they_are_not_of_chainerx() -> None:
    variable: Any = chainer().Variable(np.ones(2, 'f'), requires_grad=False)
    assert variable._has_chainerx_array is False and type(variable)._has_chainerx_array is False
    assert (variable._requires_grad, variable._layout, variable._grad_valid) == (False, None, True)
    assert variable._device == minichainer.get_device('@numpy')
    assert variable._get_array() is variable.array
    variable._set_grad(np.zeros(2, 'f'))
    assert variable._grad is variable.grad is variable._get_grad()
    assert variable._clear_chainerx() is None


@pytest.mark.usefixtures('alias')
def test_a_variable_without_checks() -> None:
    create = chainer().Variable._init_unchecked
    array = np.ones(2, 'f')
    variable = create(array, name='x', grad=np.zeros(2, 'f'), requires_grad=True, is_chainerx_array=False)
    assert (variable.array is array, variable.name, variable.requires_grad) == (True, 'x', True)
    np.testing.assert_array_equal(variable.grad, [0, 0])
    assert create(node=variable.node) is variable
    y = minichainer.functions.exp(variable)
    assert (y.node._rank, y.node._creator_node) == (1, y.creator_node)
    y.grad = np.ones(2, 'f')
    y.backward()
    np.testing.assert_allclose(variable.grad, np.exp(array), rtol=1e-6)


@pytest.mark.usefixtures('alias')
def test_a_value_may_be_set() -> None:
    trigger = chainer('training.triggers').EarlyStoppingTrigger()
    assert trigger.already_warning is False
    trigger.already_warning = True
    assert trigger.already_warning is True


@pytest.mark.usefixtures('alias')
def test_a_trainer_is_done_after_its_run() -> None:
    trainer: Any = chainer('testing').get_trainer_with_mock_updater()
    assert not trainer._done
    trainer.run()
    assert trainer._done


@pytest.mark.usefixtures('alias')
def test_an_update_rule_passes_parameters_of_chainerx_on() -> None:
    class Rule(chainer('optimizer').UpdateRule):  # type: ignore[misc]
        def update_core_cpu(self, param: Any) -> None:
            seen.append(param)

    seen: list[Any] = []
    param = minichainer.Parameter(np.ones(2, 'f'))
    Rule().update_core_chainerx(param)
    assert seen == [param]


@pytest.mark.usefixtures('alias')
def test_hooks_of_optimizers_are_seen() -> None:
    optimizer = chainer('optimizers').SGD()
    chainer('optimizer')
    with pytest.raises(RuntimeError, match='setup'):
        optimizer._check_set_up()
    assert optimizer._hookable._pre_update_hooks == {}
    optimizer.setup(minichainer.links.Linear(2, 2))
    assert optimizer._check_set_up() is None
    optimizer.add_hook(minichainer.optimizer_hooks.WeightDecay(0.1))
    assert list(optimizer._pre_update_hooks) == ['WeightDecay'] and not optimizer._post_update_hooks
    rule = optimizer.target.W.update_rule
    rule.add_hook(print, name='told', timing='post')
    assert list(rule._hookable._post_update_hooks) == ['told'] and not rule._pre_update_hooks


@pytest.mark.usefixtures('alias')
def test_what_a_function_retains_is_seen() -> None:
    class Double(chainer().FunctionNode):  # type: ignore[misc]
        def forward(self, inputs: Any) -> Any:
            self.retain_inputs(())
            self.retain_outputs((0,))
            retained.append((self._input_indexes_to_retain, self._output_indexes_to_retain))
            return (2 * inputs[0],)

    retained: list[Any] = []
    node = Double()
    node.apply((np.ones(2),))
    assert retained == [((), (0,))]
    assert (node._n_local_function_hooks, len(node._local_function_hooks)) == (0, 0)
    node.add_hook(minichainer.function_hooks.TimerHook())
    assert node._n_local_function_hooks == 1


@pytest.mark.usefixtures('alias')
def test_a_call_of_binary_accuracy_gives_a_variable() -> None:
    BinaryAccuracy = chainer('functions.evaluation.binary_accuracy').BinaryAccuracy
    y = BinaryAccuracy()(np.array([1.0, -1.0]), np.array([1, 1], 'i'))
    assert isinstance(y, minichainer.Variable) and float(y.array) == 0.5
    assert BinaryAccuracy.ignore_label == -1
    R2_score = chainer('functions.evaluation.r2_score').R2_score
    assert R2_score(None, 'uniform_average')(np.array([1.0, 2.0]), np.array([1.0, 2.0])).shape == ()


@pytest.mark.usefixtures('alias')
def test_settings_of_updaters_links_and_iterators() -> None:
    iterator = chainer('iterators').SerialIterator([1, 2], 1, repeat=False)
    assert iterator._repeat is False
    optimizer = minichainer.optimizers.SGD().setup(minichainer.links.Linear(1, 1))
    chainer('training.updaters')
    updater: Any = minichainer.training.StandardUpdater(iterator, optimizer, loss_scale=3)
    assert updater.loss_scale == 3
    chainer('links.normalization.batch_normalization')
    assert minichainer.links.BatchNormalization(2, dtype='e')._highprec_dtype == np.float16
    chainer('links.connection.convolution')
    convolution: Any = minichainer.links.Convolution2D(1, 2, 3)
    assert (convolution.x_layout, convolution.cudnn_fast) == (None, False)
    assert chainer('distributions').Normal(np.zeros(2), np.ones(2))._is_gpu is False
