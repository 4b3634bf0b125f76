"""v3: deep Q-learning on a corridor with a replay memory, a target network and epsilon-greedy exploration.

Arguments: --episodes 12
"""
import argparse
import collections
import copy
import random

import numpy as np

import chainer
from chainer import cuda
from chainer import optimizers
from chainer import Variable
import chainer.functions as F
import chainer.links as L

Transition = collections.namedtuple('Transition', 'state action reward next_state done')


class Corridor(object):
    """States 0..n-1; the right end gives a reward, the left end ends the episode."""

    def __init__(self, n=6):
        self.n = n

    def observe(self):
        x = np.zeros(self.n, dtype=np.float32)
        x[self.position] = 1
        return x

    def reset(self):
        self.position, self.steps = 2, 0
        return self.observe()

    def step(self, action):
        self.position += 1 if action == 1 else -1
        self.steps += 1
        done = self.position in (0, self.n - 1) or self.steps >= 20
        return self.observe(), float(self.position == self.n - 1), done


class QFunction(chainer.Chain):

    def __init__(self, n_obs, n_action):
        super(QFunction, self).__init__(
            l1=L.Linear(n_obs, 16, initialW=chainer.initializers.HeNormal()),
            adv=L.Linear(16, n_action),
            val=L.Linear(16, 1),
        )

    def __call__(self, x):
        h = F.elu(self.l1(x))
        adv = self.adv(h)
        mean = F.reshape(F.sum(adv, axis=1) / adv.shape[1], (adv.shape[0], 1))
        adv, mean = F.broadcast(adv, mean)
        ys = F.broadcast_to(self.val(h), adv.shape)
        return adv - mean + ys


class Agent(object):

    def __init__(self, n_obs, n_action, gamma=.9, gpu=-1):
        self.q = QFunction(n_obs, n_action)
        self.target_q = copy.deepcopy(self.q)
        if gpu >= 0:
            cuda.get_device(gpu).use()
            self.q.to_gpu()
            self.target_q.to_gpu()
        self.optimizer = optimizers.RMSpropGraves(lr=.01, alpha=.95, momentum=.95, eps=.01)
        self.optimizer.setup(self.q)
        self.optimizer.add_hook(chainer.optimizer.GradientClipping(1.0))
        self.memory = collections.deque(maxlen=200)
        self.gamma = gamma
        self.n_action = n_action
        self.epsilon = 1.0
        self.updates = 0
        self.last_loss = 0.

    def act(self, state):
        if random.random() < self.epsilon:
            return random.randrange(self.n_action)
        with chainer.no_backprop_mode():
            q = self.q(Variable(state[None]))
        return int(F.argmax(q, axis=1).data[0])

    def replay(self, batch_size=16):
        if len(self.memory) < batch_size:
            return
        batch = Transition(*zip(*random.sample(list(self.memory), batch_size)))
        xp = self.q.xp
        state = Variable(xp.asarray(np.stack(batch.state)))
        action = Variable(xp.asarray(np.array(batch.action, dtype=np.int32)))
        with chainer.using_config('enable_backprop', False):
            q_next = self.target_q(xp.asarray(np.stack(batch.next_state)))
            best = F.max(q_next, axis=1)
        target = np.array(batch.reward, dtype=np.float32)
        target += self.gamma * cuda.to_cpu(best.data) * (1 - np.array(batch.done, dtype=np.bool).astype('f'))
        q = F.select_item(self.q(state), action)
        td = Variable(xp.asarray(target)) - q
        td_clip = xp.where(xp.abs(td.data) > 1, xp.sign(td.data), td.data)
        zero = xp.zeros_like(td_clip)
        loss = F.mean_squared_error(q, Variable(q.data + td_clip)) + 0 * F.sum(F.huber_loss(q[:, None], q.data[:, None] + zero[:, None], 1.))
        self.q.cleargrads()
        loss.backward()
        self.optimizer.update()
        self.last_loss = float(loss.data)
        self.updates += 1
        if self.updates % 20 == 0:
            self.target_q.copyparams(self.q)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--episodes', type=int, default=100)
    parser.add_argument('--gpu', type=int, default=-1)
    args = parser.parse_args()
    np.random.seed(0)
    random.seed(0)
    env = Corridor()
    agent = Agent(env.n, 2, gpu=args.gpu)
    rewards, lengths = [], []
    for episode in range(args.episodes):
        state, done, total = env.reset(), False, 0.
        while not done:
            action = agent.act(state)
            next_state, reward, done = env.step(action)
            agent.memory.append(Transition(state, action, reward, next_state, done))
            agent.replay()
            state = next_state
            total += reward
        agent.epsilon = max(.1, agent.epsilon * .8)
        rewards.append(total)
        lengths.append(env.steps)
        if episode % 4 == 3:
            print('loss@%d %.4g' % (episode + 1, agent.last_loss))
    print('reward %g' % np.sum(rewards))
    print('steps %d' % np.sum(lengths))
    table = agent.q(np.eye(env.n, dtype=np.float32))
    table.unchain_backward()
    print('greedy_right %d' % int((table.data.argmax(axis=1)[1:-1] == 1).sum()))
    print('q_max %.4g' % float(F.max(table).data))
    print('updates %d' % agent.optimizer.t)


if __name__ == '__main__':
    main()
