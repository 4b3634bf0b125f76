"""v4: segmentation with an encoder-decoder: pooling indices, unpooling, class weights; images from files.

Arguments: --epoch 2 --out result
"""
import argparse
import os

import numpy as np
from PIL import Image

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.dataset import dataset_mixin
from chainer.datasets import ImageDataset
from chainer.datasets import LabeledImageDataset
from chainer.training import extensions

N_CLASS = 3
IGNORE = 255


class SegmentationDataset(dataset_mixin.DatasetMixin):

    def __init__(self, names, root):
        self.images = ImageDataset([n + '.png' for n in names], root=root)
        self.labels = ImageDataset([n + '_label.png' for n in names], root=root, dtype=np.int32)

    def __len__(self):
        return len(self.images)

    def get_example(self, i):
        image = self.images[i] / 255. - .5
        label = self.labels[i]
        if label.ndim == 3:
            label = label[0]
        return image.astype(np.float32), label.astype(np.int32)


class Encoder(chainer.Chain):

    def __init__(self, n_in, n_out):
        super(Encoder, self).__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, ksize=3, stride=1, pad=1, initial_bias=chainer.initializers.One())
            self.bn = L.BatchNormalization(n_out, use_beta=False)

    def __call__(self, x):
        h = F.leaky_relu(self.bn(self.conv(x)), 0.2)
        y, indexes = F.max_pooling_2d(h, 2, stride=2, return_indices=True)
        return h, y, indexes


class UNet(chainer.Chain):

    def __init__(self):
        super(UNet, self).__init__()
        with self.init_scope():
            self.e1 = Encoder(3, 6)
            self.e2 = Encoder(6, 8)
            self.middle = L.DilatedConvolution2D(8, 8, 3, pad=2, dilate=2)
            self.d2 = L.Deconvolution2D(8, 6, ksize=2, stride=2, nobias=True)
            self.d1 = L.Convolution2D(12 + 6, 6, 3, pad=1)
            self.out = L.Convolution2D(6, N_CLASS, 1)

    def __call__(self, x):
        h1, p1, i1 = self.e1(x)
        h2, p2, i2 = self.e2(p1)
        m = F.dropout(F.relu(self.middle(p2)), ratio=.25)
        u2 = F.upsampling_2d(m, i2, ksize=2, stride=2, outsize=h2.shape[2:])
        u2 = self.d2(u2)
        u1 = F.unpooling_2d(p1, 2, cover_all=False)
        big = F.resize_images(u2, h1.shape[2:])
        h = F.concat((h1, u1, big), axis=1)
        return self.out(F.relu(self.d1(h)))


class PixelwiseClassifier(chainer.Chain):

    def __init__(self, predictor, class_weight):
        super(PixelwiseClassifier, self).__init__()
        with self.init_scope():
            self.predictor = predictor
        self.class_weight = class_weight

    def __call__(self, x, t):
        self.y = self.predictor(x)
        self.loss = F.softmax_cross_entropy(
            self.y, t, normalize=True, class_weight=self.class_weight, ignore_label=IGNORE)
        self.accuracy = F.accuracy(self.y, t, ignore_label=IGNORE)
        chainer.report({'loss': self.loss, 'accuracy': self.accuracy}, self)
        return self.loss


class IoUEvaluator(extensions.Evaluator):

    default_name = 'iou'

    def __init__(self, iterator, target, device=-1):
        super(IoUEvaluator, self).__init__(iterator, target, device=device)

    def evaluate(self):
        iterator = self.get_iterator('main')
        target = self.get_target('main')
        iterator.reset()
        confusion = np.zeros((N_CLASS, N_CLASS), dtype=np.int)
        for batch in iterator:
            x, t = self.converter(batch, self.device)
            with chainer.no_backprop_mode(), chainer.using_config('train', False):
                y = target.predictor(x).data.argmax(axis=1)
            keep = t != IGNORE
            confusion += np.bincount(N_CLASS * t[keep] + y[keep], minlength=N_CLASS ** 2).reshape(N_CLASS, N_CLASS)
        union = confusion.sum(axis=0) + confusion.sum(axis=1) - np.diag(confusion)
        observation = {}
        with chainer.reporter.report_scope(observation):
            chainer.reporter.report({'mean': np.mean(np.diag(confusion) / np.maximum(union, 1).astype(np.float))}, target)
        return observation


def draw(root, n):
    rng = np.random.RandomState(6)
    os.makedirs(root)
    names = []
    for i in range(n):
        label = np.zeros((16, 16), dtype=np.uint8)
        y, x = rng.randint(2, 8, 2)
        label[y:y + 6, x:x + 6] = 1 + i % 2
        colors = np.array([[30, 30, 30], [200, 60, 60], [60, 60, 200]])
        image = colors[label] + rng.randint(-20, 20, (16, 16, 3))
        label[0] = IGNORE
        name = 'im%02d' % i
        Image.fromarray(np.clip(image, 0, 255).astype(np.uint8)).save(os.path.join(root, name + '.png'))
        Image.fromarray(label).save(os.path.join(root, name + '_label.png'))
        names.append(name)
    return names


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--gpu', type=int, default=-1)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    np.random.seed(0)

    root = os.path.join(args.out, 'images')
    names = draw(root, 14)
    train, test = SegmentationDataset(names[:10], root), SegmentationDataset(names[10:], root)
    tagged = LabeledImageDataset([(n + '.png', i % 2) for i, n in enumerate(names)], root)
    print('labels %d' % sum(int(label) for _, label in tagged))
    print('first_image %.5g' % tagged[0][0].mean())

    model = PixelwiseClassifier(UNet(), np.array([.5, 1, 1], dtype=np.float32))
    if args.gpu >= 0:
        chainer.backends.cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    optimizer = chainer.optimizers.NesterovAG(lr=.05, momentum=.9)
    optimizer.setup(model)
    model.predictor.e2.conv.b.update_rule.enabled = True
    model.predictor.d2.disable_update()

    updater = training.StandardUpdater(chainer.iterators.SerialIterator(train, 5), optimizer, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(IoUEvaluator(chainer.iterators.SerialIterator(test, 2, repeat=False, shuffle=False), model,
                                device=args.gpu))
    trainer.extend(extensions.LogReport())
    before = model.predictor.d2.W.data.copy()
    trainer.run()
    for entry in trainer.get_extension('LogReport').log:
        print('loss@%d %.5g' % (entry['epoch'], entry['main/loss']))
        print('accuracy@%d %.5g' % (entry['epoch'], entry['main/accuracy']))
        print('iou@%d %.4g' % (entry['epoch'], entry['iou/main/mean']))
    print('frozen %d' % np.array_equal(before, model.predictor.d2.W.data))


if __name__ == '__main__':
    main()
