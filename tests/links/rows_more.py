"""The second part of the table of links: small layers, losses and layers of transformers."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer.utils.walker_alias import WalkerAlias
from tests.links import references as ref
from tests.links.row import Kept, Made, Row, Uniform, ints, lecun, sets, x_of

ROWS: list[Row] = []
add = ROWS.append
WB = (*sets('initialW', '/W'), *sets('initial_bias', '/b'))


def relu(x: Any) -> Any:
    return np.maximum(x, 0)


def seeded(link: Any, *inputs: Any) -> Any:
    """A call of a link that draws random numbers, after one in which its parameters may be drawn."""
    if any(param.array is None for param in link.params()):
        link(*inputs)
    state = np.random.get_state()
    np.random.seed(0)
    result = link(*inputs)
    np.random.set_state(state)
    return result


# --- activations ---------------------------------------------------------------------------------------------------
add(
    Row(
        L.Swish, {'beta_shape': (3,)}, x_of((4, 3, 2)),
        lambda p, x: x * ref.sigmoid(p['/beta'][:, None] * x), {'/beta': 1}, given=tuple(sets('beta_init', '/beta')),
    )
)  # fmt: skip
add(
    Row(
        L.Swish, {'beta_shape': (3, 2)}, x_of((4, 3, 2)), lambda p, x: x * ref.sigmoid(p['/beta'] * x), {'/beta': 1},
        lazy={'beta_shape': None}, variant='with a shape from data',
    )
)  # fmt: skip
add(
    Row(
        L.Maxout, {'in_size': 6, 'out_size': 2, 'pool_size': 3}, x_of((5, 3, 2)),
        lambda p, x: ref.maxout(p, x, 3), {'/linear/W': lecun(6), '/linear/b': 0},
        given=(
            *sets('initialW', '/linear/W'), *sets('initial_bias', '/linear/b'),
            ({'initialW': np.arange(36).reshape(2, 3, 6)}, {'/linear/W': np.arange(36).reshape(6, 6)}),
            ({'initial_bias': np.arange(6).reshape(2, 3)}, {'/linear/b': np.arange(6)}),
        ),
        lazy={'in_size': None},
    )
)  # fmt: skip
add(
    Row(
        L.Maxout, {'in_size': 3, 'out_size': 2, 'pool_size': 2, 'initial_bias': None}, x_of((5, 3)),
        lambda p, x: ref.maxout(p, x, 2), {'/linear/W': lecun(3)}, variant='without bias',
    )
)  # fmt: skip
for ratio, nobias in ((0.5, False), (0.3, True)):
    add(
        Row(
            L.SimplifiedDropconnect,
            {'in_size': 6, 'out_size': 4, **({'ratio': 0.3, 'nobias': True} if nobias else {})},
            x_of((5, 3, 2)), lambda p, x, ratio=ratio: ref.dropconnect(p, x, ratio),
            {'/W': lecun(6), **({} if nobias else {'/b': 0})}, given=() if nobias else WB, lazy={'in_size': None},
            call=seeded, variant='without bias' if nobias else '',
        )
    )  # fmt: skip

# --- connections ---------------------------------------------------------------------------------------------------
add(
    Row(
        L.Bias, {'shape': (3,)}, x_of((2, 3, 4)), lambda p, x: x + p['/b'][:, None], {'/b': 0},
    )
)  # fmt: skip
add(
    Row(
        L.Bias, {'axis': 2}, x_of((2, 3, 4, 2), (4, 2)), lambda p, x, b: x + b, {}, variant='with two inputs',
    )
)  # fmt: skip
add(
    Row(
        L.Scale, {'W_shape': (3, 4), 'bias_term': True}, x_of((2, 3, 4, 2)),
        lambda p, x: x * p['/W'][:, :, None] + p['/bias/b'][:, :, None], {'/W': 1, '/bias/b': 0},
    )
)  # fmt: skip
add(
    Row(
        L.Scale, {'axis': 0, 'bias_term': True, 'bias_shape': (2, 3)}, x_of((2, 3, 4), (2, 3)),
        lambda p, x, W: x * W[..., None] + p['/bias/b'][..., None], {'/bias/b': 0}, variant='with two inputs',
    )
)  # fmt: skip
VALUES = np.array([[1, 2], [3, 4]], 'f')
add(
    Row(
        L.Parameter, {'array': Made(lambda: VALUES.astype(chainer.get_dtype()))}, (), lambda p: p['/W'],
        {'/W': VALUES}, again={'/W': Kept()},
    )
)  # fmt: skip
HIGHWAY = {'/*/W': lecun(3), '/plain/b': 0, '/transform/b': -1}
add(
    Row(
        L.Highway, {'in_out_size': 3}, x_of((4, 3)), lambda p, x: ref.highway(p, x, relu), HIGHWAY,
        given=(
            *sets('init_Wh', '/plain/W'), *sets('init_Wt', '/transform/W'), *sets('init_bh', '/plain/b'),
            *sets('init_bt', '/transform/b'),
        ),
    )
)  # fmt: skip
add(
    Row(
        L.Highway, {'in_out_size': 3, 'nobias': True, 'activate': F.tanh}, x_of((4, 3)),
        lambda p, x: ref.highway(p, x, np.tanh), {'/*/W': lecun(3)}, variant='with all arguments',
    )
)  # fmt: skip
FILTERS = {'in_channels': 2, 'out_channels': 3, 'ksize': 2}
add(
    Row(
        L.DilatedConvolution2D, FILTERS, x_of((2, 2, 4, 4)), lambda p, x: ref.convolution(x, p['/W'], p['/b']),
        {'/W': lecun(8), '/b': 0}, given=WB, lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.DilatedConvolution2D, {**FILTERS, 'stride': 2, 'pad': 1, 'dilate': 2, 'nobias': True}, x_of((2, 2, 6, 6)),
        lambda p, x: ref.convolution(x, p['/W'], None, 2, 1, 2), {'/W': lecun(8)}, lazy={'in_channels': None},
        variant='with all arguments',
    )
)  # fmt: skip
DEPTHWISE = {'in_channels': 2, 'channel_multiplier': 3, 'ksize': 2}
add(
    Row(
        L.DepthwiseConvolution2D, DEPTHWISE, x_of((2, 2, 4, 4)), ref.depthwise, {'/W': lecun(8), '/b': 0}, given=WB,
        lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.DepthwiseConvolution2D, {**DEPTHWISE, 'stride': 2, 'pad': 1, 'nobias': True}, x_of((2, 2, 4, 4)),
        lambda p, x: ref.depthwise(p, x, 2, 1), {'/W': lecun(8)}, lazy={'in_channels': None},
        variant='with all arguments',
    )
)  # fmt: skip
add(
    Row(
        L.LocalConvolution2D, {**FILTERS, 'in_size': (4, 3)}, x_of((2, 2, 4, 3)), ref.local_convolution,
        {'/W': lecun(3 * 2 * 2 * 2 * 2), '/b': 0}, given=WB, lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.LocalConvolution2D, {**FILTERS, 'in_size': 4, 'stride': 2, 'nobias': True}, x_of((2, 2, 4, 4)),
        lambda p, x: ref.local_convolution(p, x, 2), {'/W': lecun(2 * 2 * 2 * 2 * 2)}, lazy={'in_size': None},
        variant='with all arguments',
    )
)  # fmt: skip
add(
    Row(
        L.DeformableConvolution2D, FILTERS, x_of((2, 2, 4, 4)), ref.deformable,
        {'/offset_conv/W': lecun(8), '/*/b': 0, '/deform_conv/W': 0},
        given=(
            *sets('offset_initialW', '/offset_conv/W'), *sets('offset_initial_bias', '/offset_conv/b'),
            *sets('deform_initialW', '/deform_conv/W'), *sets('deform_initial_bias', '/deform_conv/b'),
        ),
        lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.DeformableConvolution2D,
        {**FILTERS, 'stride': 2, 'pad': 1, 'offset_nobias': True, 'deform_nobias': True}, x_of((2, 2, 4, 4)),
        lambda p, x: ref.deformable(p, x, 2, 1), {'/offset_conv/W': lecun(8), '/deform_conv/W': 0},
        lazy={'in_channels': None}, variant='with all arguments',
    )
)  # fmt: skip
MLP = {'in_channels': 2, 'out_channels': (3, 4), 'ksize': 2}
MLP_VALUES = {'/0/W': lecun(8), '/1/W': lecun(3), '/*/b': 0}
add(
    Row(
        L.MLPConvolution2D, MLP, x_of((2, 2, 4, 4)), lambda p, x: ref.mlp_convolution(p, x, relu), MLP_VALUES,
        given=(*sets('conv_init', '/*/W'), *sets('bias_init', '/*/b')), lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.MLPConvolution2D, {**MLP, 'stride': 2, 'pad': 1, 'activation': F.tanh}, x_of((2, 2, 4, 4)),
        lambda p, x: ref.mlp_convolution(p, x, np.tanh, stride=2, pad=1), MLP_VALUES, lazy={'in_channels': None},
        variant='with all arguments',
    )
)  # fmt: skip
INCEPTION = {'in_channels': 2, 'out1': 2, 'proj3': 3, 'out3': 2, 'proj33': 3, 'out33': 3, 'pooltype': 'max'}
INCEPTION_VALUES = {
    '/proj*/W': lecun(2), '/conv3/W': lecun(27), '/conv33?/W': lecun(27),
    '/*/gamma': 1, '/*/beta': 0, '/*/N': 0, '/*/avg_mean': 0, '/*/avg_var': 1,
}  # fmt: skip
for args, more, pooltype, stride in (
    ({'proj_pool': 2, 'pooltype': 'avg'}, {'/conv1/W': lecun(2), '/poolp/W': lecun(2)}, 'avg', 1),
    ({'out1': 0, 'stride': 2}, {}, 'max', 2),
):

    def inception(p: Any, x: Any, pooltype: str = pooltype, stride: int = stride, train: bool = True) -> Any:
        return ref.inception_bn(p, x, pooltype, stride, train)

    def inception_test(p: Any, x: Any, pooltype: str = pooltype, stride: int = stride) -> Any:
        return ref.inception_bn(p, x, pooltype, stride, False)

    add(
        Row(
            L.InceptionBN, {**INCEPTION, **args}, x_of((3, 2, 5, 4)), inception, {**INCEPTION_VALUES, **more},
            test=inception_test, given=(*sets('conv_init', '/*/W'), ({'dtype': 'f'}, {})), lazy={'in_channels': None},
            precision=1e-4, variant='' if stride == 1 else 'with other arguments',
        )
    )  # fmt: skip

# --- losses --------------------------------------------------------------------------------------------------------
SEQUENCES = (*x_of((4, 3), (2, 3), (3, 3)), ints([0, 2, 1, 1]), ints([1, 2]), ints([2, 2, 0]))


def of_sequences(link: Any, *inputs: Any) -> Any:
    return link(list(inputs[:3]), list(inputs[3:]), transpose=True)


add(
    Row(
        L.CRF1d, {'n_label': 3}, SEQUENCES, ref.crf1d, {'/cost': 0}, given=tuple(sets('initial_cost', '/cost')),
        call=of_sequences,
    )
)  # fmt: skip
COUNTS, LABELS = [5, 2, 4, 1], ints([0, 3, 1, 1, 2])
FEATURES = x_of((5, 3))


def drawn(power: float, size: int) -> Any:
    """The classes that a sampler draws from seed 0."""
    np.random.seed(0)
    return WalkerAlias(np.array(COUNTS, 'd') ** power).sample((5, size))


for power in (0.75, 0.3):
    add(
        Row(
            L.NegativeSampling,
            {'in_size': 3, 'counts': COUNTS, 'sample_size': 2, **({} if power == 0.75 else {'power': power})},
            (*FEATURES, LABELS),
            lambda p, x, t, power=power: ref.negative_sampling(p, x, t, drawn(power, 3)[:, 1:]), {'/W': 0},
            call=seeded, variant='' if power == 0.75 else 'with a power',
        )
    )  # fmt: skip
add(
    Row(
        L.BlackOut, {'in_size': 3, 'counts': COUNTS, 'sample_size': 3}, (*FEATURES, LABELS),
        lambda p, x, t: ref.black_out(p, x, t, drawn(1, 3)), {'/W': np.nan}, call=seeded,
    )
)  # fmt: skip
TREE = ((0, 1), (3, 2))
TURNS = {0: [(0, 1), (1, 1)], 1: [(0, 1), (1, -1)], 3: [(0, -1), (2, 1)], 2: [(0, -1), (2, -1)]}


add(
    Row(
        L.BinaryHierarchicalSoftmax, {'in_size': 3, 'tree': TREE}, (*FEATURES, LABELS),
        lambda p, x, t: ref.hierarchical(p, x, t, TURNS), {'/W': Uniform(1)},
    )
)  # fmt: skip

# --- normalization -------------------------------------------------------------------------------------------------
SCALES = {'/gamma': 1, '/beta': 0}
GAMMA_BETA = (*sets('initial_gamma', '/gamma'), *sets('initial_beta', '/beta'))
add(
    Row(
        L.LayerNormalization, {'size': 4}, x_of((3, 2, 2, 4)), lambda p, x: ref.over_last(p, '', x, 1e-6), SCALES,
        given=GAMMA_BETA, lazy={'size': None}, prints='LayerNormalization(size=4, eps=1e-06)',
        variant='of more axes',
    )
)  # fmt: skip
add(
    Row(
        L.RMSNormalization, {'size': 4, 'eps': 0.1}, x_of((3, 2, 4)),
        lambda p, x: ref.rms_normalization(p, x, 0.1), {'/gamma': 1}, given=tuple(sets('initial_gamma', '/gamma')),
        lazy={'size': None}, prints='RMSNormalization(size=4, eps=0.1)',
    )
)  # fmt: skip
INSTANCE = 'InstanceNormalization(size={}, eps={}, use_gamma={}, use_beta={})'
add(
    Row(
        L.InstanceNormalization, {'size': 4}, x_of((3, 4, 5)),
        lambda p, x: ref.group_normalization(p, x, 4, 1e-5), SCALES, given=GAMMA_BETA, lazy={'size': None},
        prints=INSTANCE.format(4, 1e-05, True, True),
    )
)  # fmt: skip
add(
    Row(
        L.InstanceNormalization, {'eps': 0.1, 'use_gamma': False, 'use_beta': False}, x_of((3, 4, 5)),
        lambda p, x: ref.group_normalization({'/gamma': np.ones(4), '/beta': np.zeros(4)}, x, 4, 0.1), {},
        prints=INSTANCE.format(None, 0.1, False, False), variant='without parameters',
    )
)  # fmt: skip

# --- transformers --------------------------------------------------------------------------------------------------
#: The bias of the keys changes all scores of a query alike, so its gradient is 0.
NEARLY_ZERO = 1e-10
PROJECTIONS = {'/*/W': lecun(4), '/*/b': 0}
PROJECTIONS_GIVEN = (*sets('initialW', '/*/W'), *sets('initial_bias', '/*/b'))
add(
    Row(
        L.MultiHeadAttention, {'size': 4, 'n_heads': 2}, x_of((2, 3, 4)),
        lambda p, x: ref.attention(p, x, x, x, 2), PROJECTIONS, atol=NEARLY_ZERO, given=PROJECTIONS_GIVEN,
    )
)  # fmt: skip
ALLOWED = np.array([[1, 1, 0], [0, 1, 1]], '?')[:, None, :]


def masked(link: Any, query: Any, key: Any, value: Any) -> Any:
    return link(query, key, value, key_mask=link.xp.asarray(ALLOWED[:, 0]))


add(
    Row(
        L.MultiHeadAttention, {'size': 4, 'n_heads': 4, 'nobias': True, 'key_size': 3, 'value_size': 2},
        x_of((2, 5, 4), (2, 3, 3), (2, 3, 2)), lambda p, q, k, v: ref.attention(p, q, k, v, 4, ALLOWED),
        {'/query/W': lecun(4), '/key/W': lecun(3), '/value/W': lecun(2), '/out/W': lecun(4)}, call=masked,
        variant='with other keys',
    )
)  # fmt: skip
add(
    Row(
        L.MultiHeadAttention, {'size': 4, 'n_heads': 2, 'dropout': 0.5}, x_of((2, 3, 4)),
        lambda p, x: ref.attention(p, x, x, x, 2), PROJECTIONS, test=lambda p, x: ref.attention(p, x, x, x, 2),
        random=True, variant='with dropout', atol=NEARLY_ZERO,
    )
)  # fmt: skip
LAYER = {'/*attention/*/W': lecun(4), '/linear1/W': lecun(4), '/*/b': 0, '/norm?/gamma': 1, '/norm?/beta': 0}
LAYERS = (
    (L.TransformerEncoderLayer, ((2, 3, 4),)),
    (L.TransformerDecoderLayer, ((2, 3, 4), (2, 2, 4))),
)
for cls, shapes in LAYERS:

    def plain(p: Any, x: Any, memory: Any = None) -> Any:
        return ref.transformer(p, x, memory, 2, 1e-5, relu, False)

    def other(p: Any, x: Any, memory: Any = None) -> Any:
        return ref.transformer(p, x, memory, 4, 0.1, np.tanh, True)

    add(
        Row(
            cls, {'size': 4, 'n_heads': 2}, x_of(*shapes), plain, {**LAYER, '/linear2/W': lecun(16)}, test=plain,
            given=(*sets('initialW', '/*/W'), *sets('initial_bias', '/*/b')), random=True, atol=NEARLY_ZERO,
        )
    )  # fmt: skip
    add(
        Row(
            cls,
            {
                'size': 4, 'n_heads': 4, 'hidden_size': 3, 'dropout': 0.0, 'activation': F.tanh, 'norm_first': True,
                'eps': 0.1,
            },
            x_of(*shapes), other, {**LAYER, '/linear2/W': lecun(3)}, variant='with all arguments', atol=NEARLY_ZERO,
        )
    )  # fmt: skip
