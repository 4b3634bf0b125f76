"""v1: image classifier with a train flag, an Evaluator subclass that switches it off on a copy, a preprocessed dataset.

Arguments: --epoch 2 --out result
Recorded with: 1.24.0
Legacy: v1
"""
from __future__ import print_function
import argparse
import random

import numpy as np

import chainer
from chainer import training
from chainer.training import extensions
import chainer.functions as F
import chainer.links as L


class Alex(chainer.Chain):
    """Single-GPU AlexNet without partition toward the channel axis, in small."""

    insize = 14

    def __init__(self):
        super(Alex, self).__init__(
            conv1=L.Convolution2D(3, 8, 3, stride=1),
            conv2=L.Convolution2D(8, 12, 3, pad=1),
            conv3=L.Convolution2D(12, 12, 3, pad=1),
            fc6=L.Linear(108, 20),
            fc8=L.Linear(20, 6),
        )
        self.train = True

    def clear(self):
        self.loss = None
        self.accuracy = None

    def __call__(self, x, t):
        self.clear()
        h = F.max_pooling_2d(F.relu(F.local_response_normalization(self.conv1(x))), 2, stride=2)
        h = F.max_pooling_2d(F.relu(F.local_response_normalization(self.conv2(h))), 3, stride=2, pad=0)
        h = F.relu(self.conv3(h))
        h = F.dropout(F.relu(self.fc6(h)), train=self.train)
        h = self.fc8(h)
        self.loss = F.softmax_cross_entropy(h, t)
        self.accuracy = F.accuracy(h, t)
        chainer.report({'loss': self.loss, 'accuracy': self.accuracy}, self)
        return self.loss


class PreprocessedDataset(chainer.dataset.DatasetMixin):

    def __init__(self, pairs, mean, crop_size, random=True):
        self.base = pairs
        self.mean = mean.astype('f')
        self.crop_size = crop_size
        self.random = random

    def __len__(self):
        return len(self.base)

    def get_example(self, i):
        # It reads the i-th image/label pair and return a preprocessed image.
        crop_size = self.crop_size
        image, label = self.base[i]
        _, h, w = image.shape
        if self.random:
            # Randomly crop a region and flip the image
            top = random.randint(0, h - crop_size - 1)
            left = random.randint(0, w - crop_size - 1)
            if random.randint(0, 1):
                image = image[:, :, ::-1]
        else:
            top = (h - crop_size) // 2
            left = (w - crop_size) // 2
        bottom = top + crop_size
        right = left + crop_size
        image = image[:, top:bottom, left:right] - self.mean[:, top:bottom, left:right]
        return image * (1.0 / 255.0), label  # Scale to [0, 1]


class TestModeEvaluator(extensions.Evaluator):

    def evaluate(self):
        model = self.get_target('main')
        model.train = False
        ret = super(TestModeEvaluator, self).evaluate()
        model.train = True
        return ret


def synthetic(n, seed):
    rng = np.random.RandomState(seed)
    pairs = []
    for i in range(n):
        label = np.int32(i % 6)
        image = rng.uniform(0, 90, (3, 18, 18)).astype(np.float32)
        image[label % 3, :, (label // 3) * 9:(label // 3) * 9 + 9] += 150
        pairs.append((image, label))
    return pairs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--batchsize', '-B', type=int, default=20)
    parser.add_argument('--epoch', '-E', type=int, default=10)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--test', action='store_true')
    args = parser.parse_args()

    np.random.seed(0)
    random.seed(0)
    model = Alex()
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        model.to_gpu()
    pairs = synthetic(120, 3)
    mean = np.mean([image for image, _ in pairs], axis=0)
    train = PreprocessedDataset(pairs, mean, model.insize)
    val = PreprocessedDataset(synthetic(36, 4), mean, model.insize, False)
    train_iter = chainer.iterators.SerialIterator(train, args.batchsize, shuffle=False)
    val_iter = chainer.iterators.SerialIterator(val, 12, repeat=False, shuffle=False)

    optimizer = chainer.optimizers.MomentumSGD(lr=0.05, momentum=0.9)
    optimizer.setup(model)
    updater = training.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), args.out)

    val_interval = (10 if args.test else 6), 'iteration'
    log_interval = (10 if args.test else 3), 'iteration'
    trainer.extend(TestModeEvaluator(val_iter, model, device=args.gpu), trigger=val_interval)
    trainer.extend(extensions.dump_graph('main/loss'))
    trainer.extend(extensions.snapshot(), trigger=val_interval)
    trainer.extend(extensions.snapshot_object(model, 'model_iter_{.updater.iteration}'), trigger=val_interval)
    # Be careful to pass the interval directly to LogReport
    trainer.extend(extensions.LogReport(trigger=log_interval))
    trainer.extend(extensions.observe_lr(), trigger=log_interval)
    trainer.extend(extensions.PrintReport(
        ['epoch', 'iteration', 'main/loss', 'validation/main/loss',
         'main/accuracy', 'validation/main/accuracy', 'lr']), trigger=log_interval)
    trainer.run()
    print()

    for entry in trainer.get_extension('LogReport').log:
        for key in ('main/loss', 'main/accuracy', 'validation/main/loss', 'validation/main/accuracy'):
            if key in entry:
                print('iter%d/%s %.6g' % (entry['iteration'], key, entry[key]))
    print('train %d' % model.train)
    print('conv1/norm %.6g' % np.linalg.norm(model.conv1.W.data))


if __name__ == '__main__':
    main()
