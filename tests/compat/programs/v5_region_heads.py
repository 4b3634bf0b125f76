"""v5: heads of region-based detectors: ROI pooling and alignment, spatial pyramids, boxes clipped and scored.

Arguments: --iteration 3
"""
import argparse

import numpy as np

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import Variable


class RegionHead(chainer.Chain):

    def __init__(self, n_class, roi_size, spatial_scale, align):
        super(RegionHead, self).__init__()
        self.roi_size, self.spatial_scale, self.align = roi_size, spatial_scale, align
        with self.init_scope():
            self.fc6 = L.Linear(None, 16)
            self.shift = L.Bias(1, (16,))
            self.cls_loc = L.Linear(16, n_class * 4, initialW=chainer.initializers.Normal(.01))
            self.score = L.Linear(16, n_class, initialW=chainer.initializers.Normal(.1))

    def __call__(self, x, rois, roi_indices):
        if self.align:
            pool = F.roi_average_align_2d(x, rois, roi_indices, self.roi_size, self.spatial_scale, 2)
        else:
            indices_and_rois = self.xp.concatenate((roi_indices.astype('f')[:, None], rois[:, [1, 0, 3, 2]]), axis=1)
            pool = F.roi_pooling_2d(x, indices_and_rois, self.roi_size, self.roi_size, self.spatial_scale)
        h = F.relu(self.shift(self.fc6(pool)))
        return self.cls_loc(h), self.score(h)


class Extractor(chainer.Chain):

    def __init__(self):
        super(Extractor, self).__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(3, 6, 3, stride=2, pad=1)
            self.conv2 = L.Convolution2D(6, 8, 3, stride=2, pad=1)
            self.gamma = chainer.Parameter(1., (8,))
            self.beta = chainer.Parameter(np.zeros(8, 'f'))
            self.up = chainer.Parameter(chainer.initializers.HeNormal(), (8, 8, 2, 2))

    def __call__(self, x):
        h = F.elu(self.conv2(F.relu(self.conv1(x))))
        h = F.bias(F.scale(h, self.gamma, axis=1), self.beta, axis=1)
        return F.deconvolution_2d(h, self.up, stride=2)


class Pyramid(chainer.Chain):

    def __init__(self, n_class):
        super(Pyramid, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(None, n_class)

    def __call__(self, h):
        return self.fc(F.spatial_pyramid_pooling_2d(h, 3, pooling='max'))


def decode(boxes, deltas, size):
    y, x = (boxes[:, 0] + boxes[:, 2]) / 2, (boxes[:, 1] + boxes[:, 3]) / 2
    h, w = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    cy, cx = deltas[:, 0] * h + y, deltas[:, 1] * w + x
    hh, ww = F.exp(deltas[:, 2]) * h / 2, F.exp(deltas[:, 3]) * w / 2
    corners = F.stack([cy - hh, cx - ww, cy + hh, cx + ww], axis=1)
    zero = np.zeros(corners.shape, 'f')
    return F.minimum(F.maximum(corners, zero), zero + size)


def overlap(a, b):
    tl, br = F.maximum(a[:, :2], b[:, :2]), F.minimum(a[:, 2:], b[:, 2:])
    wh = F.clip(br - tl, 0., 1e3)
    inter = wh[:, 0] * wh[:, 1]
    area = lambda box: (box[:, 2] - box[:, 0]) * (box[:, 3] - box[:, 1])  # NOQA
    return inter / (area(a) + area(b) - inter + 1e-6)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--iteration', type=int, default=50)
    args = parser.parse_args()
    rng = np.random.RandomState(9)
    images = rng.uniform(0, 1, (2, 3, 24, 24)).astype('f')
    rois = np.array([[2, 2, 14, 12], [5, 8, 20, 22], [0, 0, 23, 23]], dtype=np.float32)
    indices = np.array([0, 1, 1], dtype=np.int32)
    labels = np.array([1, 2, 0], dtype=np.int32)
    truth = np.array([[3, 3, 13, 13], [6, 7, 21, 20], [0, 0, 24, 24]], dtype=np.float32)

    for align in (False, True):
        tag = 'align' if align else 'pool'
        np.random.seed(0)
        model = chainer.Chain(extractor=Extractor(), head=RegionHead(3, 3, .5, align))
        model.add_link('pyramid', Pyramid(2))
        optimizer = chainer.optimizers.MomentumSGD(lr=.01)
        h = model.extractor(images)
        model.head(h, rois, indices)
        model.pyramid(h)
        optimizer.setup(model)
        for i in range(args.iteration):
            h = model.extractor(Variable(images))
            cls_loc, score = model.head(h, rois, indices)
            loc = F.get_item(F.reshape(cls_loc, (len(rois), -1, 4)), (np.arange(3), labels))
            boxes = decode(rois, loc, 24.)
            loss_loc = F.sum(F.huber_loss(boxes / 24., truth / 24., 1.)) - F.average(overlap(boxes, truth))
            loss_image = F.softmax_cross_entropy(model.pyramid(h), np.array([0, 1], 'i'))
            loss = F.softmax_cross_entropy(score, labels) + loss_loc + loss_image
            model.cleargrads()
            loss.backward()
            optimizer.update()
            print('%s/loss@%d %.5g' % (tag, i, float(loss.data)))
        print('%s/overlap %.4g' % (tag, float(F.average(overlap(boxes, truth)).data)))
        print('%s/smallest %.4g' % (tag, float(F.min(boxes).data)))
        print('%s/prob %.4g' % (tag, float(F.softmax(score).data[0, 1])))


if __name__ == '__main__':
    main()
