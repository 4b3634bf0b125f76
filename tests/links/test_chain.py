"""Chain and ChainList: children, paths through the tree, copies."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from minichainer.link import Chain, ChainList, Link
from minichainer.links.connection.linear import Linear
from minichainer.serializers import DictionarySerializer
from minichainer.variable import Parameter


class Net(Chain):
    """The tree that most tests walk over."""

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.z = Linear(2, 3)
            self.a = ChainList(Linear(3, 2), Chain(inner=Linear(None, 1)))
            self.p = Parameter(np.zeros(2, np.float32))
        self.add_persistent('k', np.arange(3))
        self.not_a_child = Linear(1, 1)


PATHS = ['/p', '/a/0/W', '/a/0/b', '/a/1/inner/W', '/a/1/inner/b', '/z/W', '/z/b']
LINKS = ['/', '/a', '/a/0', '/a/1', '/a/1/inner', '/z']


@pytest.fixture
def net() -> Net:
    return Net()


def test_paths_of_params(net: Net) -> None:
    assert [path for path, _ in net.namedparams()] == PATHS
    assert [path for path, _ in net.namedparams(include_uninit=False)] == [p for p in PATHS if p != '/a/1/inner/W']
    assert list(net.params()) == [param for _, param in net.namedparams()]
    assert len(list(net.params(include_uninit=False))) == 6


def test_paths_of_links(net: Net) -> None:
    assert [path for path, _ in net.namedlinks()] == LINKS
    assert [path for path, _ in net.namedlinks(skipself=True)] == LINKS[1:]
    assert list(net.links()) == [link for _, link in net.namedlinks()]
    assert next(net.links(skipself=True)) is net.a
    assert [child.name for child in net.children()] == ['a', 'z']


def test_saved_names_are_the_paths(net: Net) -> None:
    serializer = DictionarySerializer()
    serializer.save(net)
    assert sorted(serializer.target) == sorted([path[1:] for path in PATHS] + ['k'])


def test_str_draws_the_tree(net: Net) -> None:
    assert str(net) == (
        'Net(\n'
        '  (a): ChainList(\n'
        '    (0): Linear(in_size=3, out_size=2, nobias=False),\n'
        '    (1): Chain(\n'
        '      (inner): Linear(in_size=None, out_size=1, nobias=False),\n'
        '    ),\n'
        '  ),\n'
        '  (z): Linear(in_size=2, out_size=3, nobias=False),\n'
        ')'
    )
    assert (str(Chain()), str(ChainList())) == ('Chain()', 'ChainList()')


def test_constructor_and_add_link_do_the_same() -> None:
    chain = Chain(l1=Linear(1, 2))
    chain.add_link('l2', Linear(2, 3))
    assert [path for path, _ in chain.namedlinks()] == ['/', '/l1', '/l2']
    assert chain['l2'] is chain.l2
    assert chain.l2.name == 'l2'


@pytest.mark.parametrize(
    'register_again',
    [
        lambda chain: chain.add_link('l1', Linear(1, 1)),
        lambda chain: _set_in_scope(chain, 'l1'),
        lambda chain: chain.add_param('l1', 2),
    ],
)
def test_a_link_is_registered_once(register_again: Any) -> None:
    chain = Chain(l1=Linear(1, 2))
    child = chain.l1
    with pytest.raises(AttributeError, match=r'cannot register a new \w+ l1: attribute exists in this Chain'):
        register_again(chain)
    assert chain.l1 is child
    assert [path for path, _ in chain.namedparams()] == ['/l1/W', '/l1/b']


def _set_in_scope(chain: Chain, name: str) -> None:
    with chain.init_scope():
        setattr(chain, name, Linear(1, 1))


@pytest.mark.parametrize(
    ('make', 'message'),
    [
        (lambda: Chain(a=1), "non-link object as a child: a is of <class 'int'>"),
        (lambda: Chain().add_link('a', None), 'non-link object as a child'),
        (lambda: Chain().add_link(1, Link()), 'name of a link must be a string, got 1'),
        (lambda: ChainList(1), "non-link object as a child of ChainList: got <class 'int'>"),
        (lambda: ChainList().append(None), 'non-link object'),
        (lambda: ChainList(Link()).__setitem__(0, 5), 'non-link object'),
    ],
)
def test_children_are_links(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make()


def test_deleted_child_belongs_no_longer() -> None:
    chain = Chain(a=Linear(1, 1), b=Linear(1, 1))
    del chain.a
    assert [path for path, _ in chain.namedlinks()] == ['/', '/b']


def test_shared_copy_goes_down_the_tree(net: Net) -> None:
    clone = net.copy()
    assert clone.z is not net.z and clone.a[1].inner is not net.a[1].inner
    assert clone.z.W is not net.z.W
    assert clone.z.W.array is net.z.W.array
    assert (clone.z.name, clone.a[0].name, clone.name) == ('z', '0', None)
    clone.a.append(Linear(1, 1))
    clone.add_link('more', Linear(1, 1))
    assert [path for path, _ in net.namedlinks()] == LINKS


@pytest.mark.parametrize(
    'duplicate',
    [lambda net: net.copy('copy'), copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))],
    ids=['copy', 'deepcopy', 'pickle'],
)
def test_full_copies_share_nothing(net: Net, duplicate: Any) -> None:
    clone = duplicate(net)
    assert [path for path, _ in clone.namedlinks()] == LINKS
    theirs = dict(net.namedparams(include_uninit=False))
    for path, param in clone.namedparams(include_uninit=False):
        np.testing.assert_array_equal(param.array, theirs[path].array)
        assert not np.shares_memory(param.array, theirs[path].array)


def test_copyparams_names_all_that_does_not_fit(net: Net) -> None:
    other = Net()
    del other.a[1].inner
    other.z = Linear(2, 4)
    other.a[0].W.array[...] = 9
    before = net.a[0].W.array.copy()
    with pytest.raises(ValueError, match=r'Net\.copyparams: the Net does not fit') as caught:
        net.copyparams(other)
    lines = str(caught.value).splitlines()[1:]
    assert [line.split(':')[0].strip() for line in lines] == ['/a/1/inner/W', '/a/1/inner/b', '/z/W', '/z/b']
    np.testing.assert_array_equal(net.a[0].W.array, before)


def test_copyparams_and_addgrads_go_down_the_tree(net: Net) -> None:
    other = Net()
    other.a[0].W.grad = np.ones((2, 3), np.float32)
    other.k[...] = 4
    net.cleargrads()
    net.copyparams(other)
    net.addgrads(other)
    np.testing.assert_array_equal(net.a[0].W.array, other.a[0].W.array)
    np.testing.assert_array_equal(net.a[0].W.grad, np.ones((2, 3)))
    np.testing.assert_array_equal(net.k, [4, 4, 4])


def test_cleargrads_reaches_all(net: Net) -> None:
    for param in net.params(include_uninit=False):
        param.grad = np.ones(param.shape, np.float32)
    net.cleargrads()
    assert [param.grad for param in net.params()] == [None] * 7


def test_disable_update_reaches_all(net: Net) -> None:
    class Rule:
        enabled = True

    for param in net.params():
        param.update_rule = Rule()
    net.a.disable_update()
    assert (net.update_enabled, net.a.update_enabled, net.z.update_enabled) == (True, False, True)


# --- ChainList ---


def test_chain_list_is_a_list() -> None:
    a, b, c = Linear(1, 1), Linear(2, 2), Linear(3, 3)
    layers = ChainList(a, b)
    layers.append(c)
    assert (len(layers), list(layers), layers[-1], layers[1:]) == (3, [a, b, c], c, [b, c])
    layers.insert(0, Linear(4, 4))
    del layers[1]
    layers[1] = Linear(5, 5)
    assert [link.out_size for link in layers] == [4, 5, 3]
    assert [link.name for link in layers] == ['0', '1', '2']
    layers[1:] = [b]
    assert [path for path, _ in layers.namedlinks(skipself=True)] == ['/0', '/1']
    assert layers.pop() is b
    assert b not in layers
    layers.clear()
    assert not layers


def test_chain_list_takes_params_but_no_links_in_init_scope() -> None:
    layers = ChainList(Linear(1, 1))
    with layers.init_scope():
        layers.p = Parameter(np.zeros(1, np.float32))
    assert [path for path, _ in layers.namedparams()] == ['/p', '/0/W', '/0/b']
    with (
        pytest.raises(TypeError, match=r'cannot register a new link within.*by position, so use append'),
        layers.init_scope(),
    ):
        layers.x = Linear(1, 1)
    assert not hasattr(layers, 'x')


def test_one_link_in_two_places_is_walked_twice() -> None:
    shared = Linear(1, 1)
    assert [path for path, _ in ChainList(shared, shared).namedparams()] == ['/0/W', '/0/b', '/1/W', '/1/b']
