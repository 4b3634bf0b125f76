"""v5: the unit tests of a small function and link, with the tools of chainer.testing."""
import sys
import unittest

import numpy

import chainer
from chainer.backends import cuda
import chainer.functions as F
from chainer import functions
from chainer import gradient_check
import chainer.links as L
from chainer import testing
from chainer.testing import attr
from chainer.testing import condition
from chainer.utils import type_check


def relative_error(x, y, eps=1e-2):
    return F.absolute(x - y) / (F.maximum(F.absolute(x), F.absolute(y)) + eps)


@testing.parameterize(*testing.product({
    'shape': [(4, 3), (2, 3, 4)],
    'dtype': [numpy.float32, numpy.float64],
    'eps': [1e-2, 1.],
}))
class TestRelativeError(unittest.TestCase):

    def setUp(self):
        self.x = numpy.random.uniform(1, 2, self.shape).astype(self.dtype)
        self.y = numpy.random.uniform(-2, -1, self.shape).astype(self.dtype)
        self.gy = numpy.random.uniform(-1, 1, self.shape).astype(self.dtype)

    def check_forward(self, x_data, y_data):
        z = relative_error(chainer.Variable(x_data), chainer.Variable(y_data), self.eps)
        self.assertEqual(z.dtype, self.dtype)
        expect = numpy.abs(self.x - self.y) / (numpy.maximum(self.x, -self.y) + self.eps)
        testing.assert_allclose(expect, z.data, atol=1e-5, rtol=1e-5)

    @condition.retry(3)
    def test_forward_cpu(self):
        self.check_forward(self.x, self.y)

    @attr.gpu
    def test_forward_gpu(self):
        self.check_forward(cuda.to_gpu(self.x), cuda.to_gpu(self.y))

    def check_backward(self, x_data, y_data, gy):
        gradient_check.check_backward(
            lambda x, y: relative_error(x, y, self.eps), (x_data, y_data), gy, eps=1e-3, dtype=numpy.float64,
            atol=1e-3, rtol=1e-3)

    @condition.retry(3)
    def test_backward_cpu(self):
        self.check_backward(self.x, self.y, self.gy)


@testing.parameterize(
    {'in_shape': (3,), 'normalize': False},
    {'in_shape': (3, 2, 2), 'normalize': True},
)
class TestLink(unittest.TestCase):

    def setUp(self):
        self.link = L.Linear(int(numpy.prod(self.in_shape)), 2)
        self.link.cleargrads()
        self.x = numpy.random.uniform(-1, 1, (4,) + self.in_shape).astype(numpy.float32)

    def test_forward(self):
        y = self.link(chainer.Variable(self.x))
        if self.normalize:
            y = functions.normalize(y)
            testing.assert_allclose(numpy.linalg.norm(y.data, axis=1), 1, atol=1e-3)
        self.assertEqual(y.shape, (4, 2))

    @attr.slow
    def test_params(self):
        gradient_check.check_backward(
            self.link, self.x, numpy.ones((4, 2), 'f'), params=(self.link.W, self.link.b), eps=1e-2, atol=1e-2)

    def test_invalid(self):
        with self.assertRaises(type_check.InvalidType):
            self.link(chainer.Variable(self.x.astype(numpy.int32)))


class TestDebug(unittest.TestCase):

    def setUp(self):
        self.original_debug = chainer.is_debug()
        chainer.set_debug(True)

    def tearDown(self):
        chainer.set_debug(self.original_debug)

    def test_nan_in_backward(self):
        x = chainer.Variable(numpy.zeros((1,), 'f'))
        with numpy.errstate(all='ignore'):
            y = F.sqrt(x) * numpy.float32(numpy.nan)
            with self.assertRaises(RuntimeError):
                y.backward()
                F.log(x - 1)

    @testing.with_requires('numpy>=1.0')
    def test_trainer(self):
        trainer = testing.get_trainer_with_mock_updater((6, 'iteration'), iter_per_epoch=3)
        calls = []
        trainer.extend(lambda t: calls.append(t.updater.iteration), trigger=(1, 'epoch'), name='calls')
        trainer.run()
        self.assertEqual(calls, [3, 6])

    @testing.with_requires('numpy>=1000')
    def test_with_later_numpy(self):
        self.fail()


def main():
    numpy.random.seed(0)
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    suite = unittest.TestSuite(t for t in flatten(suite) if 'gpu' not in t.id())
    result = unittest.TextTestRunner().run(suite)
    print('run %d' % result.testsRun)
    print('failures %d' % len(result.failures + result.errors))
    print('skipped %d' % len(result.skipped))


def flatten(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            for inner in flatten(test):
                yield inner
        else:
            yield test


if '--pytest' in sys.argv:
    testing.run_module(__name__, __file__)
elif __name__ == '__main__':
    main()
