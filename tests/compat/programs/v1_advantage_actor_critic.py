"""v1: actor and critic with an LSTM; two workers take turns to give their gradients to shared parameters.

Arguments: --rounds 6
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import copy

import numpy as np
import chainer
from chainer import functions as F
from chainer import links as L
from chainer import optimizers


class SoftmaxPolicy(chainer.ChainList):
    """Softmax policy over actions from one layer."""

    def __init__(self, n_input_channels, n_actions):
        super(SoftmaxPolicy, self).__init__(L.Linear(n_input_channels, n_actions))

    def compute_logits(self, x):
        h = x
        for layer in self[:-1] if len(self) > 1 else []:
            h = F.relu(layer(h))
        return self[-1](h)

    def __call__(self, x):
        logits = self.compute_logits(x)
        return F.softmax(logits), F.log_softmax(logits)


class VFunction(chainer.ChainList):
    def __init__(self, n_input_channels):
        super(VFunction, self).__init__()
        self.add_link(L.Linear(n_input_channels, 8))
        self.add_link(L.Linear(8, 1))

    def __call__(self, x):
        return self[1](F.leaky_relu(self[0](x), slope=0.1))


class A3CLSTM(chainer.ChainList):
    def __init__(self, n_in, n_actions):
        self.lstm = L.LSTM(n_in, 10)
        self.pi = SoftmaxPolicy(10, n_actions)
        self.v = VFunction(10)
        super(A3CLSTM, self).__init__(self.lstm, self.pi, self.v)
        rng = np.random.RandomState(10)
        for name, param in sorted(self.namedparams()):
            param.data[...] = rng.uniform(-0.3, 0.3, param.data.shape)

    def pi_and_v(self, state, keep_same_state=False):
        out = self.lstm(state)
        return self.pi(out), self.v(out)

    def reset_state(self):
        self.lstm.reset_state()

    def unchain_backward(self):
        self.lstm.h.unchain_backward()
        self.lstm.c.unchain_backward()


def copy_param(target_link, source_link):
    """Copy parameters of a link to another link."""
    target_params = dict(target_link.namedparams())
    for param_name, param in source_link.namedparams():
        target_params[param_name].data[:] = param.data


def copy_grad(target_link, source_link):
    """Copy gradients of a link to another link."""
    target_params = dict(target_link.namedparams())
    for param_name, param in source_link.namedparams():
        target_params[param_name].grad[:] = param.grad


class Agent(object):
    gamma, beta, t_max, max_norm = 0.95, 0.01, 4, 1.0

    def __init__(self, shared_model, optimizer, seed):
        self.shared_model = shared_model
        self.model = copy.deepcopy(shared_model)
        self.optimizer = optimizer
        self.rng = np.random.RandomState(seed)
        self.position = 0.0

    def observe(self):
        return np.array([[np.sin(self.position), np.cos(self.position), 1.0]], dtype=np.float32)

    def run(self):
        copy_param(self.model, self.shared_model)
        rewards, log_probs, entropies, values = [], [], [], []
        for t in range(self.t_max):
            (pi, log_pi), v = self.model.pi_and_v(chainer.Variable(self.observe()))
            action = int(self.rng.choice(3, p=pi.data[0] / pi.data[0].sum()))
            self.position += [-0.4, 0.0, 0.4][action]
            rewards.append(float(np.cos(self.position)))
            log_probs.append(F.select_item(log_pi, chainer.Variable(np.array([action], dtype=np.int32))))
            entropies.append(-F.sum(pi * log_pi, axis=1))
            values.append(v)
        R = float(values[-1].data.reshape(()))
        pi_loss, v_loss = 0, 0
        for i in reversed(range(self.t_max)):
            R = self.gamma * R + rewards[i]
            v = values[i]
            advantage = R - float(v.data.reshape(()))
            pi_loss -= log_probs[i] * advantage
            pi_loss -= self.beta * entropies[i]
            v_loss += (v - R) ** 2 / 2
        total_loss = pi_loss * 0.5 + F.reshape(v_loss, pi_loss.data.shape)
        # Compute gradients using thread-specific model
        self.model.zerograds()
        total_loss.backward()
        # Copy the gradients to the globally shared model
        self.shared_model.zerograds()
        copy_grad(self.shared_model, self.model)
        norm = self.optimizer.compute_grads_norm()
        # Clip and update the globally shared model
        self.optimizer.clip_grads(self.max_norm)
        self.optimizer.weight_decay(1e-4)
        self.optimizer.update()
        self.model.unchain_backward()
        return float(total_loss.data.reshape(())), norm, sum(rewards)


parser = argparse.ArgumentParser()
parser.add_argument('--rounds', type=int, default=100)
parser.add_argument('--processes', type=int, default=2)
args = parser.parse_args()
np.random.seed(0)
model = A3CLSTM(3, 3)
optimizer = optimizers.RMSprop(lr=7e-3, alpha=0.99, eps=0.1)
optimizer.setup(model)
agents = [Agent(model, optimizer, seed) for seed in range(args.processes)]
total = 0
for i in range(args.rounds):
    for j, agent in enumerate(agents):
        loss, norm, reward = agent.run()
        total += reward
        print('round%d/agent%d/loss %.6g' % (i, j, loss))
        print('round%d/agent%d/norm %.6g' % (i, j, norm))
print('reward %.6g' % total)
print('shared/norm %.6g' % sum(np.linalg.norm(p.data) for p in model.params()))
