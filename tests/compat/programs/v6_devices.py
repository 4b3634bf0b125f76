"""v6: code for several devices that runs without a GPU: device objects, queries, settings, a cached table of weights.

Arguments: --device @numpy --gpu -1 --out result
"""
import argparse

import numpy

import chainer
from chainer import backend
from chainer import cuda
from chainer.backends import cuda as backends_cuda
import chainer.functions as F
import chainer.links as L

if cuda.available:
    from chainer.cuda import cupy
    xp = cuda.cupy
else:
    xp = numpy


class GpuTimer(object):

    """Measures with events on a stream, where there is a GPU."""

    def __init__(self):
        self.enabled = backends_cuda.available
        self.marks = 0

    def __enter__(self):
        if self.enabled:
            self.stream = cuda.Stream(non_blocking=True)
            self.start, self.end = cuda.Event(), cuda.Event()
            self.start.record(self.stream)
        self.marks += 1
        return self

    def __exit__(self, *unused):
        if self.enabled:
            self.end.record(self.stream)
            self.end.synchronize()
        self.marks += 1


class Table(chainer.Link):

    """An embedding that stays on the CPU."""

    def __init__(self, n, m):
        super(Table, self).__init__()
        with self.init_scope():
            self.W = chainer.Parameter(chainer.initializers.Normal(1.), (n, m))

    def to_gpu(self, device=None):
        with backends_cuda.get_device(device):
            pass
        self._device_id = device
        return self

    def forward(self, ids):
        return F.embed_id(ids, self.W)


class Model(chainer.Chain):

    def __init__(self):
        super(Model, self).__init__()
        with self.init_scope():
            self.table = Table(6, 4)
            self.fc = L.Linear(4, 3)

    def forward(self, ids, t):
        return F.softmax_cross_entropy(self.fc(self.table(ids)), t)


def place(array, gpu):
    if gpu >= 0:
        return backends_cuda.to_gpu(array, device=cuda.Device(gpu))
    return backends_cuda.to_cpu(array)


def module_of(x):
    if isinstance(x, cuda.ndarray) or isinstance(x, backends_cuda.ndarray):
        return backends_cuda.cupy
    return backend.get_array_module(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--device', '-d', type=str, default='-1')
    parser.add_argument('--gpu', '-g', dest='gpu', type=int, default=-1)
    parser.add_argument('--out', default='result')
    args = parser.parse_args()

    device = chainer.get_device(args.device)
    print('numpy_device %d' % (device.xp is numpy))
    print('cudnn %d' % (cuda.available and cuda.cudnn_enabled))
    print('cudnn_too %d' % (backends_cuda.available and backends_cuda.cudnn_enabled))
    print('use_cudnn %d' % bool(chainer.should_use_cudnn('==always', 5000)))
    device.use()
    chainer.config.use_cudnn = 'auto'
    chainer.config.autotune = False
    chainer.config.cudnn_deterministic = True
    chainer.global_config.cudnn_deterministic = True
    chainer.config.type_check = True
    print('dtype_float32 %d' % (chainer.config.dtype == numpy.float32))

    numpy.random.seed(0)
    model = Model()
    with chainer.using_device(device):
        model.to_device(device)
    if args.gpu >= 0:
        backends_cuda.get_device_from_id(args.gpu).use()
        model.to_gpu()
    print('same_device %d' % (model.device == device))
    print('device_id_is_none %d' % (model.table._device_id is None))
    optimizer = chainer.optimizers.SGD(lr=.5)
    optimizer.setup(model)
    ids = place(numpy.array([0, 1, 2, 3, 4, 5], dtype='i'), args.gpu)
    t = device.send(numpy.array([0, 1, 2, 0, 1, 2], dtype='i'))
    timer = GpuTimer()
    for i in range(4):
        with timer, backends_cuda.get_device_from_array(ids):
            loss = model(ids, t)
            model.cleargrads()
            loss.backward()
            optimizer.update()
        print('loss@%d %.5g' % (i, float(loss.array)))
    print('marks %d' % timer.marks)
    print('module %d' % (module_of(loss.array) is xp))
    print('types %d' % (numpy.ndarray in chainer.get_array_types()))
    loss.to_cpu()
    model.to_cpu()
    print('cpu %d' % isinstance(model.fc.W.array, numpy.ndarray))
    major = int(chainer.__version__.split('.')[0])
    print('since_v2 %d' % (major >= 2))
    with chainer.using_config('dtype', numpy.float64), chainer.using_config('use_cudnn', 'never'):
        print('itemsize %d' % L.Linear(2, 2).W.dtype.itemsize)
    if cuda.available:
        print('current %d' % int(cuda.Device()))
    try:
        cuda.check_cuda_available()
    except RuntimeError:
        print('no_gpu 1')


if __name__ == '__main__':
    main()
