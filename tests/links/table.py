"""The table: every use of a link, and what it must do."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer.functions as F
import minichainer.links as L
from minichainer.initializers.constant import Constant
from tests.links import references as ref
from tests.links import rows_more
from tests.links.row import Made, Normal, Row, ints, lecun, sets, steps, x_of

WB = (*sets('initialW', '/W'), *sets('initial_bias', '/b'))
ROWS: list[Row] = []
add = ROWS.append


# --- connections ---------------------------------------------------------------------------------------------------
def linear(p: Any, x: Any) -> Any:
    return ref.affine({f'/l{k}': v for k, v in p.items()}, '/l', x)


add(
    Row(
        L.Linear, {'in_size': 6, 'out_size': 4}, x_of((5, 2, 3)), linear, {'/W': lecun(6), '/b': 0}, given=WB,
        lazy={'in_size': None}, prints='Linear(in_size=6, out_size=4, nobias=False)',
    )
)  # fmt: skip
add(
    Row(
        L.Linear, {'in_size': 3, 'out_size': 4, 'nobias': True}, x_of((5, 3)), linear, {'/W': lecun(3)},
        given=(({'initialW': np.arange(12).reshape(4, 3)}, {'/W': np.arange(12).reshape(4, 3)}),),
        prints='Linear(in_size=3, out_size=4, nobias=True)', variant='without bias',
    )
)  # fmt: skip
#: Class, its arguments besides the usual ones, axes of space.
CONVOLUTIONS = [
    (L.Convolution1D, {}, 1), (L.Convolution2D, {}, 2), (L.Convolution3D, {}, 3), (L.ConvolutionND, {'ndim': 2}, 2),
]  # fmt: skip
DECONVOLUTIONS = [
    (L.Deconvolution1D, {}, 1), (L.Deconvolution2D, {}, 2), (L.Deconvolution3D, {}, 3),
    (L.DeconvolutionND, {'ndim': 2}, 2),
]  # fmt: skip
PRINTED = (
    'Convolution2D(in_channels={}, out_channels={}, ksize={}, stride=({}, {}), pad=({}, {}), nobias={}, '
    'dilate=({}, {}), groups={})'
)
for cls, lead, n in CONVOLUTIONS:
    is_2d = cls is L.Convolution2D
    add(
        Row(
            cls, {**lead, 'in_channels': 2, 'out_channels': 3, 'ksize': 2}, x_of((2, 2, *[4] * n)),
            lambda p, x: ref.convolution(x, p['/W'], p['/b']), {'/W': lecun(2 * 2**n), '/b': 0}, given=WB,
            lazy={'in_channels': None}, prints=PRINTED.format(2, 3, 2, 1, 1, 0, 0, False, 1, 1, 1) if is_2d else '',
        )
    )  # fmt: skip
    add(
        Row(
            cls, {
                **lead, 'in_channels': 4, 'out_channels': 6, 'ksize': 2, 'stride': 2, 'pad': 1, 'nobias': True,
                'dilate': 2, 'groups': 2, **({} if is_2d else {'cover_all': True}),
            },
            x_of((2, 4, *[6] * n)),
            lambda p, x, is_2d=is_2d: ref.convolution(x, p['/W'], None, 2, 1, 2, 2, not is_2d),
            {'/W': lecun(2 * 2**n)}, lazy={'in_channels': None},
            prints=PRINTED.format(4, 6, 2, 2, 2, 1, 1, True, 2, 2, 2) if is_2d else '', variant='with all arguments',
        )
    )  # fmt: skip
for cls, lead, n in DECONVOLUTIONS:
    add(
        Row(
            cls, {**lead, 'in_channels': 2, 'out_channels': 3, 'ksize': 2}, x_of((2, 2, *[3] * n)),
            lambda p, x: ref.deconvolution(x, p['/W'], p['/b']), {'/W': lecun(3 * 2**n), '/b': 0}, given=WB,
            lazy={'in_channels': None},
        )
    )  # fmt: skip
    add(
        Row(
            cls, {
                **lead, 'in_channels': 4, 'out_channels': 6, 'ksize': 2, 'stride': 2, 'pad': 1, 'nobias': True,
                'outsize': (6,) * n, 'dilate': 2, 'groups': 2,
            },
            x_of((2, 4, *[3] * n)),
            lambda p, x, n=n: ref.deconvolution(x, p['/W'], None, 2, 1, 2, 2, (6,) * n),
            {'/W': lecun(3 * 2**n)}, lazy={'in_channels': None}, variant='with all arguments',
        )
    )  # fmt: skip
add(
    Row(
        L.Bilinear, {'left_size': 2, 'right_size': 3, 'out_size': 4}, x_of((5, 2), (5, 3)),
        lambda p, a, b: np.einsum('ni,nj,ijk->nk', a, b, p['/W']) + a @ p['/V1'] + b @ p['/V2'] + p['/b'],
        {'/W': lecun(12), '/V1': lecun(4), '/V2': lecun(4), '/b': 0},
        given=(
            *sets('initialW', '/W'),
            ({'initial_bias': (0.5, Constant(2), 3)}, {'/V1': 0.5, '/V2': 2, '/b': 3}),
        ),
    )
)  # fmt: skip
add(
    Row(
        L.Bilinear, {'left_size': 2, 'right_size': 3, 'out_size': 4, 'nobias': True}, x_of((5, 2), (5, 3)),
        lambda p, a, b: np.einsum('ni,nj,ijk->nk', a, b, p['/W']), {'/W': lecun(12)}, variant='without bias',
    )
)  # fmt: skip
add(
    Row(
        L.EmbedID, {'in_size': 3, 'out_size': 4}, (ints([[0, 2], [1, 1]]),), lambda p, x: p['/W'][x],
        {'/W': Normal(1.0)}, given=tuple(sets('initialW', '/W')),
    )
)  # fmt: skip
add(
    Row(
        L.EmbedID, {'in_size': 3, 'out_size': 4, 'ignore_label': 2}, (ints([[0, 2], [1, 1]]),),
        lambda p, x: p['/W'][x] * (x != 2)[..., None], {'/W': Normal(1.0)}, variant='with an ignored label',
    )
)  # fmt: skip
INCEPTION = {'in_channels': 2, 'out1': 1, 'proj3': 2, 'out3': 3, 'proj5': 2, 'out5': 1, 'proj_pool': 2}
add(
    Row(
        L.Inception, INCEPTION, x_of((2, 2, 5, 4)), ref.inception,
        {
            '/conv1/W': lecun(2), '/proj[35]/W': lecun(2), '/projp/W': lecun(2), '/conv3/W': lecun(18),
            '/conv5/W': lecun(50), '/*/b': 0,
        },
        given=(*sets('conv_init', '/*/W'), *sets('bias_init', '/*/b')), lazy={'in_channels': None},
    )
)  # fmt: skip
add(
    Row(
        L.PReLU, {}, x_of((3, 2, 2)), lambda p, x: np.where(x < 0, p['/W'] * x, x), {'/W': 0.25},
        given=tuple(sets('init', '/W')),
    )
)  # fmt: skip
add(
    Row(
        L.PReLU, {'shape': (2,)}, x_of((3, 2, 2)), lambda p, x: np.where(x < 0, p['/W'][:, None] * x, x),
        {'/W': 0.25}, variant='of channels',
    )
)  # fmt: skip


# --- normalization -------------------------------------------------------------------------------------------------
def normalized(axis: Any, eps: float, train: bool) -> Any:
    return lambda p, x: ref.batch_normalization(p, x, axis, eps, train)


STATISTICS = {'/N': 0, '/avg_mean': 0, '/avg_var': 1}
SCALES = {'/gamma': 1, '/beta': 0}
GAMMA_BETA = (*sets('initial_gamma', '/gamma'), *sets('initial_beta', '/beta'))
BN = 'Normalization(size={}, decay={}, eps={}, dtype=float32, use_gamma={}, use_beta={})'
add(
    Row(
        L.BatchNormalization, {'size': 3}, x_of((4, 3, 2)), normalized((0, 2), 2e-5, True), {**STATISTICS, **SCALES},
        test=normalized((0, 2), 2e-5, False),
        given=(
            *GAMMA_BETA, *sets('initial_avg_mean', '/avg_mean'), *sets('initial_avg_var', '/avg_var'),
        ),
        lazy={'size': None, 'axis': (0, 2)}, prints='Batch' + BN.format(3, 0.9, 2e-05, True, True),
    )
)  # fmt: skip
add(
    Row(
        L.BatchNormalization,
        {'axis': (0, 1), 'size': 2, 'decay': 0.5, 'eps': 0.1, 'use_gamma': False, 'use_beta': False, 'dtype': 'f'},
        x_of((4, 3, 2)), normalized((0, 1), 0.1, True), STATISTICS, test=normalized((0, 1), 0.1, False),
        typed=False, prints='Batch' + BN.format(2, 0.5, 0.1, False, False), variant='with all arguments',
    )
)  # fmt: skip
RENORM = {**STATISTICS, **SCALES}
add(
    Row(
        L.BatchRenormalization, {'size': 3}, x_of((4, 3, 2)),
        lambda p, x: ref.batch_renormalization(p, x, 1, 0, 2e-5), RENORM, test=normalized((0, 2), 2e-5, False),
        # Its running mean begins with what is given for the variance, as in Chainer.
        given=(*GAMMA_BETA, *sets('initial_avg_var', '/avg_mean'), *sets('initial_avg_mean')),
        prints='BatchRe' + BN.format(3, 0.9, 2e-05, True, True).replace('N', 'n', 1),
    )
)  # fmt: skip
add(
    Row(
        L.BatchRenormalization,
        {
            'size': 3, 'rmax': 1.1, 'dmax': 0.05, 'decay': 0.5, 'eps': 0.1, 'use_gamma': False, 'use_beta': False,
            'dtype': 'f',
        },
        x_of((4, 3, 2)), lambda p, x: ref.batch_renormalization(p, x, 1.1, 0.05, 0.1), STATISTICS,
        test=normalized((0, 2), 0.1, False), train_gradient=False, typed=False,
        prints='BatchRe' + BN.format(3, 0.5, 0.1, False, False).replace('N', 'n', 1), variant='with all arguments',
    )
)  # fmt: skip
for args in ({'groups': 2}, {'groups': 1, 'eps': 0.1, 'decay': 0.5, 'dtype': 'f'}):
    groups, eps = args['groups'], args.get('eps', 2e-5)
    add(
        Row(
            L.DecorrelatedBatchNormalization, {'size': 4, **args}, x_of((6, 4, 2)),
            lambda p, x, groups=groups, eps=eps: ref.decorrelated(p, x, groups, eps, True),
            {'/N': 0, '/avg_mean': 0, '/avg_projection': np.eye(4 // groups)},
            test=lambda p, x, groups=groups, eps=eps: ref.decorrelated(p, x, groups, eps, False),
            typed=False, precision=1e-4, variant='' if groups == 2 else 'with all arguments',
            prints=f'DecorrelatedBatchNormalization(size=4, groups={groups}, decay={args.get("decay", 0.9)}, '
            f'eps={eps}, dtype=float32)',
        )
    )  # fmt: skip
add(
    Row(
        L.LayerNormalization, {'size': 4, 'eps': 0.1}, x_of((3, 4)),
        lambda p, x: ref.layer_normalization(p, x, 0.1), SCALES, given=GAMMA_BETA, lazy={'size': None},
        prints='LayerNormalization(size=4, eps=0.1)',
    )
)  # fmt: skip
add(
    Row(
        L.GroupNormalization, {'groups': 2, 'size': 4, 'eps': 0.1}, x_of((3, 4, 2)),
        lambda p, x: ref.group_normalization(p, x, 2, 0.1), SCALES, given=GAMMA_BETA, lazy={'size': None},
        prints='GroupNormalization(groups=2, size=4, eps=0.1)',
    )
)  # fmt: skip

# --- recurrent -----------------------------------------------------------------------------------------------------
SEQUENCE = x_of((4, 3), (4, 3), (4, 3))
SIZES = {'in_size': 3, 'out_size': 2}
LSTM_BIAS = np.tile([0, 0, 1, 0], 2)
LSTM_VALUES = {'/upward/W': lecun(3), '/lateral/W': lecun(2), '/upward/b': LSTM_BIAS}
LSTM_GIVEN = (
    *sets('lateral_init', '/lateral/W'), *sets('upward_init', '/upward/W'),
    ({'bias_init': 0.5}, {'/upward/b': np.tile([0.5, 0.5, 1, 0.5], 2)}),
    ({'forget_bias_init': Constant(3)}, {'/upward/b': np.tile([0, 0, 3, 0], 2)}),
)  # fmt: skip
# A Linear inside has the initializer 0, and is filled by the LSTM, so that a new copy has zeros, as in Chainer.
LSTM_AGAIN = {'/*': 0}
add(
    Row(
        L.LSTM, SIZES, SEQUENCE, ref.lstm, LSTM_VALUES, given=LSTM_GIVEN, again=LSTM_AGAIN, lazy={'in_size': None},
        call=steps,
    )
)  # fmt: skip
add(
    Row(
        L.StatelessLSTM, SIZES, x_of((4, 2), (4, 2), (4, 3)), ref.stateless_lstm, LSTM_VALUES, given=LSTM_GIVEN,
        again=LSTM_AGAIN, lazy={'in_size': None},
    )
)  # fmt: skip
UPWARD = {'/upward/W': lecun(3), '/lateral/W': lecun(2), '/upward/b': 0}
add(
    Row(
        L.StatefulPeepholeLSTM, SIZES, SEQUENCE, ref.peephole, {**UPWARD, '/peep_*/W': lecun(2)},
        lazy={'in_size': None}, call=steps,
    )
)  # fmt: skip
ZONEOUT = {'c_ratio': 0.3, 'h_ratio': 0.6}
add(
    Row(
        L.StatefulZoneoutLSTM, {**SIZES, **ZONEOUT}, SEQUENCE, ref.lstm, UPWARD,
        test=ref.lstm, lazy={'in_size': None}, call=steps, random=True,
    )
)  # fmt: skip
GRU_VALUES = {'/W*/W': lecun(3), '/U*/W': lecun(2), '/*/b': 0}
GRU_GIVEN = (*sets('init', '/W*/W'), *sets('inner_init', '/U*/W'), *sets('bias_init', '/*/b'))
for cls in (L.GRU, L.StatefulGRU):
    add(
        Row(cls, SIZES, SEQUENCE, ref.gru, GRU_VALUES, given=GRU_GIVEN, lazy={'in_size': None}, call=steps)
    )  # fmt: skip
add(
    Row(
        L.StatelessGRU, SIZES, x_of((4, 2), (4, 3)), ref.gru_step, GRU_VALUES, given=GRU_GIVEN,
        lazy={'in_size': None},
    )
)  # fmt: skip
MGU_VALUES = {'/W_[fh]/W': lecun(5), '/*/b': 0}
add(Row(L.StatefulMGU, SIZES, SEQUENCE, ref.mgu, MGU_VALUES, call=steps))
add(Row(L.StatelessMGU, {'n_inputs': 3, 'n_units': 2}, x_of((4, 2), (4, 3)), ref.mgu_step, MGU_VALUES))
add(
    Row(
        L.ChildSumTreeLSTM, SIZES, x_of(*[(4, 2)] * 6, (4, 3)), ref.child_sum_tree,
        {'/W_x/W': lecun(3), '/W_x/b': 0, '/W_h_*/W': lecun(2)}, lazy={'in_size': None},
    )
)  # fmt: skip
add(
    Row(
        L.NaryTreeLSTM, {**SIZES, 'n_ary': 3}, x_of(*[(4, 2)] * 6, (4, 3)), ref.nary_tree,
        {'/W_x/W': lecun(3), '/W_x/b': 0, '/W_h?/W': lecun(2)}, lazy={'in_size': None},
    )
)  # fmt: skip


def over_sequences(link: Any, *xs: Any) -> Any:
    return link(*[None] * link.n_cells, list(xs))


#: Class, kind of the cell, weights of each layer and direction, directions.
N_STEP = [
    (L.NStepLSTM, 'lstm', 8, 1), (L.NStepBiLSTM, 'lstm', 8, 2), (L.NStepGRU, 'gru', 6, 1),
    (L.NStepBiGRU, 'gru', 6, 2), (L.NStepRNNTanh, 'tanh', 2, 1),
    (L.NStepBiRNNTanh, 'tanh', 2, 2), (L.NStepRNNReLU, 'relu', 2, 1),
    (L.NStepBiRNNReLU, 'relu', 2, 2),
]  # fmt: skip
for cls, kind, n_weights, directions in N_STEP:
    first = ','.join(map(str, range(n_weights // 2)))
    begin, end = f'[{first}]', f'[{",".join(map(str, range(n_weights // 2, n_weights)))}]'
    layer0 = f'[{"01"[:directions]}]'
    layer1 = f'[{"23" if directions == 2 else "1"}]'

    def over(p: Any, *xs: Any, kind: str = kind, directions: int = directions) -> Any:
        return ref.n_step(p, *xs, kind=kind, layers=2, directions=directions)

    for dropout in (0.0, 0.5):
        add(
            Row(
                cls, {'n_layers': 2, 'in_size': 3, 'out_size': 2, 'dropout': dropout},
                x_of((2, 3), (3, 3)), over,
                {
                    f'/{layer0}/w{begin}': lecun(3), f'/{layer1}/w{begin}': lecun(2 * directions),
                    f'/*/w{end}': lecun(2), '/*/b*': 0,
                },
                given=(*sets('initialW', '/*/w*'), *sets('initial_bias', '/*/b*')),
                call=over_sequences, random=dropout > 0, test=over if dropout else None,
                variant='with dropout' if dropout else '',
            )
        )  # fmt: skip


# --- models --------------------------------------------------------------------------------------------------------
CLASSIFIER = {'predictor': Made(lambda: L.Linear(3, 4))}
LABELS = ints([0, 3, 1, 1])
add(
    Row(
        L.Classifier, CLASSIFIER, (*x_of((4, 3)), LABELS),
        lambda p, x, t: ref.softmax_cross_entropy(ref.affine(p, '/predictor', x), t),
        {'/predictor/W': lecun(3), '/predictor/b': 0},
    )
)  # fmt: skip


def losses(link: Any, x: Any, t: Any) -> Any:
    return link(x, t=t), link.accuracy


def losses_reference(p: Any, x: Any, t: Any) -> Any:
    difference = ref.affine(p, '/predictor', x) - t
    return (difference**2).mean(), abs(difference).mean()


add(
    Row(
        L.Classifier,
        {**CLASSIFIER, 'lossfun': F.mean_squared_error, 'accfun': F.mean_absolute_error, 'label_key': 't'},
        x_of((4, 3), (4, 4)), losses_reference, {'/predictor/W': lecun(3), '/predictor/b': 0}, call=losses,
        variant='with all arguments',
    )
)  # fmt: skip

ROWS += rows_more.ROWS

#: Public names of ``minichainer.links`` without a row, and why.
EXEMPT: dict[str, str] = dict.fromkeys(
    'GoogLeNet ResNet50Layers ResNet101Layers ResNet152Layers VGG16Layers VGG19Layers'.split(),
    'test_vision.py compares whole models with figures of Chainer',
)
EXEMPT['TheanoFunction'] = 'it only says that it cannot be used: test_modules.py'
#: Arguments of constructors that no row gives, and why.
NOT_GIVEN: dict[tuple[str, str], str] = {
    ('BinaryHierarchicalSoftmax', 'dtype'): 'it has no effect, as in Chainer',
    ('NegativeSampling', 'dtype'): 'it has no effect, as in Chainer',
}
