"""Link: what belongs to it, copies, gradients, devices; on links of two parameters and a persistent."""

from __future__ import annotations

import copy
import logging
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

from minichainer.initializers.constant import Constant
from minichainer.link import Chain, Link
from minichainer.links.connection.linear import Linear
from minichainer.sequential import Sequential
from minichainer.serializers import DictionarySerializer
from minichainer.variable import Parameter


class Affine(Link):
    """Module-level, so that it can be pickled."""

    def __init__(self, size: int = 3) -> None:
        super().__init__()
        with self.init_scope():
            self.w = Parameter(np.arange(1, size + 1, dtype=np.float32))
            self.b = Parameter(Constant(2), (size,))
            self.late = Parameter(Constant(7))
        self.add_persistent('seen', np.zeros(2, np.int32))
        self.free = [1, 2]

    def forward(self, x: Any) -> Any:
        return x * self.w.array + self.b.array


class Forgetful(Link):
    """Does not call ``super().__init__()``."""

    def __init__(self) -> None:
        self.size = 3


@pytest.fixture
def link() -> Affine:
    return Affine()


def test_call_goes_to_forward(link: Affine) -> None:
    np.testing.assert_array_equal(link(np.ones(3)), [3, 4, 5])


def test_link_without_forward_says_so() -> None:
    with pytest.raises(AttributeError, match="'Link' object has no attribute 'forward'"):
        Link()(1)


def test_attribute_error_inside_a_property_is_not_hidden() -> None:
    class WithProperty(Link):
        @property
        def depth(self) -> int:
            return self.nothing_of_that_name  # type: ignore[no-any-return]

    with pytest.raises(AttributeError, match='nothing_of_that_name'):
        WithProperty().depth  # noqa: B018


@pytest.mark.parametrize(
    'use',
    [
        lambda link: link(1),
        lambda link: link.init_scope().__enter__(),
        lambda link: list(link.params()),
        lambda link: link.cleargrads(),
        lambda link: link.add_persistent('k', 1),
        lambda link: link.serialize(DictionarySerializer()),
    ],
)
def test_forgotten_super_init_has_its_words(use: Any) -> None:
    with pytest.raises(RuntimeError, match=r'Link\.__init__\(\) has not been called.*Forgetful\.__init__'):
        use(Forgetful())


def test_params_are_sorted_by_name(link: Affine) -> None:
    assert [name for name, _ in link.namedparams()] == ['/b', '/late', '/w']
    assert [name for name, _ in link.namedparams(include_uninit=False)] == ['/b', '/w']
    assert list(link.params()) == [link.b, link.late, link.w]
    assert list(link.params(include_uninit=False)) == [link.b, link.w]
    assert link.w.name == 'w'


def test_only_parameters_set_inside_init_scope_belong() -> None:
    link = Link()
    link.outside = Parameter(Constant(0), 2)
    with link.init_scope():
        assert link.within_init_scope
        with link.init_scope():
            link.inside = Parameter(Constant(0), 2)
        assert link.within_init_scope
        link.number = 3
    assert not link.within_init_scope
    assert [name for name, _ in link.namedparams()] == ['/inside']


def test_init_scope_ends_with_an_exception() -> None:
    link = Link()
    with pytest.raises(ZeroDivisionError), link.init_scope():
        raise ZeroDivisionError
    assert not link.within_init_scope


def test_constructor_makes_params_of_shapes() -> None:
    link = Link(a=(2, 3), b=4, c=((2,), np.float64))
    found = {name: (param.shape, param.dtype.name) for name, param in link.namedparams()}
    assert found == {'/a': ((2, 3), 'float32'), '/b': ((4,), 'float32'), '/c': ((2,), 'float64')}
    assert np.isnan(link.a.array).all()


@pytest.mark.parametrize(
    ('kwargs', 'expected'),
    [
        ({'shape': (2,)}, np.full(2, np.nan, np.float32)),
        ({'shape': 2, 'dtype': np.float64}, np.full(2, np.nan)),
        ({'shape': (2,), 'initializer': 5}, np.full(2, 5, np.float32)),
        ({'shape': (2,), 'initializer': np.array([1, 2], np.float32)}, np.array([1, 2], np.float32)),
        ({}, None),
    ],
)
def test_add_param(kwargs: dict[str, Any], expected: Any) -> None:
    link = Link()
    link.add_param('w', **kwargs)
    if expected is None:
        assert link.w.array is None
    else:
        np.testing.assert_array_equal(link.w.array, expected)
        assert link.w.dtype == expected.dtype


@pytest.mark.parametrize(
    ('add', 'what'),
    [
        (lambda link: link.add_param('w', (2,)), 'parameter w'),
        (lambda link: link.add_param('free', (2,)), 'parameter free'),
        (lambda link: link.add_param('_params', (2,)), 'parameter _params'),
        (lambda link: link.add_persistent('w', 1), 'persistent value w'),
        (lambda link: link.add_persistent('seen', 1), 'persistent value seen'),
    ],
)
def test_a_name_is_given_once(link: Affine, add: Any, what: str) -> None:
    with pytest.raises(AttributeError, match=f'cannot register a new {what}: attribute exists'):
        add(link)
    assert [name for name, _ in link.namedparams()] == ['/b', '/late', '/w']


def test_names_are_strings(link: Affine) -> None:
    with pytest.raises(TypeError, match='name of a parameter must be a string, got 3'):
        link.add_param(3)  # type: ignore[arg-type]


def test_register_persistent(link: Affine) -> None:
    link.register_persistent('free')
    serializer = DictionarySerializer()
    serializer.save(link)
    assert sorted(serializer.target) == ['b', 'free', 'late', 'seen', 'w']
    with pytest.raises(AttributeError, match='non-existent attribute nothing as a persistent value'):
        link.register_persistent('nothing')


def test_persistent_and_parameter_replace_each_other(link: Affine) -> None:
    link.register_persistent('w')
    assert [name for name, _ in link.namedparams()] == ['/b', '/late']
    link.w = 5
    with link.init_scope():
        link.seen = Parameter(Constant(0), 1)
    assert [name for name, _ in link.namedparams()] == ['/b', '/late', '/seen']
    serializer = DictionarySerializer()
    serializer.save(link)
    assert {name: value.shape for name, value in serializer.target.items()} == {
        'b': (3,),
        'late': (),
        'seen': (1,),
        'w': (),
    }


def test_deleted_attributes_belong_no_longer(link: Affine) -> None:
    del link.w, link.seen
    serializer = DictionarySerializer()
    serializer.save(link)
    assert sorted(serializer.target) == ['b', 'late']


def test_links_and_children_of_a_leaf(link: Affine) -> None:
    assert list(link.links()) == [link]
    assert list(link.links(skipself=True)) == []
    assert list(link.namedlinks()) == [('/', link)]
    assert list(link.namedlinks(skipself=True)) == []
    assert list(link.children()) == []


def test_count_params_warns_of_what_it_cannot_count(link: Affine) -> None:
    with pytest.warns(UserWarning, match="Parameter '/late' has not been initialized"):
        assert link.count_params() == 6
    link.late.initialize((4,))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        assert link.count_params() == 10


# --- copies ---


def test_shared_copy_has_the_arrays_but_not_the_gradients(link: Affine) -> None:
    link.w.grad = np.ones(3, np.float32)
    link.name = 'original'
    clone = link.copy()
    assert clone.name is None
    assert clone.w is not link.w
    assert clone.w.array is link.w.array
    assert clone.w.grad is None
    assert clone.seen is link.seen
    assert clone.free is link.free


def test_copy_is_registered_by_itself(link: Affine) -> None:
    clone = link.copy()
    clone.add_param('extra', 2)
    clone.add_persistent('more', 1)
    serializer = DictionarySerializer()
    serializer.save(link)
    assert sorted(serializer.target) == ['b', 'late', 'seen', 'w']


def test_full_copy_shares_nothing(link: Affine) -> None:
    clone = link.copy('copy')
    np.testing.assert_array_equal(clone.w.array, link.w.array)
    assert not np.shares_memory(clone.w.array, link.w.array)
    assert not np.shares_memory(clone.seen, link.seen)
    assert clone.free is not link.free


def test_initialized_copy_has_first_values(link: Affine) -> None:
    link.w.array[...] = 0
    link.b.array[...] = 0
    link.b.grad = np.ones(3, np.float32)
    clone = link.copy('init')
    np.testing.assert_array_equal(clone.b.array, [2, 2, 2])
    assert not np.array_equal(clone.b.grad, link.b.grad)
    assert clone.late.array is None
    np.testing.assert_array_equal(link.b.array, [0, 0, 0])


def test_initialized_copy_has_the_gradients_of_a_new_link(link: Affine) -> None:
    link.cleargrads()
    link.b.grad = np.ones(3, np.float32)
    link.w.grad = np.ones(3, np.float32)
    assert all(np.isnan(param.grad).all() for param in link.copy('init').params(include_uninit=False))


def test_initialized_copies_differ() -> None:
    link = Linear(4, 4)
    assert not np.array_equal(link.copy('init').W.array, link.copy('init').W.array)


@pytest.mark.parametrize('method', ['copy', 'repeat'])
def test_unknown_copy_mode(link: Affine, method: str) -> None:
    arguments = ('deep',) if method == 'copy' else (2, 'deep')
    with pytest.raises(ValueError, match=r"'mode' argument should be either 'init', 'copy', or 'share'\. But deep"):
        getattr(link, method)(*arguments)


@pytest.mark.parametrize('duplicate', [copy.deepcopy, lambda link: pickle.loads(pickle.dumps(link))])
def test_deepcopy_and_pickle(link: Affine, duplicate: Any) -> None:
    link.b.grad = np.full(3, 5, np.float32)
    clone = duplicate(link)
    assert type(clone) is Affine
    np.testing.assert_array_equal(clone.b.array, link.b.array)
    np.testing.assert_array_equal(clone.b.grad, link.b.grad)
    assert not np.shares_memory(clone.b.array, link.b.array)
    assert [name for name, _ in clone.namedparams()] == ['/b', '/late', '/w']
    np.testing.assert_array_equal(clone(np.ones(3)), link(np.ones(3)))


def test_copyparams_writes_into_the_own_arrays() -> None:
    source, target = Affine(), Affine()
    source.w.array[...] = 8
    source.seen[...] = 9
    arrays = target.w.array, target.seen
    target.copyparams(source)
    assert target.w.array is arrays[0] and target.seen is arrays[1]
    np.testing.assert_array_equal(target.w.array, [8, 8, 8])
    np.testing.assert_array_equal(target.seen, [9, 9])


def test_copyparams_without_persistents() -> None:
    source, target = Affine(), Affine()
    source.seen[...] = 9
    target.copyparams(source, copy_persistent=False)
    np.testing.assert_array_equal(target.seen, [0, 0])


def test_copyparams_initializes_either_side() -> None:
    source, target = Affine(), Affine()
    source.late.initialize((2,))
    target.copyparams(source)
    np.testing.assert_array_equal(target.late.array, [7, 7])


def test_copyparams_takes_a_link_with_more(link: Affine) -> None:
    source = Affine()
    source.add_param('more', 2)
    source.w.array[...] = 8
    link.copyparams(source)
    np.testing.assert_array_equal(link.w.array, [8, 8, 8])


@pytest.mark.parametrize('method', ['copyparams', 'addgrads'])
def test_params_that_do_not_fit_are_all_named_and_nothing_changes(link: Affine, method: str) -> None:
    source = Affine(size=4)
    del source.w
    link.cleargrads()
    before = link.b.array.copy()
    with pytest.raises(ValueError, match=rf'Affine\.{method}: the Affine does not fit') as caught:
        getattr(link, method)(source)
    assert r'/b: its shape is (4,), expected (3,)' in str(caught.value)
    assert r'/w: missing' in str(caught.value)
    np.testing.assert_array_equal(link.b.array, before)
    assert link.b.grad is None


# --- gradients and updates ---


def test_cleargrads_and_zerograds(link: Affine) -> None:
    link.w.grad = np.ones(3, np.float32)
    link.cleargrads()
    assert [param.grad for param in link.params()] == [None, None, None]
    with pytest.warns(DeprecationWarning, match='Link.zerograds is deprecated'):
        link.zerograds()
    np.testing.assert_array_equal(link.w.grad, np.zeros(3))


@pytest.mark.parametrize('base', [Link, Chain])
def test_cleargrads_asks_an_overridden_params(base: Any) -> None:
    extra = Parameter(Constant(0), 2)

    class WithExtra(base):  # type: ignore[misc]
        def params(self, include_uninit: bool = True) -> Any:
            yield from super().params(include_uninit)
            yield extra

    extra.grad = np.ones(2, np.float32)
    WithExtra().cleargrads()
    assert extra.grad is None


def test_addgrads() -> None:
    a, b = Affine(), Affine()
    a.cleargrads()
    b.cleargrads()
    b.w.grad = np.full(3, 2, np.float32)
    a.addgrads(b)
    a.addgrads(b)
    np.testing.assert_array_equal(a.w.grad, [4, 4, 4])
    np.testing.assert_array_equal(b.w.grad, [2, 2, 2])
    assert a.b.grad is None


class Rule:
    enabled = True


def test_update_enabled_reads_and_sets_the_rules(link: Affine) -> None:
    assert not link.update_enabled
    link.enable_update()
    assert not link.update_enabled
    link.w.update_rule, link.b.update_rule = Rule(), Rule()
    assert link.update_enabled
    link.disable_update()
    assert (link.update_enabled, link.b.update_rule.enabled) == (False, False)
    link.b.update_rule.enabled = True
    assert link.update_enabled


def test_disable_update_before_setup_is_logged(link: Affine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning would stop programs for Chainer, which says nothing, where warnings are errors."""
    said: list[str] = []
    logger = logging.getLogger('minichainer.link')
    monkeypatch.setattr(logger, 'warning', lambda text, *args: said.append(text % args))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        link.disable_update()
        link.w.update_rule = Rule()
        link.disable_update()
        Link().disable_update()
    assert said == ['Affine.disable_update has no effect before optimizer.setup(model): call it afterwards']


# --- words and devices ---


def test_str_shows_the_specs() -> None:
    class Named(Link):
        @property
        def printable_specs(self) -> Any:
            yield from [('size', 3), ('kind', 'x')]

    assert str(Named()) == 'Named(size=3, kind=x)'
    assert str(Link()) == 'Link()'


def test_from_params_is_for_subclasses() -> None:
    with pytest.raises(NotImplementedError, match='Affine does not implement `from_params`'):
        Affine.from_params(np.ones(3))


def test_device_of_a_new_link(link: Affine) -> None:
    assert repr(link.device) == '<CpuDevice (numpy)>'
    assert link.xp is np
    assert link._device_id is None
    with pytest.warns(DeprecationWarning, match='to_cpu is deprecated'):
        assert link.to_cpu() is link
    assert link.to_device('@numpy') is link


def test_repeat(link: Affine) -> None:
    link.w.array[...] = 0
    layers = link.repeat(2, mode='copy')
    assert type(layers) is Sequential and len(layers) == 2
    np.testing.assert_array_equal(layers(np.ones(3)), [2, 2, 2])
    assert layers[0].w.array is not layers[1].w.array
    assert len(link.repeat(0)) == 0
