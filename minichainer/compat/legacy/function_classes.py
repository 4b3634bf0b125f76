"""Functions that were classes in Chainer v1, such as ``F.ReLU``: ported programs import them from here."""

from __future__ import annotations

from typing import Any

from minichainer.compat.legacy.packages import functions

#: Functions that were classes, by the class: the function, and the parameters of the class in order. A star: the
#: function takes its inputs as one list.
_CLASSES = """
    AbsoluteError: absolute_error
    Accuracy: accuracy ignore_label
    Arccos: arccos
    Arcsin: arcsin
    Arctan: arctan
    ArgMax: argmax axis
    ArgMin: argmin axis
    AveragePooling2D: average_pooling_2d ksize stride pad cover_all use_cudnn
    BatchL2NormSquared: batch_l2_norm_squared
    BinaryAccuracy: binary_accuracy
    Broadcast: broadcast
    BroadcastTo: broadcast_to shape
    CReLU: crelu axis
    Cast: cast typ
    Ceil: ceil
    Clip: clip x_min x_max
    ClippedReLU: clipped_relu z
    Concat: concat* axis
    Contrastive: contrastive margin reduce
    Copy: copy dst
    Cos: cos
    Cosh: cosh
    CrossCovariance: cross_covariance reduce
    DeCov: decov reduce
    Depth2Space: depth2space r
    Dropout: dropout ratio
    ELU: elu alpha
    Exp: exp
    ExpandDims: expand_dims axis
    Expm1: expm1
    Flatten: flatten
    FlipLR: fliplr
    FlipUD: flipud
    Floor: floor
    Fmod: fmod
    GetItem: get_item slices
    HardSigmoid: hard_sigmoid
    Hinge: hinge norm reduce
    HuberLoss: huber_loss delta reduce
    Identity: identity
    Inv: inv
    LSTM: lstm
    LeakyReLU: leaky_relu slope
    LinearInterpolate: linear_interpolate
    LocalResponseNormalization: local_response_normalization n k alpha beta
    Log: log
    Log10: log10
    Log1p: log1p
    Log2: log2
    LogSoftmax: log_softmax use_cudnn
    LogSumExp: logsumexp axis
    MatMul: matmul transa transb
    Max: max axis keepdims
    MaxPooling2D: max_pooling_2d ksize stride pad cover_all use_cudnn
    Maximum: maximum
    MeanAbsoluteError: mean_absolute_error
    MeanSquaredError: mean_squared_error
    Min: min axis keepdims
    Minimum: minimum
    NormalizeL2: normalize eps axis
    Permutate: permutate indices axis inv
    ROIPooling2D: roi_pooling_2d outh outw spatial_scale
    ReLU: relu use_cudnn
    Reshape: reshape shape
    ResizeImages: resize_images output_shape
    Rollaxis: rollaxis axis start
    SLSTM: slstm
    SelectItem: select_item
    Sigmoid: sigmoid use_cudnn
    SigmoidCrossEntropy: sigmoid_cross_entropy use_cudnn normalize reduce
    Sin: sin
    Sinh: sinh
    Softmax: softmax use_cudnn axis
    SoftmaxCrossEntropy: softmax_cross_entropy use_cudnn normalize cache_score class_weight ignore_label reduce
    Softplus: softplus beta
    Space2Depth: space2depth r
    SplitAxis: split_axis indices_or_sections axis
    Sqrt: sqrt
    Square: square
    SquaredDifference: squared_difference
    SquaredError: squared_error
    Squeeze: squeeze axis
    Sum: sum axis keepdims
    Swapaxes: swapaxes axis1 axis2
    Tan: tan
    Tanh: tanh use_cudnn
    Tile: tile reps
    Transpose: transpose axes
    Triplet: triplet margin reduce
    Unpooling2D: unpooling_2d ksize stride pad outsize cover_all
    Where: where
    Zoneout: zoneout ratio
"""


class FunctionClass:
    """A function as v1 had it: a class that takes the parameters, whose objects take the inputs."""

    function: str
    parameters: tuple[str, ...]
    takes_list: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(self.parameters):
            raise TypeError(f'{type(self).__name__}: expected at most {self.parameters}, got {len(args)} arguments')
        self.arguments = {**dict(zip(self.parameters, args, strict=False)), **kwargs}

    def __call__(self, *inputs: Any) -> Any:
        function = getattr(functions, self.function)
        found = function(inputs, **self.arguments) if self.takes_list else function(*inputs, **self.arguments)
        self.outputs = found if isinstance(found, tuple) else (found,)
        return found

    def __getattr__(self, name: str) -> Any:
        """What programs read of a function that they have applied, such as the mask of dropout."""
        outputs = vars(self).get('outputs', ())
        creator = getattr(outputs[0], 'creator', None) if outputs and name[:2] != '__' else None
        if creator is None:
            raise AttributeError(f'{type(self).__name__!r} object has no attribute {name!r}', name=name, obj=self)
        return getattr(creator, name)


def _function_class(row: str) -> type[FunctionClass]:
    name, _, rest = row.strip().partition(': ')
    function, *parameters = rest.split()
    members = {'function': function.rstrip('*'), 'parameters': tuple(parameters), 'takes_list': function[-1] == '*'}
    return type(name, (FunctionClass,), {**members, '__doc__': f'``functions.{function.rstrip("*")}`` as a class.'})


#: The classes, by their names.
CLASSES = {cls.__name__: cls for cls in map(_function_class, _CLASSES.strip().splitlines())}


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        return CLASSES[name]
    raise AttributeError(f'module {__name__!r} has no attribute {name!r}', name=name)
