"""Saved arrays that are modified before backward: what is detected, and which programs must go on working."""

import gc
import sys
import warnings
import weakref

import numpy as np
import pytest

import minichainer as chainer
import minichainer.functions as F
import minichainer.links as L
from minichainer import _inplace, autograd, optimizers
from minichainer.errors import InplaceError, InplaceWarning
from minichainer.gradient_check import numerical_grad


def leaf(*shape, seed=0):
    return chainer.Variable(np.random.RandomState(seed).uniform(0.5, 1.5, shape))


def intermediate(*shape):
    return leaf(*shape) * 1.0


class Square(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, gradients):
        (x,) = self.get_retained_inputs()
        return (2 * x * gradients[0],)


class OldSquare(chainer.Function):
    def forward(self, inputs):
        return (inputs[0] ** 2,)

    def backward(self, inputs, gradients):
        return (2 * inputs[0] * gradients[0],)


class StaticSquare(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


def forget_square(x):
    return F.forget(lambda v: v * v, x)


#: Functions that save their argument.
SQUARES = {
    'x * x': lambda x: x * x,
    'FunctionNode': lambda x: Square().apply((x,))[0],
    'Function': lambda x: OldSquare()(x),
    'autograd.Function': StaticSquare.apply,
    'several arguments': lambda x: F.einsum('i,i,i->i', x, x, F.reshape(x, x.shape)),
    'forget': forget_square,
}
WRITES = {
    'all': lambda v: v.array.fill(0),
    'augmented': lambda v: setattr(v, 'array', np.multiply(v.array, 2, out=v.array)),
    'one element': lambda v: v.array.__setitem__(1, 7.0),
    'out=': lambda v: np.exp(v.array, out=v.array),
    'data': lambda v: v.data.__iadd__(1.0),
    'detached': lambda v: v.detach().array.fill(0),
    'numpy.from_dlpack': lambda v: memoryview(v.array).cast('B').__setitem__(7, 0),
}


# --- what is detected ------------------------------------------------------------------------------------------
@pytest.mark.parametrize('make', [leaf, intermediate])
@pytest.mark.parametrize('write', WRITES)
@pytest.mark.parametrize('square', SQUARES)
def test_writes_through_a_variable_are_detected(make, write, square):
    x = make(4)
    y = F.sum(SQUARES[square](x))
    WRITES[write](x)
    with pytest.warns(InplaceWarning, match=r'float64 \(4,\), was modified in place after'):
        y.backward()


@pytest.mark.parametrize('make', [leaf, intermediate])
def test_writes_through_an_array_that_was_read_before_are_detected(make):
    x = make(4)
    array = x.array
    y = F.sum(x * x)
    array[2] = 5
    with pytest.warns(InplaceWarning):
        y.backward()


def test_results_and_views_of_them_count():
    for view in (lambda y: y, lambda y: F.reshape(y, (2, 2)), lambda y: y[1:], lambda y: y.T):
        y = F.exp(intermediate(4))
        z = F.sum(y)
        view(y).array[...] = 0
        with pytest.warns(InplaceWarning, match='the result'):
            z.backward()


@pytest.mark.parametrize(
    'write',
    [
        lambda link: link.W.copydata(chainer.Parameter(0.0, (2, 3))),
        lambda link: link.copyparams(L.Linear(3, 2)),
        lambda link: setattr(link.W, 'grad', np.ones((2, 3), 'f')) or link.W.update(),
        lambda link: link.W.array.fill(0),
    ],
    ids=['copydata', 'copyparams', 'update', 'array'],
)
def test_writes_to_parameters_are_detected(write):
    link = L.Linear(3, 2)
    optimizers.SGD().setup(link)
    y = F.sum(link(leaf(5, 3).array.astype('f')) * 1.0)
    z = F.sum(link(F.cast(intermediate(5, 3), 'float32')))
    write(link)
    with pytest.warns(InplaceWarning, match='argument W'):
        z.backward()
    y.unchain_backward()


@pytest.mark.parametrize('optimizer', [optimizers.SGD, optimizers.Adam, optimizers.RMSpropGraves])
@pytest.mark.parametrize('whole', [True, False])
def test_updates_by_an_optimizer_are_detected(optimizer, whole):
    link = L.Linear(3, 2)
    rule = optimizer().setup(link)
    y = F.sum(link(F.cast(intermediate(5, 3), 'float32')))
    y.backward()
    rule.update() if whole else [p.update() for p in link.params()]
    with pytest.warns(InplaceWarning, match='by an optimizer'):
        y.backward()


CELLS = {
    'lstm': (F.lstm, 1, 8),
    'slstm': (lambda *xs: F.slstm(*xs[:2], xs[2], xs[2]), 2, 8),
    'tree_lstm': (F.tree_lstm, 3, 12),
}


@pytest.mark.parametrize('mode', ['warn', 'error'])
@pytest.mark.parametrize('make', [leaf, intermediate])
@pytest.mark.parametrize('name', CELLS)
def test_writes_to_previous_cells_are_detected(name, make, mode):
    """Backward takes them from what the kernel has kept, beside the gates."""
    function, cells, width = CELLS[name]
    for k in range(cells):
        inputs = [*[make(1, 2) for _ in range(cells)], make(1, width)]
        with chainer.using_config('check_inplace', mode):
            c, h = function(*inputs)
            inputs[k].array[...] = -3
            text = f'{c.creator.label}: argument .*, float64 \\(1, 2\\), was modified'
            catch, kind = (pytest.raises, InplaceError) if mode == 'error' else (pytest.warns, InplaceWarning)
            with catch(kind, match=text):
                F.sum(h).backward()


def windows(t):
    return [t[i : i + 1] for i in range(3)]


#: The first eight keep their labels; of the others backward needs what the forward pass has made of them.
LABELS = {
    'mean': lambda x, t: F.softmax_cross_entropy(x, t),
    "reduce='no'": lambda x, t: F.sum(F.softmax_cross_entropy(x, t, reduce='no')),
    'double backprop': lambda x, t: F.softmax_cross_entropy(x, t, enable_double_backprop=True),
    'no ignored label': lambda x, t: F.softmax_cross_entropy(x, t, ignore_label=None),
    'class weights': lambda x, t: F.softmax_cross_entropy(x, t, class_weight=np.array([1.0, 2, 3])),
    'crf1d': lambda x, t: F.crf1d(x, windows(x), windows(t)),
    'embed_id': lambda x, t: F.sum(F.embed_id(t, x) ** 2),
    'get_item': lambda x, t: F.sum(x[t] ** 2),
    'sigmoid_cross_entropy': lambda x, t: F.sigmoid_cross_entropy(x[:, 0], t),
    'hinge': lambda x, t: F.hinge(x, t),
    'select_item': lambda x, t: F.sum(F.select_item(x, t) ** 2),
    'contrastive': lambda x, t: F.contrastive(x, x + 1, (t > 0).astype('i')),
    'negative_sampling': lambda x, t: F.negative_sampling(x, t, x, lambda shape: np.ones(shape, 'i'), 2),
    'black_out': lambda x, t: F.black_out(x, t, x, np.array([[2], [0], [1]])),
    'ctc': lambda x, t: F.connectionist_temporal_classification([x] * 7, t[:, None], 2, reduce='no'),
}


@pytest.mark.parametrize('name', LABELS)
def test_writes_to_labels_are_errors_or_do_not_matter(name):
    def gradient(changes):
        x, t = leaf(3, 3), np.array([0, 1, 1], 'i')
        y = F.sum(LABELS[name](x, t))
        if changes:
            t[...] = [1, 0, 0]
        y.backward()
        return x.grad

    with chainer.using_config('check_inplace', 'error'):
        expected = gradient(False)
        if name in list(LABELS)[:8]:
            with pytest.raises(InplaceError, match=r'int\d+ \(.*\), was modified in place'):
                gradient(True)
        else:
            np.testing.assert_array_equal(gradient(True), expected)


def test_a_large_array_is_compared_at_some_elements_by_default_and_in_full_on_request():
    for mode, expected in (('warn', 0), ('error', 1)):
        with chainer.using_config('check_inplace', mode):
            x = intermediate(100, 100)
            y = F.sum(x * x)
            x.array[17, 23] += 1  # not among those that are compared
            errors = 0
            try:
                y.backward()
            except InplaceError:
                errors = 1
            assert errors == expected
    x = intermediate(100, 100)
    y = F.sum(x * x)
    x.array[...] *= 2
    with pytest.warns(InplaceWarning):
        y.backward()


def test_an_array_that_a_variable_was_made_from_counts_on_request_only():
    for mode in ('warn', 'error'):
        array = np.ones(3)
        with chainer.using_config('check_inplace', mode):
            y = F.sum(chainer.Variable(array) ** 2.5)
            array[0] = 3
            if mode == 'warn':
                y.backward()
                continue
            with pytest.raises(InplaceError):
                y.backward()


def test_the_message_names_op_array_shape_and_line():
    x = leaf(3)
    x.array  # noqa: B018
    y = F.sum(F.sin(x))
    x.array[...] = 0
    with pytest.warns(InplaceWarning) as caught:
        y.backward()
    (warning,) = caught
    text = str(warning.message)
    for part in ('sin', 'argument x', 'float64 (3,)', 'test_inplace.py', 'test_the_message', 'x = x + 1'):
        assert part in text
    assert warning.filename == __file__


# --- what follows ----------------------------------------------------------------------------------------------
def modified():
    x = intermediate(3)
    y = F.sum(x * x)
    x.array[...] = 2
    return x, y


def test_modes():
    with chainer.using_config('check_inplace', 'off'), warnings.catch_warnings():
        warnings.simplefilter('error')
        modified()[1].backward()
    with chainer.using_config('check_inplace', 'error'), pytest.raises(InplaceError, match='modified in place'):
        modified()[1].backward()
    with chainer.using_config('debug', True), pytest.raises(InplaceError):
        modified()[1].backward()
    x, y = modified()
    for call in (lambda: autograd.backward(y), lambda: autograd.grad(y, x)):
        with pytest.raises(RuntimeError, match='modified in place'):
            call()
    with pytest.warns(InplaceWarning):
        chainer.grad([y], [x])


def test_an_error_leaves_gradients_as_they_were():
    x = leaf(3)
    h = x * 1.0
    y = F.sum(h * h)
    h.array[...] = 2
    x.grad = np.ones(3)
    with pytest.raises(InplaceError):
        autograd.backward(y)
    np.testing.assert_array_equal(x.grad, np.ones(3))


def test_a_program_that_repeats_it_is_warned_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('default')
        for _ in range(3):
            modified()[1].backward()
    assert len(caught) == 1


def test_only_what_the_pass_reads_counts():
    x, w = leaf(2, 4), intermediate(3, 4)
    y = F.sum(F.linear(x, w))
    w.array[...] = 0  # needed for the gradient of x
    with pytest.warns(InplaceWarning, match='argument W'):
        y.backward()
    x.requires_grad_(False)
    y.backward()  # only w needs a gradient, which reads x


def test_arrays_that_are_restored_are_no_fault():
    x = intermediate(3)
    y = F.sum(x * x)
    x.array[1] += 1
    x.array[1] -= 1
    before = x.array.copy()
    y.backward()
    np.testing.assert_array_equal(x.array, before)


def test_reading_is_no_fault_and_costs_no_memory():
    from minichainer._inplace import exposed

    x = leaf(3)
    h = x * 2.0
    assert h.array.sum() > 0
    y = F.sum(F.exp(h) * h)
    y.backward()
    reference = weakref.ref(h.array)
    gc.disable()
    try:
        size = len(exposed)
        del h, y
        assert reference() is None
        assert len(exposed) < size
    finally:
        gc.enable()


def test_nan_is_equal_to_itself():
    x = chainer.Variable(np.array([np.nan, 1.0]))
    x.array  # noqa: B018
    F.sum(x * x).backward()


# --- programs of Chainer's users -------------------------------------------------------------------------------
@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        yield


def test_gan_that_updates_the_discriminator_first():
    """The generator's loss goes through the old graph of D: one warning, and the gradients of the new parameters."""
    rng = np.random.RandomState(0)
    generator, discriminator = L.Linear(3, 4), L.Linear(4, 1)
    rules = [optimizers.SGD().setup(link) for link in (generator, discriminator)]
    z = rng.randn(5, 3).astype('f')
    fake = generator(z)
    score = discriminator(fake)
    rules[1].update(lambda: F.sum(F.softplus(score)) + F.sum(F.softplus(-discriminator(rng.randn(5, 4).astype('f')))))
    with pytest.warns(InplaceWarning, match='LinearFunction: argument W'):
        rules[0].update(lambda: F.sum(F.softplus(-score)))
    slope = -1 / (1 + np.exp(score.array))
    expected = z.T @ (slope * discriminator.W.array)
    np.testing.assert_allclose(generator.W.grad, expected.T, rtol=1e-5)


@pytest.mark.usefixtures('silent')
def test_sgd_by_hand_on_arrays():
    link, x = L.Linear(3, 2), np.ones((4, 3), 'f')
    losses = []
    for _ in range(4):
        link.cleargrads()
        loss = F.sum(link(x) ** 2)
        loss.backward()
        for parameter in link.params():
            parameter.array -= 0.01 * parameter.grad
        losses.append(float(loss.array))
    assert losses == sorted(losses, reverse=True)


@pytest.mark.usefixtures('silent')
def test_weight_clipping():
    link, x = L.Linear(3, 2), np.ones((4, 3), 'f')
    rule = optimizers.SGD().setup(link)
    for _ in range(3):
        rule.update(lambda: F.sum(link(x)))
        for parameter in link.params():
            np.clip(parameter.array, -0.01, 0.01, out=parameter.array)
    assert abs(link.W.array).max() <= 0.01


@pytest.mark.usefixtures('silent')
def test_numerical_gradients():
    x = leaf(3)
    y = F.sum(F.exp(x) * x)
    (numerical,) = numerical_grad(lambda: (F.sum(F.exp(x) * x).array,), (x.array,), (np.array(1.0),))
    y.backward()
    np.testing.assert_allclose(x.grad, numerical, rtol=1e-4)


@pytest.mark.usefixtures('silent')
def test_users_arrays_stay_writable():
    x = leaf(3)
    y = F.exp(x * 1.0)
    F.sum(y).backward()
    assert x.array.flags.writeable and y.array.flags.writeable and x.grad.flags.writeable


def test_arrays_may_be_freed_after_the_interpreter_has_cleared_the_module(monkeypatch):
    tables = _inplace.exposed, _inplace._read
    sizes = [len(table) for table in tables]
    leaf = chainer.Variable(np.ones(3))
    y = F.exp(leaf)
    kept = [y.array, y[1:].array, leaf.array, leaf, y]
    assert all(len(table) > size for table, size in zip(tables, sizes, strict=True))
    ignored = []
    monkeypatch.setattr(sys, 'unraisablehook', ignored.append)
    with monkeypatch.context() as cleared:
        cleared.setattr(_inplace, 'exposed', None)
        cleared.setattr(_inplace, '_read', None)
        del leaf, y, kept
    assert not ignored
    assert [len(table) for table in tables] == sizes
