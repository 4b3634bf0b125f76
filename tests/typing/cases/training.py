"""What type checkers know of a training script: links, optimizers, iterators, a trainer."""

from typing import Any

import numpy as np
from typing_extensions import assert_type

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import training
from minichainer.training import extensions


class Scale(chainer.Link):
    def __init__(self, size: int) -> None:
        super().__init__()
        with self.init_scope():
            self.w = chainer.Parameter(1.0, (size,))

    def forward(self, x: chainer.Variable) -> chainer.Variable:
        return x * self.w


class MLP(chainer.Chain):
    def __init__(self, n_units: int, n_out: int) -> None:
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(None, n_units)
            self.scale = Scale(n_units)
            self.l2 = L.Linear(n_units, n_out)

    def forward(self, x: Any, ratio: float = 0.5) -> chainer.Variable:
        h = F.dropout(F.relu(self.l1(x)), ratio)
        assert_type(self.scale(h), chainer.Variable)
        return self.l2(self.scale(h))


class Blocks(chainer.ChainList):
    def forward(self, x: Any) -> Any:
        for link in self:
            x = link(x)
        return x


x = np.ones((4, 3), np.float32)
model = MLP(5, 2)
assert_type(model(x), chainer.Variable)
assert_type(model(x, ratio=0.1), chainer.Variable)
assert_type(L.Linear(3, 2)(x), chainer.Variable)
assert_type(L.Linear(3, 2)(x, n_batch_axes=1), chainer.Variable)
assert_type(model.l1.W, chainer.Parameter)
assert_type(model.l1.W.shape, tuple[int, ...])
assert_type(model.copy('copy'), MLP)
assert_type(list(model.params()), list[chainer.Parameter])
assert_type(dict(model.namedparams()), dict[str, chainer.Parameter])
model(x, 0.1, 2)  # error
model(x, rate=0.1)  # error
model(x).bakward()  # error
model.l3(x)  # error
L.Linear(3, 2)(x, x, x)  # error
MLP(5)  # error

sequence = chainer.Sequential(L.Linear(3, 4), F.relu, L.Linear(4, 2))
sequence.append(F.tanh)
sequence(x)
sequence[0](x)
Blocks(L.Linear(3, 3), L.Linear(3, 3))(x).backward()
assert_type(sequence.repeat(2), chainer.Sequential)


def loss_of(link: chainer.Link, *args: Any) -> chainer.Variable:
    """What a link of unknown class returns is not known."""
    return F.sum(link(*args))


class SignRule(chainer.optimizer.FormulaRule):
    lr = chainer.optimizer.hyperparameter(0.1, 'size of a step')
    m = chainer.optimizer.state()

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, m: Any) -> None:
        m += grad
        param -= coefficients[0] * xp.sign(m)


class Sign(chainer.GradientMethod, rule=SignRule):
    """Steps of equal size."""


# A loop of one's own.
optimizer = chainer.optimizers.MomentumSGD(lr=0.1)
optimizer.setup(model)
optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(1e-4))
loss = F.softmax_cross_entropy(model(x), np.zeros(4, np.int32))
model.cleargrads()
loss.backward()
optimizer.update()
optimizer.update(loss_of, model, x)
print(float(loss.array), model.l1.W.grad.sum())
optimizer.updat()  # error
assert_type(optimizer.lr, float)
optimizer.momentum = 0.5
optimizer.learning_rat = 0.1  # error
print(optimizer.learning_rat)  # error


class StepRule(chainer.optimizer.FormulaRule):
    lr = chainer.optimizer.hyperparameter(0.1, 'size of a step')
    last = chainer.optimizer.state()

    @staticmethod
    def formula(xp: Any, coefficients: Any, temporaries: Any, param: Any, grad: Any, last: Any) -> None:
        param -= coefficients[0] * xp.sign(grad)


class Step(chainer.GradientMethod, rule=StepRule):
    lr: float


Step(0.5).setup(model).lr = 0.1
Step(0.5).setup(model).rate = 0.1  # error

# The trainer.
classifier = L.Classifier(model, lossfun=F.softmax_cross_entropy)
data = chainer.datasets.TupleDataset(x, np.zeros(4, np.int32))
iterator = chainer.iterators.SerialIterator(data, batch_size=2)
test_iterator = chainer.iterators.SerialIterator(data, 2, repeat=False, shuffle=False)
adam = chainer.optimizers.Adam()
adam.setup(classifier)
adam.alpha, adam.amsgrad = 0.01, True
assert_type(chainer.optimizers.AMSGrad().alpha_t, float)
updater = training.updaters.StandardUpdater(iterator, adam, device=-1)
trainer = training.Trainer(updater, (2, 'epoch'), out='result')
trainer.extend(extensions.Evaluator(test_iterator, classifier))
trainer.extend(extensions.LogReport(trigger=(1, 'epoch')))
trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'validation/main/loss']))
trainer.extend(extensions.snapshot(filename='snapshot_{.updater.iteration}'))


@training.make_extension(trigger=(1, 'epoch'))
def shout(trainer: training.Trainer) -> None:
    print(trainer.updater.iteration)


class Whisper(training.Extension):
    default_name = 'whisper'

    def __call__(self, trainer: training.Trainer) -> None:
        print(self.name, trainer.updater.iteration)


assert_type(Whisper().default_name, str)
trainer.extend(shout)
trainer.extend(Whisper(), priority=training.PRIORITY_READER)
trainer.run()
chainer.serializers.save_npz('model.npz', model)
with chainer.using_config('train', False), chainer.no_backprop_mode():
    print(model(x).array.argmax(axis=1))
trainer.start()  # error
chainer.serializers.save_np('model.npz', model)  # error
training.Trainer()  # error
