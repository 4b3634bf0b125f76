"""v2: pictures read, resized and saved by scipy.misc and PIL's ANTIALIAS, classified by a small network.

Arguments: --out pictures
Recorded with: 1.24.0
Needs: Pillow
Tolerance: 1e-3
"""
from __future__ import print_function
import argparse
import glob
import os

import numpy as np
from PIL import Image
import scipy.misc
from scipy.misc import imread, imresize, imsave

import chainer
import chainer.functions as F
import chainer.links as L


def draw(kind, shade):
    """A disc or a square of 20 pixels."""
    rows, columns = np.mgrid[0:20, 0:20] - 9.5
    inside = (rows ** 2 + columns ** 2 < 49) if kind == 0 else (abs(rows) < 6.5) & (abs(columns) < 6.5)
    image = np.zeros((20, 20, 3), dtype=np.uint8)
    image[inside] = [shade, 255 - shade, 128]
    image[~inside] = [40, 40, shade // 2]
    return image


def write_pictures(folder):
    if not os.path.exists(folder):
        os.makedirs(folder)
    for i in range(24):
        kind = i % 2
        imsave(os.path.join(folder, '%d_%02d.png' % (kind, i)), draw(kind, 40 + 8 * i))


class PictureDataset(chainer.dataset.DatasetMixin):
    def __init__(self, folder, size, method):
        self.paths = sorted(glob.glob(os.path.join(folder, '*.png')))
        self.size = size
        self.method = method

    def __len__(self):
        return len(self.paths)

    def get_example(self, i):
        path = self.paths[i]
        if self.method == 'scipy':
            image = imresize(imread(path, mode='RGB'), (self.size, self.size))
        else:
            picture = Image.open(path).convert('RGB')
            image = np.asarray(picture.resize((self.size, self.size), Image.ANTIALIAS))
        label = int(os.path.basename(path).split('_')[0])
        return image.transpose(2, 0, 1).astype(np.float32) / 255, np.int32(label)


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(conv=L.Convolution2D(3, 6, 3, pad=1), fc=L.Linear(6 * 4 * 4, 2))
        rng = np.random.RandomState(27)
        for _, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.1, param.data.shape)

    def __call__(self, x):
        h = F.max_pooling_2d(F.leaky_relu(self.conv(x)), 2)
        return self.fc(h)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='pictures')
    parser.add_argument('--iterations', type=int, default=8)
    args = parser.parse_args()
    np.random.seed(0)
    write_pictures(args.out)

    for method in ('scipy', 'pil'):
        dataset = PictureDataset(args.out, 8, method)
        x, t = chainer.dataset.concat_examples(dataset[:])
        print('%s/mean %.6g' % (method, x.mean()))
        print('%s/std %.6g' % (method, x.std()))
        model = L.Classifier(Net())
        optimizer = chainer.optimizers.MomentumSGD(lr=0.05)
        optimizer.setup(model)
        for i in range(args.iterations):
            optimizer.update(model, chainer.Variable(x), chainer.Variable(t))
        print('%s/loss %.6g' % (method, model.loss.data))

    # what the filters have learnt, as one picture
    W = model.predictor.conv.W.data
    tiles = W.transpose(0, 2, 3, 1).reshape(2, 3, 3, 3, 3).transpose(0, 2, 1, 3, 4).reshape(6, 9, 3)
    scipy.misc.toimage(tiles, cmin=tiles.min(), cmax=tiles.max()).save(os.path.join(args.out, 'filters.png'))
    filters = scipy.misc.imread(os.path.join(args.out, 'filters.png'))
    print('filters/height %d' % filters.shape[0])
    print('filters/width %d' % filters.shape[1])
    print('filters/max %d' % filters.max())
    large = imresize(filters, 4.0, interp='nearest')
    print('large/width %d' % large.shape[1])
    print('large/same %d' % (large[::4, ::4] == filters).all())
    gray = imread(os.path.join(args.out, '0_00.png'), flatten=True)
    print('gray/mean %.6g' % gray.mean())
    small = scipy.misc.imresize(gray, 0.5, mode='F')
    print('small/shape %d' % small.shape[0])
    print('bytescale %d' % scipy.misc.bytescale(np.linspace(0, 1, 5)).max())


if __name__ == '__main__':
    main()
