"""v1: DQN with a FunctionSet, a deep copy as target network, experience replay and clipped temporal differences.

Arguments: --steps 120
Recorded with: 1.24.0
Legacy: v1
"""
import argparse
import copy

import numpy as np
from chainer import FunctionSet, Variable, optimizers, cuda
import chainer.functions as F


class Corridor(object):
    """Walk to the right end of a corridor; the picture is the position in four frames."""

    length = 8

    def reset(self):
        self.position = 2
        self.frames = np.zeros((4, 1, self.length), dtype=np.uint8)
        return self.observe()

    def observe(self):
        self.frames = np.roll(self.frames, 1, axis=0)
        self.frames[0] = 0
        self.frames[0, 0, self.position] = 255
        return self.frames.copy()

    def step(self, action):
        self.position = min(max(self.position + (1 if action == 1 else -1), 0), self.length - 1)
        done = self.position in (0, self.length - 1)
        reward = (1.0 if self.position else -1.0) if done else 0.0
        return self.observe(), reward, done


class DQN_class:
    # Hyper-Parameters
    gamma = 0.9              # Discount factor
    initial_exploration = 20  # Initial exploratoin
    replay_size = 16         # Replay (batch) size
    target_model_update_freq = 25
    data_size = 60

    def __init__(self, enable_controller=[0, 1], gpu=-1):
        self.num_of_actions = len(enable_controller)
        self.enable_controller = enable_controller
        self.gpu = gpu
        rng = np.random.RandomState(8)
        self.model = FunctionSet(
            l1=F.Convolution2D(4, 6, ksize=(1, 3), stride=1, nobias=False, wscale=np.sqrt(2)),
            l2=F.Linear(6 * 6, 16, wscale=np.sqrt(2)),
            q_value=F.Linear(16, self.num_of_actions,
                             initialW=np.zeros((self.num_of_actions, 16), dtype=np.float32)))
        for name in ('l1', 'l2'):
            W = self.model[name].W.data
            W[...] = rng.normal(0, 0.2, W.shape)
        if gpu >= 0:
            self.model.to_gpu()
        self.model_target = copy.deepcopy(self.model)
        self.optimizer = optimizers.RMSpropGraves(lr=0.002, alpha=0.95, momentum=0.95, eps=0.0001)
        self.optimizer.setup(self.model.collect_parameters())
        # History Data :  D=[s, a, r, s_dash, end_episode_flag]
        self.D = [np.zeros((self.data_size, 4, 1, 8), dtype=np.uint8),
                  np.zeros(self.data_size, dtype=np.uint8),
                  np.zeros((self.data_size, 1), dtype=np.int8),
                  np.zeros((self.data_size, 4, 1, 8), dtype=np.uint8),
                  np.zeros((self.data_size, 1), dtype=np.bool_)]

    def forward(self, state, action, Reward, state_dash, episode_end):
        num_of_batch = state.shape[0]
        s = Variable(state)
        s_dash = Variable(state_dash, volatile=True)
        Q = self.Q_func(s)  # Get Q-value
        # Generate Target Signals
        tmp = self.Q_func_target(s_dash)  # Q(s',*)
        max_Q_dash = np.asanyarray(list(map(np.max, cuda.to_cpu(tmp.data))), dtype=np.float32)
        target = np.asanyarray(cuda.to_cpu(Q.data), dtype=np.float32).copy()
        for i in range(num_of_batch):
            tmp_ = np.sign(Reward[i])
            if not episode_end[i][0]:
                tmp_ = tmp_ + self.gamma * max_Q_dash[i]
            target[i, action[i]] = tmp_.reshape(())
        # TD-error clipping
        td = Variable(target) - Q  # TD error
        td_tmp = td.data + 1000.0 * (abs(td.data) <= 1)  # Avoid zero division
        td_clip = td * (abs(td.data) <= 1).astype(np.float32) + td / abs(td_tmp) * (abs(td.data) > 1).astype(np.float32)
        zero_val = Variable(np.zeros((self.replay_size, self.num_of_actions), dtype=np.float32))
        return F.mean_squared_error(td_clip, zero_val), Q

    def stock_experience(self, time, state, action, reward, state_dash, episode_end_flag):
        index = time % self.data_size
        self.D[0][index] = state
        self.D[1][index] = action
        self.D[2][index] = reward
        self.D[3][index] = state_dash
        self.D[4][index] = episode_end_flag

    def experience_replay(self, time):
        index = np.random.randint(0, min(time, self.data_size), (self.replay_size, 1))[:, 0]
        s_replay = self.D[0][index].astype(np.float32)
        s_dash_replay = self.D[3][index].astype(np.float32)
        # Gradient-based update
        self.optimizer.zero_grads()
        loss, q = self.forward(s_replay, self.D[1][index], self.D[2][index], s_dash_replay, self.D[4][index])
        loss.backward()
        self.optimizer.update()
        return float(loss.data), float(q.data.mean())

    def _q(self, model, state):
        h1 = F.relu(model.l1(state / 254.0))  # scale inputs in [0.0 1.0]
        h2 = F.relu(model.l2(h1))
        return model.q_value(h2)

    def Q_func(self, state):
        return self._q(self.model, state)

    def Q_func_target(self, state):
        return self._q(self.model_target, state)

    def e_greedy(self, state, epsilon):
        Q = self.Q_func(Variable(state.astype(np.float32)[np.newaxis], volatile=True)).data
        if np.random.rand() < epsilon:
            return np.random.randint(0, self.num_of_actions)
        return int(np.argmax(Q))

    def target_model_update(self):
        self.model_target = copy.deepcopy(self.model)


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=-1)
parser.add_argument('--steps', type=int, default=1000)
args = parser.parse_args()
if args.gpu >= 0:
    cuda.init(args.gpu)
np.random.seed(0)
env, agent = Corridor(), DQN_class(gpu=args.gpu)
state, epsilon, rewards, losses = env.reset(), 1.0, 0.0, []
for time in range(args.steps):
    action = agent.e_greedy(state, epsilon)
    next_state, reward, done = env.step(agent.enable_controller[action])
    rewards += reward
    agent.stock_experience(time, state, action, reward, next_state, done)
    if time > agent.initial_exploration:
        losses.append(agent.experience_replay(time))
        epsilon = max(0.1, epsilon - 0.01)
    if time % agent.target_model_update_freq == 0:
        agent.target_model_update()
    state = env.reset() if done else next_state

print('loss/first %.6g' % losses[0][0])
print('loss/mean %.6g' % np.mean([loss for loss, _ in losses]))
print('q/last %.6g' % losses[-1][1])
print('reward %.6g' % rewards)
print('epsilon %.6g' % epsilon)
print('norm/target %.6g' % np.linalg.norm(agent.model_target.l2.W.data))
