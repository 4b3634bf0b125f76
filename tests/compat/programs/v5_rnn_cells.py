"""v5: recurrent cells by hand: stateless LSTM, F.lstm, GRUs, next-step prediction of waves with truncated backprop.

Arguments: --steps 12
"""
import argparse

import numpy as np

import chainer
from chainer import Variable
import chainer.functions as F
import chainer.links as L


class HandLSTM(chainer.Chain):

    def __init__(self, n_in, n_units):
        super(HandLSTM, self).__init__()
        with self.init_scope():
            self.upward = L.Linear(n_in, 4 * n_units)
            self.lateral = L.Linear(n_units, 4 * n_units, nobias=True)
        self.n_units = n_units
        self.reset_state()

    def reset_state(self):
        self.c = self.h = None

    def __call__(self, x):
        if self.h is None:
            self.c = Variable(self.xp.zeros((len(x), self.n_units), dtype=np.float32))
            self.h = Variable(self.xp.zeros((len(x), self.n_units), dtype=np.float32))
        self.c, self.h = F.lstm(self.c, self.upward(x) + self.lateral(self.h))
        return self.h


class Stateless(chainer.Chain):

    def __init__(self, n_in, n_units):
        super(Stateless, self).__init__()
        with self.init_scope():
            self.cell = L.StatelessLSTM(n_in, n_units)
        self.reset_state()

    def reset_state(self):
        self.state = (None, None)

    def __call__(self, x):
        self.state = self.cell(self.state[0], self.state[1], x)
        return self.state[1]


class GRUCell(chainer.Chain):

    def __init__(self, n_in, n_units):
        super(GRUCell, self).__init__()
        with self.init_scope():
            self.cell = L.GRU(n_in, n_units)

    def reset_state(self):
        self.cell.reset_state()

    def __call__(self, x):
        return self.cell(x)


class Predictor(chainer.Chain):

    def __init__(self, cell, n_units):
        super(Predictor, self).__init__()
        with self.init_scope():
            self.cell = cell
            self.norm = L.BatchNormalization(n_units)
            self.out = L.Linear(n_units, 1)

    def __call__(self, x, t):
        h = self.cell(x)
        h = F.batch_normalization(h, self.norm.gamma, self.norm.beta, eps=1e-3)
        return F.mean_squared_error(self.out(h), t)

    def free_run(self, x, n):
        outs = []
        with chainer.using_config('train', False), chainer.no_backprop_mode():
            for _ in range(n):
                h = F.fixed_batch_normalization(
                    self.cell(x), self.norm.gamma, self.norm.beta, self.norm.avg_mean, self.norm.avg_var)
                x = self.out(h)
                outs.append(x)
        return F.hstack(outs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--steps', type=int, default=100)
    parser.add_argument('--bprop', type=int, default=4)
    args = parser.parse_args()
    phase = np.linspace(0, 3, 6)
    wave = np.sin(np.arange(args.steps + 1)[:, None] * .5 + phase[None]).astype('f')
    cells = {'hand': HandLSTM, 'stateless': Stateless, 'gru': GRUCell, 'stateful': L.StatefulGRU}
    for name in sorted(cells):
        np.random.seed(0)
        cell = cells[name](1, 5)
        model = Predictor(cell, 5)
        optimizer = chainer.optimizers.RMSprop(lr=.01)
        optimizer.setup(model)
        optimizer.add_hook(chainer.optimizer.GradientClipping(1.))
        loss, total = 0, 0.
        cell.reset_state()
        for i in range(args.steps):
            x, t = wave[i][:, None], wave[i + 1][:, None]
            loss += model(Variable(x), Variable(t))
            if (i + 1) % args.bprop == 0:
                model.cleargrads()
                loss.backward()
                loss.unchain_backward()
                optimizer.update()
                total += float(loss.data)
                loss = 0
                print('%s/loss@%d %.5g' % (name, i + 1, total / (i + 1)))
        cell.reset_state()
        free = model.free_run(wave[0][:, None], 3)
        print('%s/free %.4g' % (name, float(F.vstack((free, free)).data.sum())))


if __name__ == '__main__':
    main()
