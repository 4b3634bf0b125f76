"""Names that Chainer had and that do not exist here: since when, until when, and what to use."""

from __future__ import annotations

#: Path, versions, and what to use, in this order.
_ROWS = """
FunctionSet | v1 | Chain
Flag | v1 | using_config('enable_backprop', ...) and using_config('train', ...)
ON | v1 | no_backprop_mode() for volatile='on'
OFF | v1 | nothing for volatile='off'
AUTO | v1 | nothing for volatile='auto'
CHAINER_SEED | v1 | the environment variable CHAINER_SEED
backends.cuda.init | v1 | nothing: a GPU is initialized when it is first used
backends.cuda.zeros | v1 | cuda.cupy.zeros
backends.cuda.ones | v1 | cuda.cupy.ones
backends.cuda.empty | v1 | cuda.cupy.empty
backends.cuda.full | v1 | cuda.cupy.full
backends.cuda.zeros_like | v1 | cuda.cupy.zeros_like
backends.cuda.ones_like | v1 | cuda.cupy.ones_like
backends.cuda.empty_like | v1 | cuda.cupy.empty_like
backends.cuda.full_like | v1 | cuda.cupy.full_like
functions.BatchNormalization | v1 | links.BatchNormalization
functions.Bilinear | v1 | links.Bilinear
functions.BinaryHierarchicalSoftmax | v1 | links.BinaryHierarchicalSoftmax
functions.Convolution2D | v1 | links.Convolution2D
functions.Deconvolution2D | v1 | links.Deconvolution2D
functions.EmbedID | v1 | links.EmbedID
functions.Inception | v1 | links.Inception
functions.InceptionBN | v1 | links.InceptionBN
functions.Linear | v1 | links.Linear
functions.MLPConvolution2D | v1 | links.MLPConvolution2D
functions.NegativeSampling | v1 | links.NegativeSampling
functions.PReLU | v1 | links.PReLU
functions.Parameter | v1 | links.Parameter
functions.caffe | v1 | links.caffe
function.Flag | v1 | using_config('enable_backprop', ...)
variable.Flag | v1 | using_config('enable_backprop', ...)
variable.ON | v1 | no_backprop_mode() for volatile='on'
variable.OFF | v1 | nothing for volatile='off'
variable.AUTO | v1 | nothing for volatile='auto'
"""


def former(path: str) -> str:
    """What an error about a missing name says if Chainer had it; else nothing.

    Args:
        path: the name with the modules in which it was, without the package.

    >>> former('functions.Linear')
    ': Chainer had it in v1; use links.Linear, or python -m minichainer.compat run --legacy v1'
    >>> former('functions.line')
    ''
    """
    for row in _ROWS.strip().splitlines():
        name, versions, instead = row.split(' | ')
        if name == path:
            shim = f', or python -m {__package__}.compat run --legacy v1' if versions == 'v1' else ''
            return f': Chainer had it in {versions}; use {instead}{shim}'
    return ''
