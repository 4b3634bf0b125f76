"""v2: a multi-scale detector in the style of SSD: links added in a loop, L2 normalization with add_param, weights copied.

Arguments: --iteration 3 --out result
"""
import argparse
import itertools
import os

import numpy as np

import chainer
from chainer import initializers
from chainer import link
import chainer.functions as F
import chainer.links as L
from chainer.links.connection.convolution_2d import Convolution2D
from chainer.initializers.normal import Normal
from chainer.initializers.constant import Zero
from chainer import serializers


class Normalize(link.Link):

    def __init__(self, n_channel, initial=0, eps=1e-5):
        super(Normalize, self).__init__()
        self.eps = eps
        self.add_param('scale', n_channel, initializer=initializers._get_initializer(initial))

    def __call__(self, x):
        norm = F.sqrt(F.sum(F.square(x), axis=1) + self.eps)
        norm = F.broadcast_to(norm[:, np.newaxis], x.shape)
        scale = F.broadcast_to(self.scale[np.newaxis, :, np.newaxis, np.newaxis], x.shape)
        return x / norm * scale


class Multibox(chainer.Chain):

    def __init__(self, n_class, aspect_ratios, init=None):
        super(Multibox, self).__init__(loc=chainer.ChainList(), conf=chainer.ChainList())
        self.n_class = n_class
        init = init or {'initialW': initializers.GlorotUniform(), 'initial_bias': Zero()}
        for ar in aspect_ratios:
            n = (len(ar) + 1) * 2
            self.loc.add_link(L.Convolution2D(None, n * 4, 3, pad=1, **init))
            self.conf.add_link(L.Convolution2D(None, n * n_class, 3, pad=1, **init))

    def __call__(self, xs):
        ys_loc, ys_conf = [], []
        for i, x in enumerate(xs):
            loc = F.transpose(self.loc[i](x), (0, 2, 3, 1))
            ys_loc.append(F.reshape(loc, (loc.shape[0], -1, 4)))
            conf = F.transpose(self.conf[i](x), (0, 2, 3, 1))
            ys_conf.append(F.reshape(conf, (conf.shape[0], -1, self.n_class)))
        return F.concat(ys_loc, axis=1), F.concat(ys_conf, axis=1)


class Extractor(chainer.Chain):

    def __init__(self):
        super(Extractor, self).__init__()
        with self.init_scope():
            self.conv1_1 = L.Convolution2D(3, 8, 3, pad=1)
            self.conv1_2 = L.Convolution2D(8, 8, 3, pad=1)
            self.mlp = L.MLPConvolution2D(None, (8, 8), 3, pad=1, activation=F.relu, conv_init=Normal(0.1))
            self.norm = Normalize(8, initial=Constant(20))
            self.fc6 = L.DilatedConvolution2D(None, 16, 3, pad=2, dilate=2)
            self.inception = L.Inception(16, 4, 4, 6, 2, 4, 2)
            self.act = L.PReLU((16,), init=.25)
            self.last = Convolution2D(16, 16, 3, stride=2, pad=1, initialW=initializers.LeCunUniform())

    def __call__(self, x):
        ys = []
        h = F.relu(self.conv1_1(x))
        h = F.relu(self.conv1_2(h))
        h = F.max_pooling_2d(h, 2)
        h = self.mlp(F.local_response_normalization(h))
        ys.append(self.norm(h))
        h = F.max_pooling_2d(h, 3, stride=2, pad=1, cover_all=False)
        h = F.relu(self.fc6(h))
        h = self.act(self.inception(h))
        ys.append(h)
        h = F.clipped_relu(self.last(h), z=6.0)
        ys.append(h)
        return ys


def Constant(value):
    return initializers.Constant(value)


class SSD(chainer.Chain):

    insize = 24

    def __init__(self, n_class):
        super(SSD, self).__init__()
        with self.init_scope():
            self.extractor = Extractor()
            self.multibox = Multibox(n_class, [(2,), (2, 3), (2,)])

    def __call__(self, x):
        return self.multibox(self.extractor(x))

    def to_cpu(self):
        super(SSD, self).to_cpu()
        return self

    def to_gpu(self, device=None):
        super(SSD, self).to_gpu(device)
        return self

    def prepare(self, img):
        return (img.astype(np.float32) - 127) / 127

    def predict(self, imgs):
        x = self.xp.stack([self.prepare(img) for img in imgs])
        with chainer.using_config('train', False), chainer.function.no_backprop_mode():
            loc, conf = self(x)
        prob = F.softmax(conf, axis=2).data
        return [np.where(p[:, 1:].max(axis=1) > .3)[0] for p in chainer.cuda.to_cpu(prob)], loc.data


def elementwise_softmax_cross_entropy(x, t):
    shape = t.shape
    x = F.reshape(x, (-1, x.shape[-1]))
    t = F.flatten(t)
    return F.reshape(F.softmax_cross_entropy(x, t, reduce='no'), shape)


def hard_negative(x, positive, k):
    rank = (x * (positive - 1)).argsort(axis=1).argsort(axis=1)
    return rank < (positive.sum(axis=1) * k)[:, np.newaxis]


def multibox_loss(mb_locs, mb_confs, gt_locs, gt_labels, k):
    xp = chainer.cuda.get_array_module(gt_labels)
    positive = gt_labels > 0
    n_positive = positive.sum()
    loc_loss = F.huber_loss(mb_locs, gt_locs, 1, reduce='no')
    loc_loss = F.sum(loc_loss, axis=-1)
    loc_loss *= positive.astype(loc_loss.dtype)
    loc_loss = F.sum(loc_loss) / n_positive
    conf_loss = elementwise_softmax_cross_entropy(mb_confs, gt_labels)
    hard = hard_negative(conf_loss.array, positive, k)
    conf_loss *= xp.logical_or(positive, hard).astype(conf_loss.dtype)
    return loc_loss, F.sum(conf_loss) / n_positive


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    np.random.seed(0)
    model = SSD(n_class=3)
    imgs = np.random.RandomState(1).randint(0, 256, (2, 3, 24, 24))
    x = np.stack([model.prepare(img) for img in imgs])
    locs, confs = model(x)
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        model.to_gpu()

    optimizer = chainer.optimizers.MomentumSGD(lr=1e-3)
    optimizer.setup(model)
    for path, param in sorted(model.namedparams()):
        if path.endswith('/b'):
            param.update_rule.hyperparam.lr *= 2
            param.update_rule.add_hook(chainer.optimizer.WeightDecay(0))
        else:
            param.update_rule.add_hook(chainer.optimizer.WeightDecay(0.0005))

    rng = np.random.RandomState(2)
    labels = (rng.uniform(size=confs.shape[:2]) < .1).astype('i') * rng.randint(1, 3, confs.shape[:2]).astype('i')
    targets = rng.normal(size=locs.shape).astype('f')
    for i in range(args.iteration):
        loc, conf = model(x)
        loss_loc, loss_conf = multibox_loss(loc, conf, targets, labels, 3)
        loss = loss_loc + loss_conf
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('loc@%d %.6g' % (i, float(loss_loc.data)))
        print('conf@%d %.6g' % (i, float(loss_conf.data)))

    # the extractor of another model, as one does with pretrained weights
    np.random.seed(1)
    other = SSD(n_class=5)
    other(x)
    other.extractor.copyparams(model.extractor)
    boxes, loc = other.predict(list(imgs))
    print('boxes %d' % sum(len(b) for b in boxes))
    print('loc_abs %.5g' % float(np.abs(loc).sum()))
    if not os.path.exists(args.out):
        os.makedirs(args.out)
    serializers.save_hdf5(os.path.join(args.out, 'ssd.h5'), model)
    fresh = SSD(n_class=3)
    serializers.load_hdf5(os.path.join(args.out, 'ssd.h5'), fresh)
    a, b = fresh(x), model(x)
    print('same %d' % all(np.array_equal(p.data, q.data) for p, q in itertools.product(a[:1], b[:1])))
    print('links %d' % len(list(model.links())))
    print('children %s' % len(list(model.children())))
    print('named %d' % sum(1 for name, _ in model.namedlinks(skipself=True) if 'multibox' in name))


if __name__ == '__main__':
    main()
