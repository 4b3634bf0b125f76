#!/usr/bin/env python
"""v4: a small residual network and a VGG-like network on CIFAR-like images, with augmentation and learning rate schedules.

Arguments: --dataset cifar10 --epoch 2 --batchsize 10 --out result
"""
from __future__ import print_function

import argparse
import os

import numpy as np

import chainer
from chainer import initializers, training
from chainer.datasets import get_cifar10, get_cifar100
from chainer.training import extensions
import chainer.functions as F
import chainer.links as L


class BottleNeckA(chainer.Chain):

    def __init__(self, in_size, ch, out_size, stride=2):
        super(BottleNeckA, self).__init__()
        initialW = initializers.HeNormal()
        with self.init_scope():
            self.conv1 = L.Convolution2D(in_size, ch, 1, stride, 0, initialW=initialW, nobias=True)
            self.bn1 = L.BatchNormalization(ch)
            self.conv2 = L.Convolution2D(ch, ch, 3, 1, 1, initialW=initialW, nobias=True)
            self.bn2 = L.BatchNormalization(ch, decay=.8, eps=1e-4)
            self.conv3 = L.Convolution2D(ch, out_size, 1, 1, 0, initialW=initialW, nobias=True)
            self.bn3 = L.BatchNormalization(out_size, initial_gamma=np.zeros(out_size, 'f'))
            self.conv4 = L.Convolution2D(in_size, out_size, 1, stride, 0, initialW=initialW, nobias=True)
            self.bn4 = L.BatchNormalization(out_size)

    def __call__(self, x):
        h1 = F.relu(self.bn1(self.conv1(x)))
        h1 = F.relu(self.bn2(self.conv2(h1)))
        h1 = self.bn3(self.conv3(h1))
        h2 = self.bn4(self.conv4(x))
        return F.relu(h1 + h2)


class BottleNeckB(chainer.Chain):

    def __init__(self, in_size, ch, groups=1):
        super(BottleNeckB, self).__init__()
        initialW = initializers.HeNormal()
        with self.init_scope():
            self.conv1 = L.Convolution2D(in_size, ch, 1, 1, 0, initialW=initialW, nobias=True)
            self.bn1 = L.BatchNormalization(ch)
            self.conv2 = L.Convolution2D(ch, ch, 3, 1, 1, initialW=initialW, nobias=True, groups=groups)
            self.bn2 = L.GroupNormalization(2, ch)
            self.conv3 = L.Convolution2D(ch, in_size, 1, 1, 0, initialW=initialW, nobias=True)
            self.bn3 = L.BatchNormalization(in_size)

    def __call__(self, x):
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + x)


class Block(chainer.ChainList):

    def __init__(self, layer, in_size, ch, out_size, stride=2):
        super(Block, self).__init__()
        self.add_link(BottleNeckA(in_size, ch, out_size, stride))
        for i in range(layer - 1):
            self.add_link(BottleNeckB(out_size, ch, groups=2))

    def __call__(self, x):
        for f in self.children():
            x = f(x)
        return x


class ResNet(chainer.Chain):

    def __init__(self, class_labels):
        super(ResNet, self).__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 8, 3, 2, 1, initialW=initializers.HeNormal())
            self.bn1 = L.BatchNormalization(8)
            self.res2 = Block(2, 8, 4, 12, 1)
            self.res3 = Block(2, 12, 6, 16)
            self.fc = L.Linear(16, class_labels)

    def __call__(self, x):
        h = F.max_pooling_2d(F.relu(self.bn1(self.conv1(x))), 3, stride=2)
        h = self.res3(self.res2(h))
        h = F.average_pooling_2d(h, h.shape[2:], stride=1)
        return self.fc(h)


class Normalizer(object):

    def __init__(self, mean):
        self.mean = mean

    def __call__(self, in_data):
        img, label = in_data
        img = img - self.mean
        if label % 2 and chainer.config.train:
            img = img[:, :, ::-1]
        return img.astype(np.float32), label


def write_images(name, n_class):
    rng = np.random.RandomState(n_class)
    arrays = {}
    for part, n in (('train', 40), ('test', 20)):
        y = (np.arange(n) % n_class).astype(np.uint8)
        x = rng.randint(0, 100, (n, 3, 32, 32))
        x[:, 0] += y[:, None, None] * (120 // n_class)
        x[:, 1, :16] += (y % 3)[:, None, None] * 50
        arrays[part + '_x'], arrays[part + '_y'] = x.reshape(n, -1).astype(np.uint8), y
    root = chainer.dataset.download.get_dataset_directory('pfnet/chainer/cifar')
    np.savez_compressed(os.path.join(root, name + '.npz'), **arrays)


def main():
    parser = argparse.ArgumentParser(description='Chainer CIFAR example:')
    parser.add_argument('--dataset', '-d', default='cifar10', help='The dataset to use: cifar10 or cifar100')
    parser.add_argument('--batchsize', '-b', type=int, default=64)
    parser.add_argument('--learnrate', '-l', type=float, default=0.05)
    parser.add_argument('--epoch', '-e', type=int, default=300)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', '-o', default='result')
    parser.add_argument('--early-stopping', type=str)
    args = parser.parse_args()

    np.random.seed(0)
    chainer.dataset.download.set_dataset_root(os.path.join(args.out, 'data'))
    write_images('cifar-10', 10)
    write_images('cifar-100', 20)
    chainer.global_config.autotune = True
    chainer.cuda.set_max_workspace_size(256 * 1024 * 1024)
    if args.dataset == 'cifar10':
        class_labels = 10
        train, test = get_cifar10(withlabel=True, ndim=3, scale=1.)
    else:
        class_labels = 100
        train, test = get_cifar100()
    images, _ = get_cifar100(withlabel=False, scale=255.)
    print('mean_of_other %.5g' % images.mean())

    mean = np.mean([x for x, _ in train], axis=0)
    train = chainer.datasets.TransformDataset(train, Normalizer(mean))
    test = chainer.datasets.TransformDataset(test, Normalizer(mean))
    train, valid = chainer.datasets.split_dataset_random(train, 30, seed=0)
    print('n_valid %d' % len(valid))

    model = L.Classifier(ResNet(class_labels), lossfun=F.softmax_cross_entropy)
    if args.gpu >= 0:
        chainer.cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    optimizer = chainer.optimizers.CorrectedMomentumSGD(lr=args.learnrate)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(5e-4))

    train_iter = chainer.iterators.SerialIterator(train, args.batchsize)
    test_iter = chainer.iterators.SerialIterator(test, args.batchsize, repeat=False, shuffle=False)
    stop_trigger = (args.epoch, 'epoch')
    if args.early_stopping:
        stop_trigger = training.triggers.EarlyStoppingTrigger(
            monitor=args.early_stopping, verbose=True, max_trigger=(args.epoch, 'epoch'))
    updater = training.updaters.StandardUpdater(train_iter, optimizer, device=args.gpu)
    trainer = training.Trainer(updater, stop_trigger, out=args.out)
    trainer.extend(extensions.Evaluator(test_iter, model, device=args.gpu), trigger=(1, 'epoch'))
    trainer.extend(extensions.ExponentialShift('lr', 0.5), trigger=(1, 'epoch'))
    trainer.extend(extensions.observe_lr(), trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot(filename='snaphot_epoch_{.updater.epoch}'), trigger=(1, 'epoch'))
    trainer.extend(extensions.snapshot_object(model, 'best_model.npz'),
                   trigger=training.triggers.MaxValueTrigger('validation/main/accuracy', (1, 'epoch')))
    trainer.extend(extensions.LogReport())
    trainer.extend(extensions.PrintReport(['epoch', 'main/loss', 'validation/main/loss', 'lr']))
    trainer.run()

    for entry in trainer.get_extension('LogReport').log:
        print('loss@%d %.5g' % (entry['epoch'], entry['main/loss']))
        print('validation@%d %.5g' % (entry['epoch'], entry['validation/main/loss']))
        print('lr@%d %.5g' % (entry['epoch'], entry['lr']))
    print('best_written %d' % os.path.exists(os.path.join(args.out, 'best_model.npz')))


if __name__ == '__main__':
    main()
