"""v3: an advantage actor-critic with a recurrent model (ChainList), Gaussian and softmax policies and shared parameters.

Arguments: --updates 6
"""
import argparse
import copy
import math

import numpy as np

import chainer
from chainer import functions as F
from chainer import links as L
from chainer import optimizers


class SoftmaxPolicy(chainer.ChainList):

    def __init__(self, n_in, n_actions):
        super(SoftmaxPolicy, self).__init__(L.Linear(n_in, 12), L.Linear(12, n_actions))

    def __call__(self, x):
        return self[1](F.relu(self[0](x)))


class GaussianPolicy(chainer.ChainList):

    def __init__(self, n_in, n_out):
        super(GaussianPolicy, self).__init__()
        for n in (n_out, n_out):
            self.add_link(L.Linear(n_in, n))
        self.append(L.Linear(n_in, 1, nobias=True))

    def forward(self, x):
        mean, var, _ = [layer(x) for layer in self.children()]
        return F.hard_sigmoid(mean), F.softplus(var) + 1e-2

    def __call__(self, x):
        return self.forward(x)


class A3CModel(chainer.Link):

    def pi_and_v(self, state, keep_same_state=False):
        raise NotImplementedError()

    def reset_state(self):
        pass


class A3CLSTM(chainer.ChainList, A3CModel):

    def __init__(self, n_in, n_actions):
        self.pi = SoftmaxPolicy(10, n_actions)
        self.noise = GaussianPolicy(10, 2)
        self.v = L.Linear(10, 1)
        self.lstm = L.LSTM(n_in, 10, forget_bias_init=1)
        super(A3CLSTM, self).__init__(self.pi, self.noise, self.v, self.lstm)
        for param in self.params():
            if param.data is not None and param.ndim == 2:
                fan_in = param.shape[1]
                param.data[...] = np.random.uniform(-1, 1, param.shape) / math.sqrt(fan_in)

    def pi_and_v(self, state, keep_same_state=False):
        h = self.lstm(state)
        return self.pi(h), self.noise(h), self.v(h)

    def reset_state(self):
        self.lstm.reset_state()


def copy_grad(target_link, source_link):
    target_params = dict(target_link.namedparams())
    for name, param in source_link.namedparams():
        target_params[name].grad = param.grad


def rollout(model, rng, t_max):
    log_probs, entropies, values, rewards = [], [], [], []
    state = rng.normal(size=3).astype(np.float32)
    for _ in range(t_max):
        logits, (mean, var), v = model.pi_and_v(state[None])
        log_pi = F.log_softmax(logits)
        pi = F.exp(log_pi)
        action = int(rng.choice(pi.shape[1], p=pi.data[0] / pi.data[0].sum()))
        log_probs.append(F.select_item(log_pi, np.array([action], dtype=np.int32)))
        entropies.append(-F.sum(pi * log_pi, axis=1))
        eps = rng.normal(size=(1, 2)).astype('f')
        a = mean.data + np.sqrt(var.data) * eps
        log_gauss = -F.sum(F.log(var) + F.square(a - mean) / var, axis=1) / 2
        log_probs[-1] += log_gauss
        values.append(v)
        rewards.append(float(state[action] + a[0, 0]))
        state = np.tanh(state + .1 * rng.normal(size=3)).astype(np.float32)
    return log_probs, entropies, values, rewards


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--updates', type=int, default=100)
    parser.add_argument('--t-max', type=int, default=5)
    parser.add_argument('--gamma', type=float, default=.99)
    args = parser.parse_args()

    np.random.seed(0)
    shared_model = A3CLSTM(3, 3)
    model = copy.deepcopy(shared_model)
    optimizer = optimizers.RMSprop(lr=7e-3, alpha=.99, eps=1e-1)
    optimizer.setup(shared_model)
    optimizer.add_hook(chainer.optimizer.GradientClipping(40))

    rng = np.random.RandomState(4)
    for i in range(args.updates):
        model.copyparams(shared_model)
        model.zerograds()
        log_probs, entropies, values, rewards = rollout(model, rng, args.t_max)
        pi_loss, v_loss, R = 0, 0, 0
        for log_prob, entropy, v, r in reversed(list(zip(log_probs, entropies, values, rewards))):
            R = r + args.gamma * R
            advantage = R - v
            pi_loss -= log_prob * float(advantage.data)
            pi_loss -= .01 * entropy
            v_loss += advantage ** 2 / 2
        total_loss = F.reshape(pi_loss, (1, 1)) + .5 * F.reshape(v_loss, (1, 1))
        total_loss.grad = np.ones(total_loss.shape, dtype=np.float32)
        total_loss.backward()
        shared_model.zerograds()
        copy_grad(shared_model, model)
        optimizer.update()
        print('loss@%d %.5g' % (i, float(total_loss.data)))
        if i % 2:
            model.lstm.h.unchain_backward()
            model.reset_state()
        else:
            model.lstm.h.unchain_backward()
            model.lstm.c.unchain_backward()

    print('n_children %d' % len(list(shared_model.children())))
    print('length %d' % len(shared_model))
    print('lse %.5g' % float(F.sum(F.logsumexp(shared_model.pi[0].W, axis=1)).data))
    print('no_gradient %d' % sum(p.grad is None for p in model.noise[2].params()))


if __name__ == '__main__':
    main()
