"""Made the files beside it: run with Chainer 7.8.1 (NumPy 1.23.5, Python 3.10), in this folder.

`trainer_v1.npz` is what Chainer 1 wrote, made of a snapshot of 7.8.1 by leaving out what 1.24 did not have: the
count `t` of each parameter and `previous_epoch_detail` of iterators and triggers. `v1.pkl` is a pickle of protocol 0
with the module names and attributes that links had in 1.4 and before; its classes are declared here.
"""

import pickle
import sys
import types

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


def model():
    np.random.seed(0)
    return L.Classifier(chainer.Sequential(L.Linear(4, 5), F.tanh, L.Linear(5, 3)))


def chain():
    np.random.seed(1)
    link = chainer.Chain(conv=L.Convolution2D(2, 3, 3, pad=1), bn=L.BatchNormalization(3), fc=L.Linear(48, 2))
    link.bn.avg_mean[...] = np.arange(3)
    link.bn.N = 7
    return link


def trainer():
    x = np.random.RandomState(2).rand(12, 4).astype(np.float32)
    t = np.arange(12, dtype=np.int32) % 3
    iterator = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(x, t), 4, shuffle=False)
    optimizer = chainer.optimizers.Adam().setup(model())
    made = training.Trainer(training.StandardUpdater(iterator, optimizer), (2, 'epoch'), out='.')
    made.extend(extensions.LogReport(trigger=(1, 'epoch'), filename=None))
    return made


def old_pickle():
    """Chainer 1.4: parametrized functions with arrays as attributes, in a FunctionSet."""
    classes = {}
    for module, name in [('linear', 'Linear'), ('convolution_2d', 'Convolution2D')]:
        place = types.ModuleType(f'chainer.functions.{module}')
        classes[name] = type(name, (), {'__module__': place.__name__})
        setattr(place, name, classes[name])
        sys.modules[place.__name__] = place
    place = types.ModuleType('chainer.function_set')
    place.FunctionSet = type('FunctionSet', (), {'__module__': place.__name__})
    sys.modules[place.__name__] = place
    made = place.FunctionSet()
    made.conv = classes['Convolution2D']()
    made.conv.__dict__.update(
        W=np.arange(18, dtype=np.float32).reshape(2, 1, 3, 3),
        b=np.ones(2, np.float32),
        gW=np.zeros(18),
        gb=None,
        kh=3,
        kw=3,
        sy=1,
        sx=1,
        ph=0,
        pw=0,
        use_cudnn=True,
    )
    made.fc = classes['Linear']()
    made.fc.__dict__.update(W=np.ones((3, 8), np.float32), b=np.zeros(3, np.float32), gW=None, gb=None)
    return made


if __name__ == '__main__':
    chainer.serializers.save_npz('chain.npz', chain())
    made = trainer()
    made.run()
    chainer.serializers.save_npz('trainer.npz', made)
    with np.load('trainer.npz', allow_pickle=True) as file:
        v1 = {
            name: file[name]
            for name in file.files
            if 'previous_epoch_detail' not in name and not (name.endswith('/t') and 'main/t' not in name)
        }
    np.savez_compressed('trainer_v1.npz', **v1)
    with open('chain.pkl', 'wb') as file:
        pickle.dump(chain(), file, protocol=2)
    with open('v1.pkl', 'wb') as file:
        pickle.dump(old_pickle(), file, protocol=0)
