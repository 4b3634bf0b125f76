"""v3: style transfer by optimizing an image: features of a convolutional network, Gram matrices, total variation.

The features come from a small random network; a residual network without pretrained weights gives a second loss.

Arguments: --iteration 4 --features small --out result
"""
import argparse
import os

import numpy as np
from PIL import Image

import chainer
from chainer import cuda
from chainer import Variable
import chainer.functions as F
from chainer.functions.pooling.average_pooling_2d import average_pooling_2d
import chainer.links as L


class SmallVGG(chainer.Chain):

    def __init__(self):
        super(SmallVGG, self).__init__()
        self.add_link('conv1_1', L.Convolution2D(3, 8, 3, stride=1, pad=1))
        self.add_link('conv2_1', L.Convolution2D(8, 12, 3, stride=1, pad=1))
        self.add_link('conv3_1', L.Convolution2D(12, 16, 3, stride=1, pad=1))
        self.mean = np.asarray([104, 117, 124], dtype=np.float32)

    def preprocess(self, image):
        return np.rollaxis(np.asarray(image, dtype=np.float32)[:, :, ::-1] - self.mean, 2)[np.newaxis]

    def __call__(self, x):
        y1 = F.relu(self.conv1_1(x))
        h = F.average_pooling_2d(y1, 2, stride=2)
        y2 = F.relu(self.conv2_1(h))
        h = average_pooling_2d(y2, 2, stride=2)
        y3 = F.relu(self.conv3_1(h))
        return [y1, y2, y3]


MODELS = {
    'vgg16': L.VGG16Layers,
    'resnet50': L.ResNet50Layers,
    'resnet152': L.ResNet152Layers,
    'small': SmallVGG,
}


def gram_matrix(y):
    b, ch, h, w = y.shape
    features = F.reshape(y, (b, ch, w * h))
    return F.batch_matmul(features, features, transb=True) / np.float32(ch * w * h)


def gram_by_matmul(y):
    b, ch, h, w = y.shape
    features = F.reshape(y, (ch, w * h))
    return F.matmul(features, features, transa=False, transb=True) / np.float32(ch * w * h)


def total_variation(x):
    xp = cuda.get_array_module(x.data)
    b, ch, h, w = x.data.shape
    wh = xp.zeros((ch, ch, 2, 1), dtype=np.float32)
    ww = xp.zeros((ch, ch, 1, 2), dtype=np.float32)
    for i in range(ch):
        wh[i, i] = xp.array([[1], [-1]])
        ww[i, i] = xp.array([[1, -1]])
    return F.sum(F.convolution_2d(x, W=wh) ** 2) + F.sum(F.convolution_2d(x, W=ww) ** 2)


def pictures(size):
    r = np.arange(size)
    content = np.zeros((size, size, 3), dtype=np.uint8)
    content[4:12, 4:12] = (200, 40, 10)
    style = (np.sin(r / 1.5)[:, None, None] * np.cos(r / 2.)[None, :, None] * 100 + 120 + np.zeros(3)).astype(np.uint8)
    return Image.fromarray(content), Image.fromarray(style)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=100)
    parser.add_argument('--features', choices=sorted(MODELS), default='vgg16')
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--out', default='result')
    parser.add_argument('--lambda-tv', type=float, default=1e-3)
    args = parser.parse_args()
    np.random.seed(0)

    content_image, style_image = pictures(16)
    net = MODELS[args.features]()
    if args.gpu >= 0:
        cuda.get_device_from_id(args.gpu).use()
        net.to_gpu()
    content = net.preprocess(content_image)
    style = net.preprocess(style_image.resize((16, 16)))
    with chainer.no_backprop_mode():
        feature_content = net(Variable(content))
        gram_style = [gram_matrix(y) for y in net(Variable(style))]

    image = L.Parameter(content + np.random.normal(0, 10, content.shape).astype(np.float32))
    optimizer = chainer.optimizers.Adam(alpha=4.0)
    optimizer.setup(image)
    for i in range(args.iteration):
        image.cleargrads()
        x = image()
        ys = net(x)
        L_content = F.mean_squared_error(feature_content[1], ys[1])
        L_style = sum(F.mean_squared_error(g, gram_matrix(y)) for g, y in zip(gram_style, ys))
        L_tv = args.lambda_tv * total_variation(x)
        loss = L_content + 1e-3 * L_style + L_tv
        loss.backward()
        optimizer.update()
        image.W.data[...] = np.clip(image.W.data, -127, 140)
        print('content@%d %.5g' % (i, float(L_content.data)))
        print('style@%d %.5g' % (i, float(L_style.data)))
        print('tv@%d %.5g' % (i, float(L_tv.data)))
    a, b = gram_matrix(ys[0]).data[0], gram_by_matmul(ys[0]).data
    print('gram_difference %d' % int(np.abs(a - b).max() > 1e-2))

    if not os.path.exists(args.out):
        os.makedirs(args.out)
    result = np.rollaxis(image.W.data[0] + net.mean[:, None, None], 0, 3)[:, :, ::-1]
    Image.fromarray(np.clip(result, 0, 255).astype(np.uint8)).save(os.path.join(args.out, 'im.png'))
    print('picture %.3g' % np.asarray(Image.open(os.path.join(args.out, 'im.png')), dtype=np.float).mean())


if __name__ == '__main__':
    main()
