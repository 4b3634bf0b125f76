"""Applies the rules about calls: arguments, methods, statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import libcst as cst

from minichainer.compat import removed
from minichainer.compat.port import names, signatures
from minichainer.compat.port.facts import Facts, dotted, moved
from minichainer.compat.port.obstacles import Obstacles
from minichainer.compat.port.rules import OPTIMIZER_METHODS, V1_ORDER, Rule, of_kind
from minichainer.compat.port.spelling import Spelling

if TYPE_CHECKING:
    from minichainer.compat.port.notes import Notes

#: Functions that take the name of a module as text.
_TAKE_MODULE_NAMES = frozenset('import_module __import__ find_spec patch importorskip find_loader'.split())
#: Links whose result does not depend on settings.
_PLAIN_LINK = re.compile(
    r'chainer\.links\.(Linear|Convolution\w+|Deconvolution\w+|Dilated\w+|EmbedID|LSTM|GRU|StatefulGRU|StatelessLSTM|'
    r'Bilinear|PReLU|Scale|Highway|Maxout|MLPConvolution2D)\(\)'
)
#: Links whose calls set `train` themselves while the part ``keywords`` is on.
_PRETRAINED = re.compile(r'chainer\.links\.(\w+\.)*(GoogLeNet|VGG16Layers|ResNet\w*Layers)\(\)')
_SETTING_DEPENDENT = re.compile(r'.*(dropout|normalization|zoneout|rrelu|n_step|dropconnect|forget).*')
_PLAIN_METHODS = frozenset('reshape transpose astype copy flatten append sum mean format items keys values'.split())
_PLAIN_BUILTINS = frozenset('len range int float str bool max min abs list tuple zip enumerate print super'.split())
_NEGATED = {'True': 'False', 'False': 'True'}
_ONE = ('1', '1.0', '1.')
_FALSE = ('False', "'off'", '"off"', "'OFF'", '0')


_SET_PART = 'chainer.compat.legacy.former.set_part'
#: Why links have to be added to a Chain.
_NOT_SEEN = 'a FunctionSet takes a link that is assigned to it for a part; a Chain does not, and would not train it'


class Calls:
    """The calls of a module.

    Args:
        facts: of the module.
        notes: where to note findings.
        spelling: how to write names.
        is_v1: whether the program is written for Chainer 1.
    """

    def __init__(self, facts: Facts, notes: Notes, spelling: Spelling, is_v1: bool) -> None:
        self._facts = facts
        self._notes = notes
        self._spelling = spelling
        self._is_v1 = is_v1
        self.obstacles = Obstacles(facts, notes, spelling)
        #: The classes around the current node.
        self.classes: list[str] = []
        #: Calls of which an argument goes to the call around them.
        self._moved: set[cst.Call] = set()

    @property
    def _inside(self) -> str:
        return self.classes[-1] if self.classes else ''

    def called(self, call: cst.Call) -> str:
        """The dotted name of what is called, after the rules about names; ``chainer.links.X()`` for an instance."""
        return self.named(call.func, self._inside)

    def named(self, func: cst.BaseExpression, inside: str) -> str:
        """The dotted name of what is called in a class.

        Args:
            func: what is called.
            inside: the class; empty outside of classes.
        """
        name = self._facts.name_of(func)
        return moved(name) if name else self._facts.instance(func, inside)

    # Settings.

    def settings(self, call: cst.Call) -> Iterator[tuple[Rule, cst.Arg]]:
        """The rules about arguments that became settings which a call needs, and these arguments."""
        name = self.called(call)
        if 'keywords' in self._facts.parts and _PRETRAINED.fullmatch(name):
            return  # their arguments have v1's values by default, which win over a block
        for rule in of_kind('config') if name else ():
            argument = _argument(call, rule)
            if argument is not None and rule.is_about(name):
                yield rule, argument

    def setting_of(self, call: cst.Call) -> str:
        """The value that the setting ``train`` gets for a call; empty if it gets none."""
        return next((self._value(rule, argument) for rule, argument in self.settings(call)), '')

    def _value(self, rule: Rule, argument: cst.Arg) -> str:
        code = self._facts.code(argument.value)
        if rule.write == '{value}':
            return code
        if code.startswith('not ') and code[4:].replace('.', '').isidentifier():
            return code[4:]
        is_simple = isinstance(argument.value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript))
        return _NEGATED.get(code) or (f'not {code}' if is_simple else f'not ({code})')

    def is_plain(self, call: cst.Call) -> bool:
        """Whether the result of a call is known not to depend on the setting ``train``."""
        name = self.called(call)
        if name.endswith('()'):
            return _PLAIN_LINK.fullmatch(name) is not None
        if name.startswith(('chainer.functions.', 'chainer.cuda.', 'chainer.Variable', 'numpy.')):
            return _SETTING_DEPENDENT.fullmatch(name) is None
        if isinstance(call.func, cst.Attribute):
            return not name and call.func.attr.value in _PLAIN_METHODS
        return isinstance(call.func, cst.Name) and call.func.value in _PLAIN_BUILTINS

    def using_config(self, value: str) -> str:
        """The expression ``chainer.using_config('train', value)``."""
        return f"{self._spelling.of('chainer.using_config')}('train', {value})"

    # Calls.

    def rewritten(self, original: cst.Call, updated: cst.Call, setting: str) -> cst.BaseExpression:
        """A call, or what takes its place.

        Args:
            original: as it was, for positions and names.
            updated: with its parts already rewritten.
            setting: the value of ``train`` that the block around it gets.
        """
        self._note_text(original)
        self._note_partial(original)
        updated = self._set_part(original, updated)
        name = self.called(original)
        call, notes_before = self._named(original, updated, name), len(self._notes.found)
        for rule in of_kind('keyword') if name else ():
            if rule.is_about(name):
                call = self._keyword(rule, original, call)
        for rule in self._defaults() if name else ():
            if rule.is_about(name):
                call = self._default(rule, original, call)
        for rule, _ in list(self.settings(original)):
            call = self._setting(rule, original, call, setting)
        if name and len(self._notes.found) == notes_before:
            self._note_arguments(original, name)
        name = name or self.obstacles.builtin(original)
        call = self.obstacles.in_place(original, call, name)
        return self._method(original, call) if not name else self._dropped_call(original, call, name)

    def _defaults(self) -> tuple[Rule, ...]:
        """The rules about arguments, and functions, that were not given because Chainer had others by default."""
        of_v1 = of_kind('default') + of_kind('function') if self._is_v1 else ()
        return of_v1 + (of_kind('argument') if self._facts.is_old else ())

    def _keyword(self, rule: Rule, original: cst.Call, call: cst.Call) -> cst.Call:
        argument = _argument(call, rule)
        if argument is None:
            return call
        if rule.name in self._facts.parts or (rule.name == 'make_extension' and 'trainer' in self._facts.parts):
            if self._facts.is_old:
                self._notes.add(original, 'done', rule.name, _shown(self._facts, call), 'stays: see switch_on')
            return call
        if not rule.certain:
            if original not in self._moved:
                self._notes.add(original, 'attention', rule.name, rule.write, rule.why)
            return call
        if rule.name == 'wscale' and self._facts.code(argument.value) not in _ONE and _by_name(call, 'initialW'):
            self._notes.add(original, 'attention', rule.name, 'initialW alone', 'v1 multiplied initialW by wscale')
            return call
        new, text = self._new_argument(rule, argument, call)
        args = _with(call.args, argument, new)
        quiet = rule.name == 'volatile' and self._facts.code(argument.value) in _FALSE
        why = 'there are no volatile variables' if quiet else f'{rule.keyword} {rule.why}'
        replaced = call.with_changes(args=args)
        self._notes.add(original, 'done', rule.name, text or _shown(self._facts, replaced), why)
        return replaced

    def _default(self, rule: Rule, original: cst.Call, call: cst.Call) -> cst.Call:
        """A call with an argument for what was the default in v1."""
        named = _by_name(call, rule.write.partition('=')[0]) is not None
        given = named or _argument(call, rule) is not None or any(argument.star for argument in call.args)
        if rule.keyword and given:
            return call
        if not rule.certain:
            self._notes.add(original, 'attention', rule.name, rule.write, rule.why)
            return call
        if rule.kind == 'function':
            text = self._spelling.of(rule.write)
            self._notes.add(original, 'done', rule.name, text, rule.why)
            return call.with_changes(func=cst.parse_expression(text))
        new = cst.ensure_type(cst.parse_expression(f'f({rule.write})'), cst.Call).args[0]
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(' '))
        args = list(call.args)
        if args and not isinstance(args[-1].comma, cst.Comma):
            args[-1] = args[-1].with_changes(comma=comma, whitespace_after_arg=cst.SimpleWhitespace(''))
        self._notes.add(original, 'done', rule.name, rule.write, rule.why)
        return call.with_changes(args=[*args, new])

    def _new_argument(self, rule: Rule, argument: cst.Arg, call: cst.Call) -> tuple[cst.Arg | None, str]:
        """What takes the place of an argument, and its text."""
        keyword, equals, template = rule.write.partition('=')
        value = self._facts.code(argument.value)
        given = {a.keyword.value for a in call.args if a.keyword is not None}
        if not keyword or keyword in given or (equals and value in _ONE):
            return None, ''
        if not equals:
            return argument.with_changes(keyword=cst.Name(keyword)), f'{keyword}={value}'
        is_atom = isinstance(argument.value, cst.Integer) or _binds_tightly(argument.value)
        value = value if is_atom else f'({value})'
        text = self._spelling.in_expression(template.replace('{value}', '__value__')).replace('__value__', value)
        return argument.with_changes(keyword=cst.Name(keyword), value=cst.parse_expression(text)), f'{keyword}={text}'

    def _setting(self, rule: Rule, original: cst.Call, call: cst.Call, setting: str) -> cst.Call:
        argument = _argument(call, rule)
        if argument is None:
            return call
        value = self._value(rule, argument)
        without = call.with_changes(args=_with(call.args, argument, None))
        if setting:
            write = f'with {self.using_config(setting)}: {_shown(self._facts, without)}'
            self._notes.add(original, 'done', rule.name, write, f'{rule.keyword} {rule.why}')
            return without
        wrapped = cst.Call(cst.parse_expression(self.using_config(value)), [cst.Arg(without.func)])
        replaced = without.with_changes(func=wrapped)
        self._notes.add(original, 'done', rule.name, _shown(self._facts, replaced), f'{rule.keyword} {rule.why}')
        return replaced

    def _note_arguments(self, call: cst.Call, name: str) -> None:
        """Notes arguments that a function or class of Chainer does not have."""
        problem = signatures.problem(name, call)
        if problem:
            self._notes.add(call, 'attention', 'arguments', '', problem)

    def _named(self, original: cst.Call, call: cst.Call, name: str) -> cst.Call:
        """A call as in v1 with names for the arguments that come in another order today."""
        order = V1_ORDER.get(name, [])
        first = order.index('wscale') if order else 0
        is_v1 = bool(order) and (self._is_v1 or self._facts.name_of(original.func) != name)
        if not is_v1 or any(argument.star for argument in call.args) or len(call.args) > len(order):
            return call
        equal = cst.AssignEqual(cst.SimpleWhitespace(''), cst.SimpleWhitespace(''))
        args = [
            argument.with_changes(keyword=cst.Name(order[index]), equal=equal)
            if argument.keyword is None and index >= first
            else argument
            for index, argument in enumerate(call.args)
        ]
        return call.with_changes(args=args)

    def _note_text(self, call: cst.Call) -> None:
        """Notes modules of Chainer that are named by a text."""
        last = dotted(call.func).rpartition('.')[2]
        if last not in _TAKE_MODULE_NAMES or not call.args:
            return
        text = self._facts.code(call.args[0].value).lstrip('rRuUbBfF').strip('\'"')
        if text == 'chainer' or text.startswith('chainer.'):
            write = names.ours(text)
            self._notes.add(call, 'attention', 'text', write, 'names a module of Chainer by a text')

    def _note_partial(self, call: cst.Call) -> None:
        """Notes arguments that ``functools.partial`` keeps for a later call, and that there are not any more."""
        if self._facts.name_of(call.func) != 'functools.partial' or not call.args or 'keywords' in self._facts.parts:
            return
        later = cst.Call(call.args[0].value, [argument for argument in call.args[1:] if argument.keyword is not None])
        name = self.called(later)
        for rule in of_kind('keyword') if name else ():
            if rule.is_about(name) and _argument(later, rule) is not None:
                self._notes.add(call, 'attention', rule.name, rule.write, f'{rule.keyword} {rule.why}')
        for rule, argument in list(self.settings(later))[:1]:
            setting = self.using_config(self._value(rule, argument))
            write = f'lambda *args: {setting}({self._facts.code(later.func)})(*args)'
            self._notes.add(call, 'attention', rule.name, write, f'{rule.keyword} {rule.why}')

    def _set_part(self, original: cst.Call, call: cst.Call) -> cst.Call:
        """``setattr`` in a module with FunctionSets: it may add a link, by a name that only a run knows."""
        if not self._facts.uses_function_sets or self._facts.code(call.func) != 'setattr' or len(call.args) != 3:
            return call
        call = call.with_changes(func=cst.parse_expression(self._spelling.of(_SET_PART)))
        self._notes.add(original, 'done', 'FunctionSet', self._facts.code(call), _NOT_SEEN)
        return call

    # Triggers.

    def enter(self, call: cst.Call) -> None:
        """Notes that ``trigger`` goes from ``snapshot(trigger=...)`` to the ``extend`` around it.

        Args:
            call: the outer call, before its parts are rewritten.
        """
        inner = call.args[0].value if call.args else None
        is_extend = isinstance(call.func, cst.Attribute) and call.func.attr.value == 'extend'
        if not is_extend or not isinstance(inner, cst.Call) or _by_name(call, 'trigger') or len(call.args) > 2:
            return
        if _by_name(inner, 'trigger') and self.called(inner).startswith('chainer.training.extensions.snapshot'):
            self._moved.add(inner)

    def _with_trigger(self, original: cst.Call, call: cst.Call) -> cst.Call:
        inner = call.args[0].value
        assert isinstance(inner, cst.Call)
        trigger = _by_name(inner, 'trigger')
        assert trigger is not None
        first = call.args[0].with_changes(value=inner.with_changes(args=_with(inner.args, trigger, None)))
        comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(' '))
        args = [first, *call.args[1:]]
        args[-1] = args[-1].with_changes(comma=comma)
        replaced = call.with_changes(args=[*args, trigger.with_changes(comma=cst.MaybeSentinel.DEFAULT)])
        why = 'triggers belong to `extend`'
        self._notes.add(original, 'done', 'snapshot-trigger', _shown(self._facts, replaced), why)
        return replaced

    # Methods.

    def _method(self, original: cst.Call, call: cst.Call) -> cst.BaseExpression:
        """A call of a method, or what takes its place."""
        if not isinstance(original.func, cst.Attribute) or not isinstance(call.func, cst.Attribute):
            return call
        method = original.func.attr.value
        before = _by_name(call, 'invoke_before_training') if method == 'extend' else None
        if before is not None:
            renamed = before.with_changes(keyword=cst.Name('call_before_training'))
            self._notes.add(original, 'done', 'extend', 'call_before_training=', 'invoke_before_training was renamed')
            call = call.with_changes(args=_with(call.args, before, renamed))
        if method == 'extend' and self._moved.intersection(argument.value for argument in original.args[:1]):
            return self._with_trigger(original, call)
        for rule in of_kind('method'):
            if rule.matches == method:
                return self._old_method(rule, original, call, cst.ensure_type(call.func, cst.Attribute))
        row = _METHODS().get(method)
        if row is not None and method not in self._facts.functions and dotted(original.func) != f'self.{method}':
            why = f'{row.name} was dropped by {row.since}'
            if row.certain:
                new = row.instead.partition('.')[2]
                self._notes.add(original, 'done', row.name, f'.{new}()', why)
                return call.with_changes(func=call.func.with_changes(attr=cst.Name(new)))
            return self.obstacles.method(row, original, call)
        return call

    def _old_method(
        self, rule: Rule, original: cst.Call, call: cst.Call, function: cst.Attribute
    ) -> cst.BaseExpression:
        receiver = self._facts.code(function.value)
        known = receiver in self._facts.optimizers or 'opt' in receiver.rpartition('.')[2].lower()
        of_optimizer = rule.matches in OPTIMIZER_METHODS
        if rule.matches in self._facts.functions or (rule.matches == 'weight_decay' and not known):
            return call
        arguments = [self._facts.code(argument.value) for argument in call.args]
        if '{0}' in rule.write and not arguments:
            return call
        if not rule.certain or (of_optimizer and not known):
            write = rule.write.replace('{receiver}', receiver).replace('{0}', ', '.join(arguments))
            self._notes.add(original, 'attention', rule.name, write, f'{rule.matches} {rule.why}')
            return call
        text = self._filled(rule.write, receiver, arguments)
        self._notes.add(original, 'done', rule.name, text, f'{rule.matches} {rule.why}')
        return cst.parse_expression(text)

    def _filled(self, template: str, receiver: str, arguments: list[str]) -> str:
        text = self._spelling.in_expression(template.replace('{receiver}', '__receiver__'))
        return text.replace('__receiver__', receiver).replace('{0}', ', '.join(arguments))

    def _dropped_call(self, original: cst.Call, call: cst.Call, name: str) -> cst.BaseExpression:
        """Calls that other libraries refuse today."""
        for rule in of_kind('call'):
            if rule.is_about(name) and (not rule.keyword or _argument(call, rule) is None):
                return self._whole_call(rule, original, call)
        if name.startswith('math.'):
            return self.obstacles.of_math(original, call)
        tolerant = self.obstacles.call(original, call, name)
        if tolerant is not None:
            return tolerant
        row = _CALLS().get(name)
        if row is None or len(call.args) != 1:
            return call
        why = f'{row.since} refuses this call of {row.name}'
        if row.certain:
            text = self._spelling.of(row.instead)
            self._notes.add(original, 'done', row.name, text, why)
            return call.with_changes(func=cst.parse_expression(text))
        self._notes.add(original, 'attention', row.name, row.instead, why)
        return call

    def _whole_call(self, rule: Rule, original: cst.Call, call: cst.Call) -> cst.BaseExpression:
        arguments = [self._facts.code(argument).rstrip(', \n') for argument in call.args]
        if rule.write.startswith('{0}.') and (len(call.args) != 1 or not _binds_tightly(call.args[0].value)):
            arguments = [f'({", ".join(arguments)})']
        text = self._filled(rule.write, '', arguments)
        self._notes.add(original, 'done', rule.name, text, f'{rule.name} {rule.why}')
        return cst.parse_expression(text)

    # Statements.

    def statement(self, original: cst.Expr, updated: cst.Expr) -> cst.Expr | cst.RemovalSentinel:
        """An expression that is a statement, or what takes its place."""
        if not isinstance(original.value, cst.Call) or not isinstance(updated.value, cst.Call):
            return updated
        name = self.called(original.value)
        for rule in of_kind('statement') if name else ():
            if rule.is_about(name):
                arguments = [self._facts.code(argument.value) for argument in updated.value.args]
                text = self._filled(rule.write, '', arguments) if arguments else ''
                self._notes.add(original, 'done', rule.name, text or 'nothing', rule.why)
                return updated.with_changes(value=cst.parse_expression(text)) if text else cst.RemoveFromParent()
        return updated

    def assignment(self, original: cst.Assign, updated: cst.Assign) -> cst.BaseSmallStatement:
        """``model.l1 = L.Linear(...)`` of what was a FunctionSet, as a call of add_link."""
        target = original.targets[0].target
        if (
            len(original.targets) != 1
            or not isinstance(target, cst.Attribute)
            or not self.is_function_set(target.value)
        ):
            return updated
        is_link = isinstance(original.value, cst.Call) and self.called(original.value).startswith('chainer.links.')
        if not is_link and not isinstance(original.value, (cst.Name, cst.Attribute, cst.Subscript, cst.Call)):
            return updated
        receiver, part = self._facts.code(target.value), repr(target.attr.value)
        text = f'{receiver}.add_link({part}, ' if is_link else f'{self._spelling.of(_SET_PART)}({receiver}, {part}, '
        call = cst.parse_expression(f'{text}__value__)')
        assert isinstance(call, cst.Call)
        call = call.with_changes(args=[*call.args[:-1], call.args[-1].with_changes(value=updated.value)])
        self._notes.add(original, 'done', 'FunctionSet', self._facts.code(call), _NOT_SEEN)
        return cst.Expr(call)

    def is_function_set(self, receiver: cst.BaseExpression) -> bool:
        """Whether an expression is known to be a FunctionSet.

        Args:
            receiver: such as ``model``.
        """
        text = dotted(receiver)
        return (self._inside if text == 'self' else '', text) in self._facts.function_sets


def _binds_tightly(node: cst.BaseExpression) -> bool:
    """Whether an attribute of an expression may be written without parentheses around it."""
    return isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Float)) or bool(node.lpar)


def _argument(call: cst.Call, rule: Rule) -> cst.Arg | None:
    """The argument that a rule is about."""
    for index, argument in enumerate(call.args):
        if argument.star:
            return None if index <= rule.position else _by_name(call, rule.keyword)
        if index == rule.position and argument.keyword is None:
            return argument
    return _by_name(call, rule.keyword)


def _by_name(call: cst.Call, keyword: str) -> cst.Arg | None:
    return next((a for a in call.args if a.keyword is not None and a.keyword.value == keyword), None)


def _with(args: object, old: cst.Arg, new: cst.Arg | None) -> list[cst.Arg]:
    """Arguments with one replaced or left out."""
    assert isinstance(args, (list, tuple))
    left = [new if argument is old else argument for argument in args]
    result = [argument for argument in left if argument is not None]
    if result and new is None:
        result[-1] = result[-1].with_changes(comma=old.comma if args[-1] is old else result[-1].comma)
    return result


def _shown(facts: Facts, node: cst.CSTNode) -> str:
    lines = facts.code(node).splitlines()
    return lines[0] if len(lines) == 1 else f'{lines[0]} ...'


def _lazily(kind: str, left_out: frozenset[str]) -> Callable[[], dict[str, removed.Removed]]:
    """The rows of a kind, by the name of the method or call."""
    found: dict[str, removed.Removed] = {}

    def rows() -> dict[str, removed.Removed]:
        if not found:
            chosen = [row for row in removed.rows() if row.kind == kind and row.name not in left_out]
            found.update({row.last if kind == 'method' else row.name: row for row in chosen})
        return found

    return rows


#: Names that other classes have too.
_METHODS = _lazily('method', frozenset('PIL.Image.Image.fromstring array.array.fromstring'.split()))
#: Calls of these fail for some arguments only, which the source does not show.
_CALLS = _lazily(
    'call',
    frozenset(
        'int float complex numpy.array numpy.asarray numpy.load pickle.load pickle.loads random.shuffle numpy.vstack '
        'numpy.hstack numpy.dstack numpy.stack numpy.column_stack json.load json.loads json.dump json.dumps open '
        'codecs.open'.split()
    ),
)
