"""v1: neural style: a picture as L.Parameter is changed until its features and Gram matrices are those of two others.

Arguments: --iter 12
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np
import chainer
from chainer import cuda, Chain, Variable
import chainer.functions as F
import chainer.links as L
from chainer import optimizers


class VGG(Chain):
    """The first layers of a VGG-like network, average pooling as in the paper."""

    def __init__(self, alpha=[0, 0, 1], beta=[1, 1, 1]):
        super(VGG, self).__init__(
            conv1_1=F.Convolution2D(3, 6, 3, wscale=0.02, stride=1, pad=1),
            conv2_1=F.Convolution2D(6, 8, 3, wscale=0.02, stride=1, pad=1),
            conv3_1=F.Convolution2D(8, 8, 3, wscale=0.02, stride=1, pad=1),
        )
        self.alpha = alpha
        self.beta = beta

    def forward(self, x):
        y1 = self.conv1_1(x)
        x1 = F.average_pooling_2d(F.relu(y1), 2, stride=2)
        y2 = self.conv2_1(x1)
        x2 = F.average_pooling_2d(F.relu(y2), 2, stride=2, use_cudnn=False)
        y3 = self.conv3_1(x2)
        return [y1, x1, x2, y3][:3]


def get_matrix(y):
    ch = y.data.shape[1]
    wd = y.data.shape[2]
    gogh_y = F.reshape(y, (ch, wd ** 2))
    return F.matmul(gogh_y, gogh_y, transb=True) / np.float32(ch * wd ** 2)


class Clip(chainer.Function):
    def forward(self, x):
        x = x[0]
        ret = cuda.elementwise(
            'T x', 'T ret',
            'ret = x<-100?-100:(x>100?100:x)', 'clip')(x) if isinstance(x, cuda.ndarray) else np.clip(x, -100, 100)
        return ret,


def total_variation(x, xp):
    wh = Variable(xp.array([[[[1], [-1]], [[0], [0]], [[0], [0]]], [[[0], [0]], [[1], [-1]], [[0], [0]]],
                            [[[0], [0]], [[0], [0]], [[1], [-1]]]], dtype=np.float32), volatile='auto')
    ww = Variable(xp.swapaxes(wh.data, 2, 3), volatile='auto')
    return F.sum(F.convolution_2d(x, W=wh) ** 2) + F.sum(F.convolution_2d(x, W=ww, use_cudnn=False) ** 2)


def generate_image(nn, img_orig, img_style, args, xp):
    mid_orig = nn.forward(Variable(img_orig, volatile=True))
    style_mats = [get_matrix(y) for y in nn.forward(Variable(img_style, volatile=True))]

    img_gen = L.Parameter(xp.asarray(np.random.uniform(-20, 20, img_orig.shape).astype(np.float32)))
    optimizer = optimizers.Adam(alpha=args.lr)
    optimizer.setup(img_gen)
    for i in range(args.iter):
        img_gen.zerograds()
        x = img_gen.W
        y = nn.forward(x)
        L_sum = Variable(xp.zeros((), dtype=np.float32))
        for l in range(len(y)):
            gogh_prime = get_matrix(y[l])
            L1 = np.float32(args.lam) * np.float32(nn.alpha[l]) * F.mean_squared_error(
                y[l], Variable(mid_orig[l].data))
            L2 = np.float32(nn.beta[l]) * F.mean_squared_error(
                gogh_prime, Variable(style_mats[l].data)) / np.float32(len(y))
            L_sum += L1 + L2
        L_sum += args.tv * total_variation(x, xp)
        L_sum.backward()
        optimizer.update()
        tmp_shape = img_gen.W.data.shape
        # keep the values in the range of pictures
        img_gen.W.data = Clip()(img_gen.W).data.reshape(tmp_shape)
        if i % 4 == 3:
            print('iter%d/loss %.6g' % (i, L_sum.data))
            print('iter%d/grad %.6g' % (i, abs(img_gen.W.grad).max()))
    return img_gen.W


parser = argparse.ArgumentParser(description='A Neural Algorithm of Artistic Style')
parser.add_argument('--gpu', '-g', default=-1, type=int)
parser.add_argument('--iter', default=5000, type=int)
parser.add_argument('--lr', default=4.0, type=float)
parser.add_argument('--lam', default=0.005, type=float)
parser.add_argument('--tv', default=1e-5, type=float)
args = parser.parse_args()

xp = np
nn = VGG()
rng = np.random.RandomState(31)
for name, param in sorted(nn.namedparams()):
    param.data[...] = rng.normal(0, 0.15, param.data.shape)
if args.gpu >= 0:
    cuda.init(args.gpu)
    nn.to_gpu()
    xp = cuda.cupy
np.random.seed(0)
rows, columns = np.mgrid[0:16, 0:16]
content = np.array([rows * 10 - 80, columns * 8 - 60, (rows + columns) * 4 - 60])[np.newaxis]
style = np.array([((rows // k + columns // k) % 2) * 120 - 60 for k in (2, 3, 4)])[np.newaxis]
W = generate_image(nn, xp.asarray(content, dtype=np.float32), xp.asarray(style, dtype=np.float32), args, xp)
image = cuda.to_cpu(W.data)
print('image/mean %.6g' % image.mean())
print('image/std %.6g' % image.std())
