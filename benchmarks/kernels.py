"""What single functions cost, forward and with backward, beside torch eager.

    python benchmarks/kernels.py [--only conv gelu ...] [--rounds 15] [--tune] [--json FILE]

One thread, pinned to one core where the system can do that. The libraries take turns within each round; of each turn
the best of several calls counts, in processor time (which is wall time on an idle machine); medians over the rounds.
Images are given as each library's own layers give them to the next: to minichainer with the channels last in memory,
to ``torch`` in torch's default layout, and to ``torch channels last`` with the channels last. ``--tune`` calls
``tune_allocator()`` first (it acts on torch as well).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time

for _name in ('OPENBLAS_NUM_THREADS', 'OMP_NUM_THREADS', 'MKL_NUM_THREADS'):
    os.environ[_name] = '1'
for _name in ('OPENBLAS_CORETYPE', 'OPENBLAS_L2_SIZE'):  # OpenBLAS chooses its kernels itself
    os.environ.pop(_name, None)

import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.nn.functional as T  # noqa: E402

import minichainer as chainer  # noqa: E402
import minichainer.functions as F  # noqa: E402

torch.set_num_threads(1)
RNG = np.random.RandomState(0)


class Source(chainer.FunctionNode):
    """Gives a constant array a place in the graph, and drops its gradient, as if a layer below had taken it.

    A leaf would copy it into C order, which happens to parameters only; torch's leaves just keep what comes.
    """

    takes_any_layout = True

    def __init__(self, array):
        self.array = array

    def forward(self, inputs):
        return (self.array,)

    def backward_arrays(self, indexes, grad_outputs):
        return [None]


class Case:
    """One function on given inputs, in both libraries.

    Args:
        name: what is shown.
        ours: called with Variables; returns the result, or a tuple of which the first counts.
        theirs: the same with tensors.
        arrays: inputs; float32 arrays get gradients where ``wanted``.
        wanted: which inputs get gradients; all floats by default.
    """

    def __init__(self, name, ours, theirs, arrays, wanted=None):
        self.name = name
        self.ours = ours
        self.theirs = theirs
        self.arrays = arrays
        self.wanted = [a.dtype.kind == 'f' for a in arrays] if wanted is None else wanted

    def steps(self, channels_last):
        """``{library: (forward, forward and backward)}``."""
        found = {'minichainer': self._minichainer(), 'torch': self._torch(False)}
        if channels_last and any(a.ndim == 4 for a in self.arrays):
            found['torch channels last'] = self._torch(True)
        return found

    def _minichainer(self):
        inputs = []
        for array in self.arrays:
            if array.ndim == 4 and len(array) > 8 and array.shape[1] > 3 and array.shape[2] > 5:
                array = np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)
            inputs.append(array)
        root = chainer.Variable(np.zeros((), 'f'))
        gy = np.empty_like(first(self.ours(*map(chainer.as_variable, inputs))).array)
        gy[...] = RNG.randn(*gy.shape)

        def forward():
            with chainer.no_backprop_mode():
                self.ours(*map(chainer.as_variable, inputs))

        def both():
            pairs = zip(inputs, self.wanted, strict=True)
            y = first(self.ours(*[Source(x).apply((root,))[0] if wanted else x for x, wanted in pairs]))
            y.grad = gy
            y.backward()

        return forward, both

    def _torch(self, channels_last):
        inputs = []
        for array, wanted in zip(self.arrays, self.wanted, strict=True):
            tensor = torch.tensor(array)
            if channels_last and array.ndim == 4:
                tensor = tensor.to(memory_format=torch.channels_last)
            tensor = tensor.long() if array.dtype.kind == 'i' else tensor
            inputs.append(tensor.requires_grad_(wanted))
        gy = torch.randn_like(first(self.theirs(*inputs)))

        def forward():
            with torch.no_grad():
                self.theirs(*inputs)

        def both():
            for x in inputs:
                x.grad = None
            first(self.theirs(*inputs)).backward(gy)

        return forward, both


def first(result):
    while isinstance(result, (tuple, list)):
        result = result[0]
    return result


def normal(*shape, scale=1.0):
    return (RNG.randn(*shape) * scale).astype('f')


def convolution(name, x, W, stride=1, pad=0, groups=1, first_layer=False):
    arrays = [normal(*x), normal(*W, scale=0.1), normal(W[0])]
    return Case(
        f'conv {name}',
        lambda x, W, b: F.convolution_2d(x, W, b, stride=stride, pad=pad, groups=groups),
        lambda x, W, b: T.conv2d(x, W, b, stride=stride, padding=pad, groups=groups),
        arrays, [not first_layer, True, True],
    )  # fmt: skip


def heads(x):
    """(16, 64, 128) as 4 heads: (16, 4, 64, 32), as layers give it."""
    x = x.reshape(16, 64, 4, 32)
    return x.transpose(1, 2) if isinstance(x, torch.Tensor) else x.transpose(0, 2, 1, 3)


def lstm_cell():
    units, n = 200, 20
    W, U = normal(4 * units, units, scale=0.05), normal(4 * units, units, scale=0.05)
    arrays = [normal(n, units), normal(n, units), normal(n, units), W, U, normal(4 * units)]
    zeros = torch.zeros(4 * units)
    return Case(
        'lstm cell 20x200 with its products',
        lambda x, h, c, W, U, b: F.lstm(c, F.linear(x, W, b) + F.linear(h, U))[::-1],
        lambda x, h, c, W, U, b: torch.lstm_cell(x, (h, c), W, U, b, zeros), arrays,
    )  # fmt: skip


def n_step_lstm(layers=2, units=200, batch=20, steps=20):
    weights = [normal(units, units, scale=0.05) for _ in range(8 * layers)]
    biases = [normal(units, scale=0.05) for _ in range(8 * layers)]
    zeros = np.zeros((layers, batch, units), 'f')

    def ours(x, *params):
        ws = [params[8 * i : 8 * i + 8] for i in range(layers)]
        bs = [params[8 * (layers + i) : 8 * (layers + i) + 8] for i in range(layers)]
        return F.concat(F.n_step_lstm(layers, 0.0, zeros, zeros, ws, bs, list(F.separate(x, axis=0)))[2], axis=0)

    module = torch.nn.LSTM(units, units, layers)

    def theirs(x, *params):
        return module(x)

    return Case(f'n_step_lstm {layers}x{units}, {steps} steps of {batch}', ours, theirs,
                [normal(steps, batch, units), *weights, *biases])  # fmt: skip


def cases():
    labels = RNG.randint(0, 5000, 400).astype('i')
    rows, images = normal(1024, 512), normal(32, 64, 32, 32)
    channel, features = [normal(64), normal(64)], [normal(512), normal(512)]
    mean, var = np.zeros(64, 'f'), np.ones(64, 'f')
    t_mean, t_var = torch.tensor(mean), torch.tensor(var)
    return [
        convolution('1>20 5x5, 64x28x28, first layer', (64, 1, 28, 28), (20, 1, 5, 5), first_layer=True),
        convolution('20>50 5x5, 64x12x12', (64, 20, 12, 12), (50, 20, 5, 5)),
        convolution('3>64 3x3, 32x32x32, first layer', (32, 3, 32, 32), (64, 3, 3, 3), pad=1, first_layer=True),
        convolution('64>64 3x3, 32x32x32', (32, 64, 32, 32), (64, 64, 3, 3), pad=1),
        convolution('64>128 3x3 stride 2, 32x32x32', (32, 64, 32, 32), (128, 64, 3, 3), stride=2, pad=1),
        convolution('128>256 1x1, 32x16x16', (32, 128, 16, 16), (256, 128, 1, 1)),
        convolution('64 depthwise 3x3, 32x32x32', (32, 64, 32, 32), (64, 1, 3, 3), pad=1, groups=64),
        Case('max_pooling 2x2, 32x64x32x32', lambda x: F.max_pooling_2d(x, 2), lambda x: T.max_pool2d(x, 2),
             [images]),
        Case('average_pooling 2x2', lambda x: F.average_pooling_2d(x, 2), lambda x: T.avg_pool2d(x, 2), [images]),
        Case('relu 32x64x32x32', F.relu, T.relu, [images]),
        Case('batch_normalization 32x64x32x32', lambda x, g, b: F.batch_normalization(x, g, b),
             lambda x, g, b: T.batch_norm(x, t_mean, t_var, g, b, True), [images, *channel]),
        Case('layer_normalization 1024x512', F.layer_normalization,
             lambda x, g, b: T.layer_norm(x, (512,), g, b), [rows, *features]),
        Case('softmax 1024x512', F.softmax, lambda x: T.softmax(x, 1), [rows]),
        Case('softmax_cross_entropy 400x5000', F.softmax_cross_entropy, T.cross_entropy,
             [normal(400, 5000), labels]),
        Case('gelu 1024x512', F.gelu, T.gelu, [rows]),
        Case('gelu tanh 1024x512', lambda x: F.gelu(x, approximate='tanh'),
             lambda x: T.gelu(x, approximate='tanh'), [rows]),
        Case('attention 16x4 heads, 64x32', lambda *x: F.scaled_dot_product_attention(*map(heads, x)),
             lambda *x: T.scaled_dot_product_attention(*map(heads, x)), [normal(16, 64, 128) for _ in range(3)]),
        Case('attention 4 heads, 512x64, causal',
             lambda *x: F.scaled_dot_product_attention(*x, is_causal=True),
             lambda *x: T.scaled_dot_product_attention(*x, is_causal=True),
             [normal(1, 4, 512, 64) for _ in range(3)]),
        lstm_cell(),
        n_step_lstm(),
        Case('embed_id 400 of 5000x200', lambda W, t: F.embed_id(t, W), lambda W, t: T.embedding(t, W),
             [normal(5000, 200), labels]),
        Case('linear 1024x128 > 512', F.linear, T.linear, [normal(1024, 128), normal(512, 128), normal(512)]),
    ]  # fmt: skip


def best_of(step, seconds):
    """Milliseconds of processor time of the best call within some time, three calls at least."""
    found, end = [], time.process_time() + seconds
    while len(found) < 3 or time.process_time() < end:
        begin = time.process_time()
        step()
        found.append(time.process_time() - begin)
    return min(found) * 1e3


def measure(case, rounds, seconds):
    """``{library: (ms forward, ms forward and backward)}``, medians."""
    steps = case.steps(channels_last=True)
    times = {name: ([], []) for name in steps}
    for forward, both in steps.values():
        forward(), both()
    for _ in range(rounds):
        for way in range(2):
            for name, pair in steps.items():
                times[name][way].append(best_of(pair[way], seconds))
    return {name: tuple(map(statistics.median, pair)) for name, pair in times.items()}


def pin():
    """Keeps the process on one core."""
    if hasattr(os, 'sched_setaffinity'):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--only', nargs='+', help='parts of the names of what is to be measured')
    parser.add_argument('--rounds', type=int, default=15)
    parser.add_argument('--seconds', type=float, default=0.02, help='of calls in each turn')
    parser.add_argument('--tune', action='store_true', help='call tune_allocator() first')
    parser.add_argument('--json', help='file to write the medians to')
    options = parser.parse_args()
    pin()
    tuned = ', tuned allocator' if options.tune and chainer.tune_allocator() else ''
    print(f'Python {sys.version.split()[0]}, NumPy {np.__version__}, torch {torch.__version__}, one thread{tuned}')
    columns = ['minichainer', 'torch', 'torch channels last']
    print(f'{"ms: forward, forward and backward":42}' + ''.join(f'{c:>21}' for c in columns) + '   / torch   / best')
    results = {}
    for case in cases():
        if options.only and not any(part in case.name for part in options.only):
            continue
        found = results[case.name] = measure(case, options.rounds, options.seconds)
        cells = [f'{found[c][0]:.3f} {found[c][1]:9.3f}' if c in found else '' for c in columns]
        best = min(found[c][1] for c in columns[1:] if c in found)
        ours = found['minichainer'][1]
        print(f'{case.name:42}' + ''.join(f'{c:>21}' for c in cells)
              + f'{ours / found["torch"][1]:10.2f}{ours / best:9.2f}', flush=True)  # fmt: skip
    if options.json:
        with open(options.json, 'w', encoding='utf-8') as file:
            json.dump(results, file, indent=1)


if __name__ == '__main__':
    main()
