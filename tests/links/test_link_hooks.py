"""Hooks on links: on one, on all, in one thread, and gone again."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from minichainer import link_hook
from minichainer.link import Chain, Link
from minichainer.link_hook import LinkHook


class Recorder(LinkHook):
    name = 'Recorder'

    def __init__(self, log: list[Any], mark: str = '') -> None:
        self.log = log
        self.mark = mark

    def added(self, link: Any) -> None:
        self.log.append(('added', type(link).__name__))

    def deleted(self, link: Any) -> None:
        self.log.append(('deleted', type(link).__name__))

    def forward_preprocess(self, args: Any) -> None:
        self.log.append((self.mark + '<', type(args.link).__name__, args.forward_name, args.args, args.kwargs))

    def forward_postprocess(self, args: Any) -> None:
        self.log.append((self.mark + '>', type(args.link).__name__, args.out))


class Add(Link):
    def forward(self, x: int, y: int = 0) -> int:
        return x + y


class Outer(Chain):
    def __init__(self) -> None:
        super().__init__(inner=Add())

    def forward(self, x: int) -> int:
        return self.inner(x, y=1) * 10


def test_hook_on_all_links() -> None:
    log: list[Any] = []
    with Recorder(log) as hook:
        assert isinstance(hook, Recorder)
        assert Outer()(2) == 30
    Outer()(2)
    assert log == [
        ('added', 'NoneType'),
        ('<', 'Outer', 'forward', (2,), {}),
        ('<', 'Add', 'forward', (2,), {'y': 1}),
        ('>', 'Add', 3),
        ('>', 'Outer', 30),
        ('deleted', 'NoneType'),
    ]
    assert link_hook.active == 0


def test_hook_on_one_link() -> None:
    log: list[Any] = []
    outer = Outer()
    assert outer.inner.add_hook(Recorder(log)) is outer.inner
    assert list(outer.inner.local_link_hooks) == ['Recorder']
    outer(2)
    outer.inner.delete_hook('Recorder')
    outer(2)
    assert [entry[:2] for entry in log] == [('added', 'Add'), ('<', 'Add'), ('>', 'Add'), ('deleted', 'Add')]
    assert dict(outer.local_link_hooks) == {}


def test_hooks_on_all_come_before_those_on_one() -> None:
    log: list[Any] = []
    link = Add().add_hook(Recorder(log, 'one'))
    with Recorder(log, 'all'):
        link(1)
    assert [entry[0] for entry in log if entry[0][-1] in '<>'] == ['all<', 'one<', 'all>', 'one>']


def test_names_of_hooks_are_unique() -> None:
    link = Add().add_hook(Recorder([])).add_hook(Recorder([]), name='other')
    assert list(link.local_link_hooks) == ['Recorder', 'other']
    with pytest.raises(KeyError, match='Hook Recorder already exists in this Add'):
        link.add_hook(Recorder([]))
    with pytest.raises(KeyError, match='Hook missing does not exist in this Add'):
        link.delete_hook('missing')
    with Recorder([]), pytest.raises(KeyError, match='hook Recorder already exists'), Recorder([]):
        pass
    assert link_hook.active == 0
    with pytest.raises(TypeError, match='Hook must be of type LinkHook'):
        link.add_hook(print)  # type: ignore[arg-type]


def test_hooks_are_those_of_the_thread() -> None:
    log: list[Any] = []
    with Recorder(log):
        thread = threading.Thread(target=lambda: Add()(1))
        thread.start()
        thread.join()
        assert [entry[0] for entry in log] == ['added']


def test_a_copy_has_its_own_hooks() -> None:
    log: list[Any] = []
    link = Add().add_hook(Recorder(log))
    clone = link.copy()
    clone.delete_hook('Recorder')
    link(1)
    assert ('>', 'Add', 1) in log


def test_hook_ends_with_an_exception() -> None:
    with pytest.raises(TypeError), Recorder([]):
        Add()(None, y=3)  # type: ignore[arg-type]
    assert link_hook.active == 0
    assert link_hook.get_link_hooks() == {}


def test_arguments_have_words() -> None:
    log: list[Any] = []

    class Show(LinkHook):
        def forward_postprocess(self, args: Any) -> None:
            log.append(repr(args))

    Add().add_hook(Show())(1, y=2)
    assert log[0].endswith("CallbackArgs link=Add() forward_name=forward args=(1,) kwargs={'y': 2} out=3>")
