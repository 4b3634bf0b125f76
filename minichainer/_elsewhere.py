"""Names of torch, Keras and NumPy that do not exist here, and what to write instead."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

#: A use of a name, and what does the same here. Before the dot: the package, or an object of it.
ROWS = """
chainer.no_grad() | with chainer.no_backprop_mode():
chainer.enable_grad() | with chainer.force_backprop_mode():
chainer.set_grad_enabled(flag) | with chainer.using_config('enable_backprop', flag):
chainer.inference_mode() | with chainer.no_backprop_mode():
chainer.tensor(a) | chainer.Variable(a)
chainer.Tensor(a) | chainer.Variable(a)
chainer.from_numpy(a) | chainer.Variable(a)
chainer.as_tensor(a) | chainer.as_variable(a)
chainer.zeros(shape) | numpy.zeros(shape, numpy.float32)
chainer.ones(shape) | numpy.ones(shape, numpy.float32)
chainer.randn(2, 3) | numpy.random.normal(size=(2, 3)).astype(numpy.float32)
chainer.rand(2, 3) | numpy.random.uniform(size=(2, 3)).astype(numpy.float32)
chainer.arange(3) | numpy.arange(3)
chainer.cat([x, y], 1) | F.concat([x, y], 1)
chainer.stack([x, y], 1) | F.stack([x, y], 1)
chainer.relu(x) | F.relu(x)
chainer.sigmoid(x) | F.sigmoid(x)
chainer.tanh(x) | F.tanh(x)
chainer.exp(x) | F.exp(x)
chainer.sum(x) | F.sum(x)
chainer.mean(x) | F.mean(x)
chainer.matmul(x, y.T) | F.matmul(x, y.T)
chainer.manual_seed(seed) | numpy.random.seed(seed)
chainer.device('cpu') | chainer.get_device('@numpy')
chainer.save(model, path) | chainer.serializers.save_npz(path, model)
chainer.load(path) | chainer.serializers.load_npz(path, model)
chainer.nn | chainer.links
chainer.layers | chainer.links
chainer.optim | chainer.optimizers
chainer.Module | chainer.Chain
chainer.Model | chainer.Chain
chainer.float32 | numpy.float32
chainer.float64 | numpy.float64
chainer.int64 | numpy.int64
chainer.DataLoader(data, 2) | chainer.iterators.SerialIterator(data, 2)
datasets.DataLoader(data, 2) | chainer.iterators.SerialIterator(data, 2)
datasets.TensorDataset(a, a) | chainer.datasets.TupleDataset(a, a)
datasets.random_split(data, [3, 1]) | chainer.datasets.split_dataset_random(data, 3)
iterators.DataLoader(data, 2) | chainer.iterators.SerialIterator(data, 2)
F.mse_loss(x, y) | F.mean_squared_error(x, y)
F.l1_loss(x, y) | F.mean_absolute_error(x, y)
F.smooth_l1_loss(x, y) | F.mean(F.huber_loss(x, y, 1.0, reduce='no'))
F.cross_entropy(x, t) | F.softmax_cross_entropy(x, t)
F.nll_loss(x, t) | -F.mean(F.select_item(x, t))
F.binary_cross_entropy_with_logits(x, p) | F.mean(F.bernoulli_nll(p, x, 'no'))
F.binary_cross_entropy(p, q) | -F.mean(q * F.log(p) + (1 - q) * F.log(1 - p))
F.kl_div(x, p) | F.mean(p * (F.log(p) - x))
F.cosine_similarity(x, y) | F.sum(F.normalize(x) * F.normalize(y), axis=1)
F.logsigmoid(x) | -F.softplus(-x)
F.hardtanh(x) | F.clip(x, -1.0, 1.0)
F.hardsigmoid(x) | F.hard_sigmoid(x)
F.threshold(x, 0.5, 0.0) | F.where(x.array > 0.5, x, numpy.zeros_like(x.array))
F.one_hot(t, 3) | numpy.eye(3, dtype=numpy.float32)[t]
F.embedding(t, W) | F.embed_id(t, W)
F.conv1d(signals, kernel) | F.convolution_1d(signals, kernel)
F.conv2d(images, filters) | F.convolution_2d(images, filters)
F.conv_transpose2d(images, filters) | F.deconvolution_2d(images, filters)
F.max_pool1d(signals, 2) | F.max_pooling_1d(signals, 2, cover_all=False)
F.max_pool2d(images, 2) | F.max_pooling_2d(images, 2, cover_all=False)
F.avg_pool1d(signals, 2) | F.average_pooling_1d(signals, 2)
F.avg_pool2d(images, 2) | F.average_pooling_2d(images, 2)
F.adaptive_avg_pool2d(images, 1) | F.adaptive_average_pooling_2d(images, 1)
F.batch_norm(x) | F.batch_normalization(x, gamma, beta)
F.layer_norm(x) | F.layer_normalization(x, gamma, beta)
F.interpolate(images, (8, 8)) | F.resize_images(images, (8, 8))
F.unfold(images, 2) | F.im2col(images, 2)
F.cat([x, y], 1) | F.concat([x, y], 1)
F.concatenate([x, y], 1) | F.concat([x, y], 1)
F.split(x, 3, 1) | F.split_axis(x, 3, 1)
F.chunk(x, 3, 1) | F.split_axis(x, 3, 1)
F.gather(x, t) | F.select_item(x, t)
F.view(x, (3, 4)) | F.reshape(x, (3, 4))
F.permute(x, (1, 0)) | F.transpose(x, (1, 0))
F.unsqueeze(x, 0) | F.expand_dims(x, 0)
F.mm(x, y.T) | F.matmul(x, y.T)
F.bmm(signals, signals.transpose(0, 2, 1)) | F.matmul(signals, signals.transpose(0, 2, 1))
F.dot(x, y.T) | F.matmul(x, y.T)
F.abs(x) | F.absolute(x)
F.pow(x, 2) | x ** 2
F.power(x, 2) | x ** 2
F.clamp(x, 0.0, 1.0) | F.clip(x, 0.0, 1.0)
F.var(x) | F.mean((x - F.mean(x)) ** 2)
F.std(x) | F.sqrt(F.mean((x - F.mean(x)) ** 2))
F.masked_fill(x, mask, 0.0) | F.where(mask, numpy.zeros_like(x.array), x)
L.Conv1d(3, 4, 3) | L.Convolution1D(3, 4, 3)
L.Conv2d(3, 4, 3) | L.Convolution2D(3, 4, 3)
L.Conv3d(3, 4, 3) | L.Convolution3D(3, 4, 3)
L.ConvTranspose2d(3, 4, 3) | L.Deconvolution2D(3, 4, 3)
L.Conv1D(4, 3) | L.Convolution1D(None, 4, 3)
L.Conv2D(4, 3) | L.Convolution2D(None, 4, 3)
L.Conv2DTranspose(4, 3) | L.Deconvolution2D(None, 4, 3)
L.Dense(4) | L.Linear(None, 4)
L.LazyLinear(4) | L.Linear(None, 4)
L.Embedding(3, 4) | L.EmbedID(3, 4)
L.BatchNorm1d(3) | L.BatchNormalization(3)
L.BatchNorm2d(3) | L.BatchNormalization(3)
L.LayerNorm(3) | L.LayerNormalization(3)
L.GroupNorm(2, 4) | L.GroupNormalization(2)
L.InstanceNorm2d(3) | L.InstanceNormalization(3)
L.RMSNorm(3) | L.RMSNormalization(3)
L.MultiheadAttention(4, 2) | L.MultiHeadAttention(4, 2)
L.LSTMCell(3, 4) | L.StatelessLSTM(3, 4)
L.GRUCell(3, 4) | L.StatelessGRU(3, 4)
L.Dropout(0.5) | lambda x: F.dropout(x, 0.5)
L.Flatten() | lambda x: F.reshape(x, (len(x), -1))
L.MaxPool2d(2) | lambda x: F.max_pooling_2d(x, 2, cover_all=False)
L.AvgPool2d(2) | lambda x: F.average_pooling_2d(x, 2)
L.MaxPooling2D(2) | lambda x: F.max_pooling_2d(x, 2, cover_all=False)
L.ReLU() | F.relu
L.Sigmoid() | F.sigmoid
L.Tanh() | F.tanh
L.Softmax() | F.softmax
L.GELU() | F.gelu
L.SiLU() | F.silu
L.ELU() | F.elu
L.LeakyReLU(0.1) | lambda x: F.leaky_relu(x, 0.1)
L.Activation('relu') | F.relu
L.Sequential(F.relu) | chainer.Sequential(F.relu)
L.Module | chainer.Chain
L.ModuleList([model]) | chainer.ChainList(*[model])
L.CrossEntropyLoss() | F.softmax_cross_entropy
L.MSELoss() | F.mean_squared_error
L.L1Loss() | F.mean_absolute_error
L.BCEWithLogitsLoss() | F.sigmoid_cross_entropy
optimizers.Adagrad() | chainer.optimizers.AdaGrad()
optimizers.Adadelta() | chainer.optimizers.AdaDelta()
optimizers.lr_scheduler | chainer.training.extensions
optimizers.LBFGS() | chainer.optimizers.Adam()
initializers.Xavier() | chainer.initializers.GlorotUniform()
initializers.XavierUniform() | chainer.initializers.GlorotUniform()
initializers.XavierNormal() | chainer.initializers.GlorotNormal()
initializers.KaimingNormal() | chainer.initializers.HeNormal()
initializers.KaimingUniform() | chainer.initializers.HeUniform()
initializers.RandomNormal(0.05) | chainer.initializers.Normal(0.05)
initializers.RandomUniform(0.05) | chainer.initializers.Uniform(0.05)
initializers.Zeros() | chainer.initializers.Zero()
initializers.Ones() | chainer.initializers.One()
model.parameters() | model.params()
model.named_parameters() | model.namedparams()
model.modules() | model.links()
model.named_modules() | model.namedlinks()
model.layers | model.children()
model.weight | model.W
model.bias | model.b
model.running_mean | model.avg_mean
model.running_var | model.avg_var
model.state_dict() | chainer.serializers.save_npz(path, model)
model.load_state_dict(state) | chainer.serializers.load_npz(path, model)
model.save(path) | chainer.serializers.save_npz(path, model)
model.save_weights(path) | chainer.serializers.save_npz(path, model)
model.load_weights(path) | chainer.serializers.load_npz(path, model)
model.get_weights() | [param.array for param in model.params()]
model.trainable_weights | list(model.params())
model.eval() | with chainer.using_config('train', False):
model.train() | with chainer.using_config('train', True):
model.zero_grad() | model.cleargrads()
model.requires_grad_(False) | model.disable_update()
model.to(device) | model.to_device(device)
model.cuda() | model.to_device('@cupy:0')
model.cpu() | model.to_device('@numpy')
model.register_buffer('n', 0) | model.add_persistent('n', 0)
model.add_module('l', link) | model.add_link('l', link)
model.register_forward_hook(hook) | model.add_hook(hook)
model.compile(optimizer) | optimizer.setup(model)
model.predict(x) | with chainer.using_config('train', False), chainer.no_backprop_mode(): model(x)
model.fit(a, t) | chainer.training.Trainer(chainer.training.updaters.StandardUpdater(\
chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(a, t), 32), \
chainer.optimizers.Adam().setup(chainer.links.Classifier(model))), (10, 'epoch')).run()
model.evaluate(x, t) | chainer.links.Classifier(model)(x, t)
optimizer.step() | optimizer.update()
optimizer.zero_grad() | optimizer.target.cleargrads()
optimizer.param_groups | optimizer.hyperparam
optimizer.state_dict() | chainer.serializers.save_npz(path, optimizer)
optimizer.load_state_dict(state) | chainer.serializers.load_npz(path, optimizer)
optimizer.minimize(lossfun) | optimizer.update(lossfun)
x.numpy() | x.array
x.cpu() | F.copy(x, '@numpy')
x.cuda() | F.copy(x, '@cupy:0')
x.to(device) | F.copy(x, device)
x.view(3, 4) | x.reshape(3, 4)
x.permute(1, 0) | x.transpose(1, 0)
x.unsqueeze(0) | F.expand_dims(x, 0)
x.t() | x.T
x.float() | F.cast(x, 'float32')
x.double() | F.cast(x, 'float64')
x.half() | F.cast(x, 'float16')
x.astype('float64') | F.cast(x, 'float64')
x.type('float64') | F.cast(x, 'float64')
x.dim() | x.ndim
x.numel() | x.size
x.clone() | F.identity(x)
x.contiguous() | x
x.copy() | F.identity(x)
x.abs() | abs(x)
x.pow(2) | x ** 2
x.dot(y.T) | F.matmul(x, y.T)
x.mm(y.T) | F.matmul(x, y.T)
x.matmul(y.T) | F.matmul(x, y.T)
x.std() | F.sqrt(F.mean((x - F.mean(x)) ** 2))
x.var() | F.mean((x - F.mean(x)) ** 2)
x.clamp(0.0, 1.0) | F.clip(x, 0.0, 1.0)
x.clip(0.0, 1.0) | F.clip(x, 0.0, 1.0)
x.split(3, 1) | F.split_axis(x, 3, 1)
x.chunk(3, 1) | F.split_axis(x, 3, 1)
x.expand(4, 3) | F.broadcast_to(x, (4, 3))
x.repeat(2) | F.repeat(x, 2)
x.ravel() | F.flatten(x)
x.masked_fill(mask, 0.0) | F.where(mask, numpy.zeros_like(x.array), x)
x.zero_grad() | x.cleargrad()
trainer.fit() | trainer.run()
trainer.train() | trainer.run()
trainer.start() | trainer.run()
numpy.mean(x) | F.mean(x)
numpy.max(x) | F.max(x)
numpy.amax(x) | F.max(x)
numpy.min(x) | F.min(x)
numpy.amin(x) | F.min(x)
numpy.argmax(x) | F.argmax(x)
numpy.argmin(x) | F.argmin(x)
numpy.std(x) | F.sqrt(F.mean((x - F.mean(x)) ** 2))
numpy.var(x) | F.mean((x - F.mean(x)) ** 2)
numpy.clip(x, 0.0, 1.0) | F.clip(x, 0.0, 1.0)
numpy.linalg.norm(x) | F.sqrt(F.sum(x * x))
numpy.sort(x) | numpy.sort(x.array)
numpy.argsort(x) | numpy.argsort(x.array)
numpy.median(x) | numpy.median(x.array)
numpy.percentile(x, 50) | numpy.percentile(x.array, 50)
numpy.unique(x) | numpy.unique(x.array)
numpy.allclose(x, y) | numpy.allclose(x.array, y.array)
numpy.array_equal(x, y) | numpy.array_equal(x.array, y.array)
numpy.any(x) | numpy.any(x.array)
numpy.all(x) | numpy.all(x.array)
numpy.round(x) | numpy.round(x.array)
numpy.maximum(x, y) | F.maximum(x, y)
numpy.minimum(x, y) | F.minimum(x, y)
numpy.tanh(x) | F.tanh(x)
numpy.exp(x) | F.exp(x)
numpy.log(x) | F.log(x)
numpy.sqrt(x) | F.sqrt(x)
"""
#: Functions of one array that torch or NumPy has as methods, and that are asked for by NumPy's own functions.
_METHODS = (
    'sum max min argmax argmin prod exp log sqrt sin cos tan sinh cosh tanh arcsin arccos arctan arctanh log2 log10 '
    'log1p expm1 relu sigmoid softmax square flatten squeeze cumsum cumprod diagonal floor ceil fix conj'
).split()
#: What arrays have for numbers that are not differentiated.
_OF_ARRAYS = 'all any argsort sort nonzero tolist tobytes fill round searchsorted take trace'.split()


@functools.cache
def uses() -> dict[str, tuple[str, str]]:
    """Each name, with what it is a name of (``F.mse_loss``): a use of it, and what does the same here."""
    rows = [row.split(' | ') for row in ROWS.strip().splitlines()]
    found = {use.partition('(')[0]: (use, remedy) for use, remedy in rows}
    found.update({f'x.{name}': (f'x.{name}()', f'F.{name}(x)') for name in _METHODS})
    found.update({f'x.{name}': (f'x.{name}', f'x.array.{name}') for name in _OF_ARRAYS})
    return found


_OF_MODULES = {'': 'chainer', 'functions': 'F', 'links': 'L'}


def elsewhere(path: str) -> str:
    """What an error about a missing name of a module says if torch, Keras or NumPy has it; else nothing.

    Args:
        path: the name with its module, without the package.

    >>> elsewhere('functions.mse_loss')
    '; here: F.mean_squared_error(x, y)'
    >>> elsewhere('functions.line')
    ''
    """
    module, _, name = path.rpartition('.')
    found = uses().get(f'{_OF_MODULES.get(module, module)}.{name}')
    return '' if found is None else f'; here: {found[1]}'


def of_numpy(function: Any) -> str:
    """What an error about a function of NumPy that Variables were given to says.

    Args:
        function: the function.
    """
    module = getattr(function, '__module__', 'numpy')
    found = uses().get(f'{module}.{function.__name__}')
    text = f'{module}.{function.__name__} does not compute with Variables; here: '
    return text + (found[1] if found else f'{module}.{function.__name__}(x.array), numbers without a gradient')


class _Foreign:
    """An attribute that does not exist: reading it is an AttributeError with the remedy.

    Args:
        name: its name.
        remedy: what to write.
    """

    def __init__(self, name: str, remedy: str) -> None:
        self._name, self._remedy = name, remedy
        self._owner: type = object

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner = owner

    def __get__(self, obj: Any, cls: type | None = None) -> Any:
        following = super(self._owner, cls if obj is None else obj)
        try:
            return getattr(following, self._name)  # another base class of a user's class has it
        except AttributeError:
            remedy = '' if _is_missing(obj, self._remedy) else f'; here: {self._remedy}'
            kind = f'type object {cls.__name__!r}' if obj is None and cls else f'{type(obj).__name__!r} object'
            raise AttributeError(f'{kind} has no attribute {self._name!r}{remedy}') from None


def _is_missing(obj: Any, remedy: str) -> bool:
    """Whether a remedy is an attribute that this object does not have either, as a Chain has no weights."""
    found = re.match(r'model\.(\w+)', remedy)
    return found is not None and not hasattr(obj, found[1])


def names_of(place: str) -> Any:
    """A base class with the names of other frameworks, for objects of one kind.

    They are attributes of the class and not found by ``__getattr__``, which would slow down the access to all others.

    Args:
        place: how the table calls such an object: ``'model'``, ``'x'`` or ``'optimizer'``.
    """
    rows = {use.partition('.')[2]: remedy for use, (_, remedy) in uses().items() if use.startswith(f'{place}.')}
    names = {name: _Foreign(name, remedy) for name, remedy in rows.items()}
    return type(f'NamesOfOthers_{place}', (), {'__slots__': (), '__dir__': _listed, **names})


def _listed(self: Any) -> list[str]:
    """The names that an object has, without those that only tell what to write instead."""
    places = [getattr(self, '__dict__', {}), *[vars(cls) for cls in type(self).__mro__]]

    def is_there(name: str) -> bool:
        found = [place[name] for place in places if name in place]
        return not found or not isinstance(found[0], _Foreign) or hasattr(self, name)

    return [name for name in object.__dir__(self) if is_there(name)]


if TYPE_CHECKING:  # they know none of these names

    class NamesOfLinks: ...

    class NamesOfVariables: ...

    class NamesOfOptimizers: ...

    class NamesOfTrainers: ...

else:
    NamesOfLinks, NamesOfVariables, NamesOfOptimizers = map(names_of, ('model', 'x', 'optimizer'))
    NamesOfTrainers = names_of('trainer')
