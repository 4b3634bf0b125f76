"""The models of the training benchmark, for minichainer, Chainer and torch.

minichainer and Chainer share the code: the same model, once with each package. What Chainer has no function for
(attention, gelu) is composed of what it has, as its users did.
"""

from __future__ import annotations

import importlib
import math
from itertools import pairwise

import numpy as np

BATCH = {'mlp_tiny': 32, 'mlp': 100, 'lenet': 64, 'resblk': 32, 'lstm': 20, 'lstm_step': 20, 'transformer': 16}
UNITS = {'mlp_tiny': (64, 100, 10), 'mlp': (784, 1000, 1000, 10)}
VOCABULARY, WIDTH, STEPS = 5000, 200, 20  # of lstm and of lstm_step, which has one layer and calls it step by step
FEATURES, HEADS, LENGTH = 128, 4, 64  # of transformer


def data(workload):
    """Inputs and targets of one step: NumPy arrays."""
    rng, n = np.random.RandomState(0), BATCH[workload]
    if workload in UNITS:
        return rng.randn(n, UNITS[workload][0]).astype('f'), rng.randint(0, 10, n).astype('i')
    if workload == 'lstm_step':
        return rng.randint(0, VOCABULARY, (n, STEPS)).astype('i'), rng.randint(0, 10, n).astype('i')
    if workload == 'lstm':
        return [rng.randint(0, VOCABULARY, (n, STEPS)).astype('i') for _ in range(2)]
    if workload == 'transformer':
        return [rng.randn(n, LENGTH, FEATURES).astype('f') for _ in range(2)]
    shape = (n, 1, 28, 28) if workload == 'lenet' else (n, 3, 32, 32)
    return rng.randn(*shape).astype('f'), rng.randint(0, 10, n).astype('i')


def chainer_step(package, workload, device='@numpy'):
    """One training step of a package with Chainer's API.

    Args:
        package: ``'minichainer'`` or ``'chainer'``.
        workload: key of ``BATCH``.
        device: where the model and the batch are.
    """
    chainer = importlib.import_module(package)
    models = chainer_models(chainer, importlib.import_module(package + '.functions'), package == 'minichainer')
    model = models[workload]()
    model.to_device(device)
    optimizer = importlib.import_module(package + '.optimizers').Adam()
    optimizer.setup(model)
    x, t = chainer.get_device(device).send(data(workload))

    def step():
        model.cleargrads()
        loss = model(x, t)
        loss.backward()
        optimizer.update()

    return step


def chainer_models(chainer, F, modern):
    L = chainer.links

    def gelu(x):
        return F.gelu(x) if modern else 0.5 * x * (1 + F.erf(x * math.sqrt(0.5)))

    def attention(q, k, v):
        if modern:
            return F.scaled_dot_product_attention(q, k, v)
        scores = F.matmul(q, k, transb=True) * (1 / math.sqrt(q.shape[-1]))
        return F.matmul(F.softmax(scores, axis=3), v)

    class MLP(chainer.Chain):
        def __init__(self, sizes):
            super().__init__()
            with self.init_scope():
                self.layers = chainer.ChainList(*[L.Linear(a, b) for a, b in pairwise(sizes)])

        def forward(self, x, t):
            for layer in self.layers[:-1]:
                x = F.relu(layer(x))
            return F.softmax_cross_entropy(self.layers[-1](x), t)

    class LeNet(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv1 = L.Convolution2D(1, 20, 5)
                self.conv2 = L.Convolution2D(20, 50, 5)
                self.fc1 = L.Linear(800, 500)
                self.fc2 = L.Linear(500, 10)

        def forward(self, x, t):
            h = F.max_pooling_2d(F.relu(self.conv1(x)), 2)
            h = F.max_pooling_2d(F.relu(self.conv2(h)), 2)
            return F.softmax_cross_entropy(self.fc2(F.relu(self.fc1(h))), t)

    class Residual(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.conv1 = L.Convolution2D(64, 64, 3, pad=1, nobias=True)
                self.bn1 = L.BatchNormalization(64)
                self.conv2 = L.Convolution2D(64, 64, 3, pad=1, nobias=True)
                self.bn2 = L.BatchNormalization(64)

        def forward(self, x):
            return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + x)

    class ResBlk(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.stem = L.Convolution2D(3, 64, 3, pad=1, nobias=True)
                self.bn = L.BatchNormalization(64)
                self.block1, self.block2 = Residual(), Residual()
                self.fc = L.Linear(64, 10)

        def forward(self, x, t):
            h = self.block2(self.block1(F.relu(self.bn(self.stem(x)))))
            return F.softmax_cross_entropy(self.fc(F.mean(h, axis=(2, 3))), t)

    class Lstm(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(VOCABULARY, WIDTH)
                self.lstm = L.NStepLSTM(2, WIDTH, WIDTH, 0.0)
                self.fc = L.Linear(WIDTH, VOCABULARY)

        def forward(self, x, t):
            ys = self.lstm(None, None, list(F.separate(self.embed(x), axis=0)))[2]
            return F.softmax_cross_entropy(self.fc(F.concat(ys, axis=0)), t.reshape(-1))

    class LstmByStep(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.embed = L.EmbedID(VOCABULARY, WIDTH)
                self.lstm = L.LSTM(WIDTH, WIDTH)
                self.fc = L.Linear(WIDTH, 10)

        def forward(self, x, t):
            self.lstm.reset_state()
            for i in range(STEPS):
                h = self.lstm(self.embed(x[:, i]))
            return F.softmax_cross_entropy(self.fc(h), t)

    class Transformer(chainer.Chain):
        def __init__(self):
            super().__init__()
            with self.init_scope():
                self.norm1 = L.LayerNormalization(FEATURES)
                self.qkv = L.Linear(FEATURES, 3 * FEATURES)
                self.out = L.Linear(FEATURES, FEATURES)
                self.norm2 = L.LayerNormalization(FEATURES)
                self.fc1 = L.Linear(FEATURES, 4 * FEATURES)
                self.fc2 = L.Linear(4 * FEATURES, FEATURES)

        def forward(self, x, t):
            batch = len(x)
            h = x.reshape(-1, FEATURES)
            heads = [
                F.transpose(F.reshape(part, (batch, LENGTH, HEADS, FEATURES // HEADS)), (0, 2, 1, 3))
                for part in F.split_axis(self.qkv(self.norm1(h)), 3, axis=1)
            ]
            found = F.reshape(F.transpose(attention(*heads), (0, 2, 1, 3)), h.shape)
            h = self.out(found) + h
            h = self.fc2(gelu(self.fc1(self.norm2(h)))) + h
            return F.mean_squared_error(h, t.reshape(-1, FEATURES))

    return {
        'mlp_tiny': lambda: MLP(UNITS['mlp_tiny']), 'mlp': lambda: MLP(UNITS['mlp']), 'lenet': LeNet,
        'resblk': ResBlk, 'lstm': Lstm, 'lstm_step': LstmByStep, 'transformer': Transformer,
    }  # fmt: skip


def torch_device(device):
    """Torch's name of a device."""
    return device.replace('@numpy', 'cpu').replace('@cupy', 'cuda')


def torch_step(workload, best=False, compiled=False, device='@numpy'):
    """One training step of torch.

    Args:
        workload: key of ``BATCH``.
        best: with fused Adam, and images with the channels last; else as torch is by default.
        compiled: with ``torch.compile`` for the model.
        device: as of :func:`chainer_step`.
    """
    import torch

    torch.set_num_threads(1)
    place = torch_device(device)
    model = torch_models(torch)[workload]().to(place)
    x, t = (torch.tensor(a, device=place) for a in data(workload))
    if t.dtype == torch.int32:
        t = t.long()
    if best and x.ndim == 4:
        model, x = model.to(memory_format=torch.channels_last), x.to(memory_format=torch.channels_last)
    optimizer = torch.optim.Adam(model.parameters(), fused=best)
    model = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad()
        model(x, t).backward()
        optimizer.step()

    return step


def torch_models(torch):
    nn, functional = torch.nn, torch.nn.functional

    class Classifier(nn.Module):
        def __init__(self, *layers):
            super().__init__()
            self.layers = nn.Sequential(*layers)

        def forward(self, x, t):
            return functional.cross_entropy(self.layers(x), t)

    def mlp(sizes):
        layers = []
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        return Classifier(*layers[:-1])

    def lenet():
        return Classifier(
            nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10),
        )  # fmt: skip

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Sequential(
                nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
                nn.Conv2d(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64),
            )  # fmt: skip

        def forward(self, x):
            return functional.relu(self.layers(x) + x)

    def resblk():
        return Classifier(
            nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), Residual(), Residual(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
        )  # fmt: skip

    class Lstm(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(VOCABULARY, WIDTH)
            self.lstm = nn.LSTM(WIDTH, WIDTH, 2, batch_first=True)
            self.fc = nn.Linear(WIDTH, VOCABULARY)

        def forward(self, x, t):
            h = self.lstm(self.embed(x))[0].reshape(-1, WIDTH)
            return functional.cross_entropy(self.fc(h), t.reshape(-1))

    class LstmByStep(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(VOCABULARY, WIDTH)
            self.lstm = nn.LSTMCell(WIDTH, WIDTH)
            self.fc = nn.Linear(WIDTH, 10)

        def forward(self, x, t):
            state = None
            for i in range(STEPS):
                state = self.lstm(self.embed(x[:, i]), state)
            return functional.cross_entropy(self.fc(state[0]), t)

    class Transformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(FEATURES), nn.LayerNorm(FEATURES)
            self.qkv, self.out = nn.Linear(FEATURES, 3 * FEATURES), nn.Linear(FEATURES, FEATURES)
            self.fc1, self.fc2 = nn.Linear(FEATURES, 4 * FEATURES), nn.Linear(4 * FEATURES, FEATURES)

        def forward(self, x, t):
            parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
            q, k, v = (p.reshape(len(x), LENGTH, HEADS, -1).transpose(1, 2) for p in parts)
            found = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
            h = self.out(found) + x
            h = self.fc2(functional.gelu(self.fc1(self.norm2(h)))) + h
            return functional.mse_loss(h, t)

    return {
        'mlp_tiny': lambda: mlp(UNITS['mlp_tiny']), 'mlp': lambda: mlp(UNITS['mlp']), 'lenet': lenet,
        'resblk': resblk, 'lstm': Lstm, 'lstm_step': LstmByStep, 'transformer': Transformer,
    }  # fmt: skip


def make_step(library, workload, device='@numpy'):
    """One training step of a library, or of a library in a certain state; see ``training.py`` and ``gpu.py``."""
    if library.startswith('torch'):
        return torch_step(workload, library != 'torch', library == 'torch compiled', device)
    if library == 'jax':
        return importlib.import_module('workloads_jax').make_step(workload)
    if library in ('minichainer tuned', 'minichainer pure'):
        import minichainer

        if not minichainer.tune_allocator():
            raise RuntimeError('tune_allocator has no effect on this system')
    return chainer_step(library.split()[0], workload, device)
