"""Arguments of v1 in calls of what the rules do not know, such as ``self[i](x, test=True)``.

What is called may be a function of the program that has such an argument, which stays. It may also be a link or a
function of Chainer, which refuses it. Where only the second is possible, and in all programs of v1, the part
``keywords`` of the style of v1 is switched on, with which both work; else a person has to tell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from minichainer.compat.port.facts import Facts, OldCall, dotted
from minichainer.compat.port.program import CALLS, Program

if TYPE_CHECKING:
    from minichainer.compat.port.calls import Calls
    from minichainer.compat.port.notes import Notes

PART = 'keywords'
#: Methods of Chainer's links that took such arguments.
_METHODS = (*CALLS, 'extract', 'predict')
#: What to write for each argument.
_INSTEAD = {
    'train': "with chainer.using_config('train', {}): the call without it",
    'test': "with chainer.using_config('train', not {}): the call without it",
    'use_cudnn': "with chainer.using_config('use_cudnn', 'auto' or 'never'): the call without it",
    'deterministic': "with chainer.using_config('cudnn_deterministic', {}): the call without it",
    'volatile': 'with chainer.no_backprop_mode(): the call without it',
    'wscale': 'initialW=chainer.initializers.LeCunNormal(scale={} ** 0.5)',
}


class V1Keywords:
    """The calls of a module that have arguments of v1 and that no rule is about.

    Args:
        facts: of the module.
        calls: its calls.
        program: the files that it belongs to.
        is_v1: whether the program is written for Chainer 1.
    """

    def __init__(self, facts: Facts, calls: Calls, program: Program, is_v1: bool) -> None:
        self._facts, self._calls, self._program = facts, calls, program
        unknown = [call for call in facts.old_calls if facts.imports_chainer and self._is_unknown(call)]
        every = [(call, keyword) for call in unknown for keyword in sorted(self._open(call, call.keywords))]
        by_place = [(call, keyword) for call in unknown for keyword in self._open(call, call.by_place)]
        translated = [(call, keyword) for call, keyword in every if keyword != 'volatile']
        certain = any(self._is_certain(*pair) for pair in translated)
        possible = any(program.may_be_chainers(keyword) for _, keyword in [*translated, *by_place])
        #: Whether the module needs the part that lets links and functions take such arguments.
        self.switched = facts.is_old and (certain or (is_v1 and possible))
        if self.switched:
            facts.parts = sorted({*facts.parts, PART})
        is_on = self.switched or f'{PART!r}' in facts.switched_on
        #: What a person has to look at.
        self._left = [(call, keyword) for call, keyword in every if keyword == 'volatile' or not is_on]
        if not is_on:
            self._left += [pair for pair in by_place if pair[1] == 'test' and self._is_certain(*pair)]

    def note(self, notes: Notes) -> None:
        """Notes what a person has to look at.

        Args:
            notes: of the module.
        """
        for call, keyword in self._left:
            if keyword in self._facts.parts:
                continue  # volatile is switched on
            why = f'{keyword} stays: it is right if what is called is yours and takes it; v2 dropped it from Chainer'
            write = _INSTEAD[keyword].format(keyword)
            rule, part = ('volatile', 'volatile') if keyword == 'volatile' else ('v1-keyword', PART)
            notes.add(call.node, 'attention', rule, f'{write}, or former.switch_on({part!r})', why)

    def _is_unknown(self, call: OldCall) -> bool:
        """Whether no rule knows what is called, or sees the argument."""
        node = call.node
        if self._facts.name_of(node.func) == 'functools.partial':
            node = cst.Call(node.args[0].value, node.args[1:]) if node.args else node
        name = self._calls.named(node.func, call.inside)
        return not name or (call.is_starred and name.startswith('chainer.'))

    def _open(self, call: OldCall, keywords: frozenset[str]) -> set[str]:
        """The arguments that what is called is not known to take, or that something of Chainer may get."""
        program = self._program
        left = {keyword for keyword in keywords if not self._is_own(call, keyword)}
        return {k for k in left if program.may_be_chainers(k) or not program.may_be_own(k, call.inside)}

    def _is_own(self, call: OldCall, keyword: str) -> bool:
        """Whether what is called is of the program, and takes an argument; or of another library."""
        func = call.node.func
        made = call.inside if dotted(func) == 'self' else self._facts.made_by(func, call.inside)
        if made:
            return self._program.objects_take(made.rpartition('.')[2], keyword) or self._is_foreign(made)
        if isinstance(func, cst.Attribute):
            name = func.attr.value
            return self._is_foreign(self._facts.made_by(func.value, call.inside)) or (
                name not in _METHODS and self._program.takes(name, keyword)
            )
        is_plain = isinstance(func, cst.Name) and func.value not in self._facts.arguments
        return is_plain and self._program.takes(dotted(func), keyword)

    def _is_foreign(self, name: str) -> bool:
        """Whether something is made by what another module has, which is not a file of the program."""
        return '.' in name and name.rpartition('.')[2] not in self._program.classes

    def _is_certain(self, call: OldCall, keyword: str) -> bool:
        """Whether only something of Chainer can take an argument."""
        func = call.node.func
        is_method = isinstance(func, cst.Attribute) and func.attr.value not in _METHODS
        is_of_other = (
            is_method and not dotted(func).startswith('self.') and dotted(func) not in self._facts.assigned_to
        )
        theirs = self._program.may_be_chainers(keyword) and not self._program.may_be_own(keyword, call.inside)
        return theirs and not is_of_other
