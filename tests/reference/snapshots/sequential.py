"""Sequentials whose layers Chainer numbers in another order than it calls them (public API only).

``python sequential.py``, run with Chainer 7.8.1, wrote ``sequential.npz`` (models and predictions) and
``sequential.json`` (numbers of the links after random changes).
"""
import json
import random

import numpy as np


def models(chainer):
    """Models by name, each from (n, 3) to (n, 3)."""
    F, L, Sequential = chainer.functions, chainer.links, chainer.Sequential

    def linear():
        return L.Linear(3, 3)

    class Pair(chainer.Chain):
        def __init__(self):
            super(Pair, self).__init__()
            with self.init_scope():
                self.a, self.b = linear(), linear()

        def forward(self, x):
            return self.b(F.tanh(self.a(x)))

    edited = Sequential(linear(), F.relu, linear(), linear(), linear())
    edited.insert(2, linear())
    edited[0] = L.Linear(3, 3, nobias=True)
    del edited[3]
    return {
        'plain': Sequential(linear(), F.tanh, linear(), F.tanh, linear(), linear()),
        'functions first': Sequential(F.tanh, F.tanh, linear(), linear(), linear(), linear(), linear()),
        'repeated': Sequential(linear(), F.tanh).repeat(3),
        'repeated link': linear().repeat(4),
        'repeated chain': Pair().repeat(3),
        'nested': Sequential(linear(), Sequential(linear(), linear(), linear()).repeat(3), linear()),
        'flat': Sequential(Sequential(linear(), linear()).repeat(2), linear()).flatten(),
        'sum': Sequential(linear(), linear()) + Sequential(linear(), F.tanh, linear()),
        'edited': edited,
        'copy of edited': edited.copy('init'),
        'repeated edited': edited.repeat(2),
    }


def changed(Sequential, link, function, kinds, changes):
    """A Sequential of links ('l') and functions ('f') after changes [[method, position, kind], ...]."""
    def make(kind):
        return link() if kind == 'l' else function

    model = Sequential(*[make(kind) for kind in kinds])
    for method, position, kind in changes:
        if method == 'insert':
            model.insert(position, make(kind))
        elif method == 'set':
            model[position] = make(kind)
        elif method == 'del':
            del model[position]
        elif method == 'copy':
            model = model.copy(kind)
    return model


def numbers(Link, model):
    """The number of each layer among the children, in the order of the layers; None for functions."""
    children = list(model.children())
    return [children.index(layer) if isinstance(layer, Link) else None for layer in model]


def random_changes(generator):
    kinds = [generator.choice('llf') for _ in range(generator.randint(0, 6))]
    size, changes = len(kinds), []
    for _ in range(generator.randint(0, 4)):
        method = generator.choice(['insert', 'insert', 'set', 'del', 'copy'])
        if method == 'copy':
            changes.append([method, None, generator.choice(['init', 'copy', 'share'])])
        elif method == 'insert':
            changes.append([method, generator.randint(-size, size), generator.choice('llf')])
            size += 1
        elif size > 0:
            changes.append([method, generator.randrange(size), generator.choice('llf')])
            size -= method == 'del'
    return kinds, changes


def record():
    import chainer

    generator, recorded = np.random.RandomState(0), {}
    all_models = models(chainer)
    for _, param in sorted(chainer.Chain(**{k.replace(' ', '_'): m for k, m in all_models.items()}).namedparams()):
        param.array[...] = generator.uniform(-1, 1, param.shape)
    x = generator.uniform(-1, 1, (2, 3)).astype(np.float32)
    for name, model in all_models.items():
        serializer = chainer.serializers.DictionarySerializer(recorded, name + '/')
        serializer.save(model)
        recorded['x'], recorded['y ' + name] = x, model(x).array
    np.savez_compressed('sequential.npz', **recorded)

    generator, cases = random.Random(0), []
    for _ in range(300):
        kinds, changes = random_changes(generator)
        model = changed(chainer.Sequential, chainer.Link, abs, kinds, changes)
        cases.append([kinds, changes, numbers(chainer.Link, model)])
    with open('sequential.json', 'w') as f:
        f.write('[\n' + ',\n'.join(json.dumps(case) for case in cases) + '\n]\n')


if __name__ == '__main__':
    record()
