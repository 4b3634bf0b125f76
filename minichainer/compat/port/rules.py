"""The table of rules: spellings of Chainer v1 to v7 that fail here, and what to write.

Names that Python, NumPy and other libraries dropped are in :mod:`minichainer.compat.removed`, in the same spirit.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from minichainer.compat.legacy import function_classes


@dataclass(frozen=True)
class Rule:
    """One spelling.

    Args:
        name: what reports call it.
        kind: ``name`` (a dotted name), ``keyword`` (an argument of a call), ``config`` (an argument of a call that
            became a setting), ``method`` (a call of a method, by its name), ``call`` (a call), ``statement`` (a call
            that is a statement), ``default`` (a call in a program of v1 without the argument), ``argument`` (a call
            without it in any program that imports Chainer), ``function`` (another function in a program of v1).
        matches: regular expression of the whole dotted name; of a method, its name. ``chainer.links.X()`` is an
            instance of a link.
        write: what to write. If ``certain``: a dotted name (kind ``name``), a keyword or ``keyword=expression`` or
            nothing (``keyword``), an expression (``config``: of the value; other kinds: of the call), in
            which ``{receiver}``, ``{0}``, ``{value}`` stand for parts of the source. Else words.
        certain: whether the tool may write it.
        since: the version of Chainer that first refused the old spelling.
        why: what became of it.
        keyword: the argument (kinds ``keyword`` and ``config``); a call with this argument is right (kind ``call``).
        position: where the argument may also be given without its name; -1 if nowhere.
    """

    name: str
    kind: str
    matches: str
    write: str
    certain: bool
    since: str
    why: str
    keyword: str = ''
    position: int = -1

    def is_about(self, name: str) -> bool:
        """Whether a dotted name is meant.

        Args:
            name: as Chainer spells it.
        """
        return _compiled(self.matches).fullmatch(name) is not None

    def applied(self, name: str) -> str:
        """What to write for a dotted name that the rule is about.

        Args:
            name: as Chainer spells it.
        """
        found = _compiled(self.matches).fullmatch(name)
        return name if found is None else found.expand(self.write)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


#: Links that v1 also, or only, had in ``chainer.functions``.
PARAMETRIZED = (
    'BatchNormalization|Bilinear|BinaryHierarchicalSoftmax|CRF1d|Convolution2D|Deconvolution2D|EmbedID|Inception|'
    'InceptionBN|Linear|NegativeSampling|PReLU|Parameter'
)
_WITH_BIAS = r'chainer\.links\.(connection\.\w+\.)?(Linear|Convolution2D|Deconvolution2D|DilatedConvolution2D)'
_WITH_TEST = (
    r'chainer\.links\.\w*(BatchNormalization|Inception|InceptionBN|GoogLeNet|VGG16Layers|ResNet\w*Layers)\(\)'
)
_TAKES_TRAIN = (
    r'chainer\.(functions\.(\w+\.\w+\.)?(dropout|zoneout|simplified_dropconnect|n_step_\w+|rrelu)'
    r'|links\.(NStep\w+|caffe\.CaffeFunction|SimplifiedDropconnect|StatefulZoneoutLSTM)\(\))'
)
_DROPOUT = r'chainer\.functions\.(noise\.dropout\.)?dropout'

_LINK_OR_FUNCTION = r'chainer\.functions|chainer\.links|chainer\.compat\.legacy\.function_classes'
_FUNCTION_CLASSES = '|'.join(function_classes.CLASSES)
_CHECKS = r'chainer\.gradient_check\.check_(double_)?backward'

RULES = [
    # Names.
    Rule(
        'FunctionSet', 'name', r'chainer\.(function_set\.)?FunctionSet', 'chainer.Chain', True, 'v2', 'became Chain'
    ),
    Rule(
        'F.Link',
        'name',
        rf'chainer\.functions\.(connection\.\w+\.)?({PARAMETRIZED})',
        r'chainer.links.\2',
        True,
        'v2',
        'functions with parameters are links',
    ),
    Rule(
        'caffe',
        'name',
        r'chainer\.functions\.(caffe\.)?(caffe_function\.)?CaffeFunction',
        'chainer.links.caffe.CaffeFunction',
        True,
        'v2',
        'became a link',
    ),
    Rule(
        'flag',
        'name',
        r'chainer\.(?:flag\.)?(ON|OFF|AUTO|Flag)',
        r'chainer.compat.legacy.volatile.\1',
        True,
        'v2',
        'flags were dropped with volatile variables',
    ),
    Rule('flag', 'name', r'chainer\.flag', 'chainer.compat.legacy.volatile', True, 'v2', 'flags were dropped'),
    Rule(
        'function class',
        'name',
        rf'chainer\.functions\.({_FUNCTION_CLASSES})',
        r'chainer.compat.legacy.function_classes.\1',
        True,
        'v2',
        'functions are no longer classes; this is a copy. Better: the function',
    ),
    Rule('caffe', 'name', r'chainer\.functions\.caffe', 'chainer.links.caffe', True, 'v2', 'moved to links'),
    Rule(
        'hook',
        'name',
        r'chainer\.optimizer\.(WeightDecay|Lasso|GradientClipping|GradientHardClipping|GradientNoise)',
        r'chainer.optimizer_hooks.\1',
        True,
        'v4',
        'moved to optimizer_hooks; the old name warns',
    ),
    Rule(
        'version',
        'name',
        r'chainer\.__version__(\.\w+)?',
        r"'7.8.1'\1",
        True,
        '',
        'programs compare the version of Chainer, whose interface of 7.8.1 is here',
    ),
    Rule(
        'pycuda',
        'name',
        r'chainer\.cuda\.(mem_alloc|shutdown|use_device|using_cumisc)',
        'write what CuPy has',
        False,
        'v1.3',
        'was for PyCUDA',
    ),
    # Arguments.
    Rule(
        'volatile',
        'keyword',
        r'chainer\.(variable\.)?Variable',
        '',
        True,
        'v2',
        'values are the same without it. To save memory, evaluate in `with chainer.no_backprop_mode():`',
        keyword='volatile',
        position=1,
    ),
    Rule('use_cudnn', 'keyword', rf'({_LINK_OR_FUNCTION})\..*', '', True, 'v2', 'is a setting', 'use_cudnn'),
    Rule('use_cudnn', 'keyword', r'chainer\.links\.NStep\w+', '', True, 'v2', 'is a setting', 'use_cudnn', 4),
    Rule(
        'deterministic', 'keyword', r'chainer\.(functions|links)\..*', '', True, 'v2', 'is a setting', 'deterministic'
    ),
    Rule('bias', 'keyword', _WITH_BIAS, 'initial_bias', True, 'v2', 'was renamed', keyword='bias'),
    Rule(
        'wscale',
        'keyword',
        _WITH_BIAS,
        'initialW=chainer.initializers.LeCunNormal(scale={value} ** 0.5)',
        True,
        'v2',
        'was replaced by initialW. This is what v1.24 did; before v1.9 the scale was wscale itself',
        keyword='wscale',
    ),
    Rule(
        'dropout-train',
        'config',
        _TAKES_TRAIN,
        '{value}',
        True,
        'v2',
        'became the setting `train`',
        'train',
    ),
    Rule('dropout-train', 'config', _DROPOUT, '{value}', True, 'v2', 'became the setting `train`', 'train', 2),
    Rule('test', 'config', _WITH_TEST, 'not {value}', True, 'v2', 'became the setting `train`', 'test'),
    Rule(
        'test',
        'config',
        r'chainer\.links\.BatchNormalization\(\)',
        'not {value}',
        True,
        'v2',
        'became the setting `train`',
        'test',
        1,
    ),
    Rule(
        'snapshot-trigger',
        'keyword',
        r'chainer\.training\.extensions\.snapshot(_object)?',
        'give `trigger` to trainer.extend',
        False,
        'v2',
        'triggers belong to `extend`',
        'trigger',
    ),
    Rule('encoding', 'keyword', r'json\.(loads?|dumps?)', '', True, '', 'was dropped, texts have none', 'encoding'),
    # Values that an argument had by default in v1.
    Rule(
        'BatchNormalization',
        'function',
        r'chainer\.links\.(normalization\.\w+\.)?BatchNormalization',
        'chainer.compat.legacy.defaults.BatchNormalization',
        True,
        'v2',
        'in v1 the running variance began at 0 and included eps. Better, for new trainings: L.BatchNormalization',
    ),
    Rule(
        'v1-default',
        'default',
        r'chainer\.links\.(connection\.\w+\.|rnn\.\w+\.)?(LSTM|StatelessLSTM)',
        'forget_bias_init=0',
        True,
        'v2',
        'in v1 the bias of the forget gate began at 0',
        'forget_bias_init',
        5,
    ),
    Rule(
        'v1-default',
        'default',
        r'chainer\.links\.(connection\.\w+\.)?ConvolutionND',
        'nobias=True',
        True,
        'v2',
        'in v1 it had no bias unless initial_bias was given',
        'initial_bias',
        6,
    ),
    Rule(
        'v1-default',
        'default',
        r'chainer\.functions\.split_axis',
        'force_tuple=False',
        True,
        'v2',
        'in v1 one section was not in a tuple',
        'force_tuple',
        3,
    ),
    Rule(
        'GRU',
        'function',
        r'chainer\.links\.GRU',
        'chainer.compat.legacy.names.StatelessGRU',
        True,
        'v2',
        'in v1 it had no state, and took its sizes in the other order. Better: L.StatelessGRU(n_inputs, n_units)',
    ),
    Rule(
        'strictness',
        'argument',
        _CHECKS,
        "strictness='chainer'",
        True,
        '',
        'the check notices more than Chainer did; this accepts what Chainer accepted, with a warning',
        'strictness',
    ),
    Rule(
        'make_extension',
        'keyword',
        r'chainer\.training\.(extension\.)?make_extension',
        'give call_before_training=True to trainer.extend',
        False,
        'v3',
        'belongs to `extend`',
        'invoke_before_training',
    ),
    # Methods of optimizers and function sets.
    Rule(
        'zero_grads',
        'method',
        'zero_grads',
        '{receiver}.target.zerograds()',
        True,
        'v2',
        'belongs to the link. cleargrads() is faster, if each step uses all parameters',
    ),
    Rule(
        'clip_grads',
        'method',
        'clip_grads',
        'chainer.optimizer_hooks.GradientClipping({0})({receiver})',
        True,
        'v2',
        'became a hook, which is called here once',
    ),
    Rule(
        'weight_decay',
        'method',
        'weight_decay',
        '[chainer.optimizer_hooks.WeightDecay({0})(p.update_rule, p) for p in {receiver}.target.params()]',
        True,
        'v2',
        'became a hook, which is called here for each parameter',
    ),
    Rule(
        'compute_grads_norm',
        'method',
        'compute_grads_norm',
        'sum(float((p.grad ** 2).sum()) for p in {receiver}.target.params()) ** 0.5',
        True,
        'v2',
        'was dropped',
    ),
    Rule(
        'accumulate_grads',
        'method',
        'accumulate_grads',
        '{receiver}.target.addgrads(link) with the link of the gradients',
        False,
        'v2',
        'belongs to the link',
    ),
    Rule('collect_parameters', 'method', 'collect_parameters', '{receiver}', True, 'v2', 'setup takes the link'),
    Rule(
        'copy_parameters_from',
        'method',
        'copy_parameters_from',
        'chainer.compat.legacy.former.copy_parameters_from({receiver}, {0})',
        True,
        'v2',
        'links copy from links, not from arrays. Better: model.copyparams(other)',
    ),
    Rule(
        'add_uninitialized_param',
        'method',
        'add_uninitialized_param',
        'chainer.compat.legacy.former.add_uninitialized_param({receiver}, {0})',
        True,
        'v2',
        'parameters may have no shape yet. Better: self.name = chainer.Parameter() in `with self.init_scope():`',
    ),
    Rule('has_key', 'method', 'has_key', '({0} in {receiver})', True, '', 'was dropped by Python 3'),
    # Calls.
    Rule(
        'numpy.fromstring',
        'call',
        r'numpy\.fromstring',
        'numpy.frombuffer({0}).copy()',
        True,
        '',
        'is refused by NumPy 2.3 for bytes',
        keyword='sep',
        position=3,
    ),
    Rule('numpy.asscalar', 'call', r'numpy\.asscalar', '{0}.item()', True, '', 'was dropped by NumPy 1.23'),
    Rule('numpy.msort', 'call', r'numpy\.msort', 'numpy.sort({0}, axis=0)', True, '', 'was dropped by NumPy 2.0'),
    Rule(
        'numpy.asfarray',
        'call',
        r'numpy\.asfarray',
        'numpy.asarray({0}, dtype=float)',
        True,
        '',
        'was dropped by NumPy 2.0',
    ),
    Rule('numpy.in1d', 'call', r'numpy\.in1d', 'numpy.isin({0}).ravel()', True, '', 'was dropped by NumPy 2.4'),
    Rule(
        'time.clock',
        'call',
        r'time\.clock',
        'time.process_time({0})',
        True,
        '',
        'was dropped by Python 3.8. It was the time of the processor; time.perf_counter() is elapsed time',
    ),
    # Statements.
    Rule(
        'cuda.init',
        'statement',
        r'chainer\.(backends\.)?cuda\.init',
        'chainer.cuda.get_device_from_id({0}).use()',
        True,
        'v2',
        'devices need no initialization',
    ),
]

#: Methods whose receiver is an optimizer, and attributes of what v1 had.
OPTIMIZER_METHODS = frozenset('zero_grads clip_grads weight_decay compute_grads_norm accumulate_grads'.split())
OLD_ATTRIBUTES = {'volatile': 'there are no volatile variables: see chainer.no_backprop_mode'}
OLD_SETS = {
    'parameters': 'chainer.compat.legacy.former.parameters',
    'gradients': 'chainer.compat.legacy.former.gradients',
}
#: Attributes of links of v1.
OLD_OF_LINKS = {'has_uninitialized_params': 'chainer.compat.legacy.former.has_uninitialized_params'}
#: What a module has that makes objects of node classes, such as ``activation.relu.ReLU``, without ``apply``.
CALLED_NODE = 'a called node'
#: Parts of the style of v1 that a module switches on if it has all of one of these sets: attributes that it reads or
#: sets, functions and class attributes that it defines, and arguments (``x=``) that it gives.
PARTS = {
    'defaults': [{'.InceptionBN', 'test='}],
    'nodes': [{CALLED_NODE}],
    'optimizers': [{'update_one'}, {'update_one_cpu'}, {'update_one_gpu'}],
    'trainer': [{'make_extension', 'invoke_before_training='}, {'invoke_before_training'}],
    'volatile': [{'.volatile', 'volatile='}, {'.creator', 'volatile='}],
}
#: Arguments in v1's order, which those without a name follow, of links that were in ``functions``.
V1_ORDER = {
    'chainer.links.Linear': 'in_size out_size wscale bias nobias initialW initial_bias'.split(),
    'chainer.links.Convolution2D': (
        'in_channels out_channels ksize stride pad wscale bias nobias use_cudnn initialW initial_bias deterministic'
    ).split(),
    'chainer.links.DilatedConvolution2D': (
        'in_channels out_channels ksize stride pad dilate wscale bias nobias use_cudnn initialW initial_bias'
    ).split(),
    'chainer.links.Deconvolution2D': (
        'in_channels out_channels ksize stride pad wscale bias nobias outsize use_cudnn initialW initial_bias'
    ).split(),
}


#: Rules that only programs of v1 need: one of them shows what a program is.
SHOW_V1 = frozenset(rule.name for rule in RULES if rule.since == 'v2' and rule.kind != 'function') - {
    'snapshot-trigger',
    'v1-default',
    'GRU',
}


@functools.cache
def of_kind(kind: str) -> tuple[Rule, ...]:
    """The rules of a kind.

    Args:
        kind: one of those that :class:`Rule` names.
    """
    return tuple(rule for rule in RULES if rule.kind == kind)
