"""Sizes that no memory has: an error, never the end of the interpreter, nor a small result."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import sys
import numpy as np
import minichainer.functions as F
from minichainer.utils.type_check import InvalidType
n = int(sys.argv[1])
x, none, image = np.ones((4, 4)), np.ones((0, 4)), np.ones((1, 2, 4, 4), 'f')
roi, first, grid = np.array([[0, 0, 1, 1]], 'f'), np.array([0]), np.ones((1, 2, 3), 'f')
calls = {
    'tile': lambda: F.tile(x, n),
    'tile along both': lambda: F.tile(x, (n, n)), 'tile anew': lambda: F.tile(x, (n, 1, 1)),
    'tile a number': lambda: F.tile(np.array(1.0), n * 2), 'tile none': lambda: F.tile(none, (1, n)),
    'repeat': lambda: F.repeat(x, n, 0), 'repeat each': lambda: F.repeat(x, (n, n, n, n), 0),
    'repeat one': lambda: F.repeat(x, (n, 1, 1, 1), 0), 'repeat flat': lambda: F.repeat(x, n),
    'repeat none': lambda: F.repeat(none, n, 1), 'broadcast_to': lambda: F.broadcast_to(np.ones((4, 1)), (4, n)),
    'broadcast_to none': lambda: F.broadcast_to(np.ones((0, 1, 1)), (0, n, n)),
    'resize_images': lambda: F.resize_images(image, (n, n)), 'resize one': lambda: F.resize_images(image, (n, 1)),
    'resize to nearest': lambda: F.resize_images(image, (n, 1), mode='nearest'),
    'unpooling': lambda: F.unpooling_2d(image, n),
    'unpooling outsize': lambda: F.unpooling_2d(image, 2, outsize=(n, n)),
    'upsampling': lambda: F.upsampling_2d(image, np.zeros((1, 2, 4, 4), 'i'), 2, outsize=(n, n)),
    'im2col': lambda: F.im2col(image, n, pad=n), 'im2col pad': lambda: F.im2col(image, 1, pad=n),
    'convolution pad': lambda: F.convolution_2d(image, np.ones((2, 2, 1, 1), 'f'), pad=n),
    'deconvolution stride': lambda: F.deconvolution_2d(image, np.ones((2, 2, 2, 2), 'f'), stride=n),
    'max_pooling pad': lambda: F.max_pooling_2d(image, n, pad=n - 1),
    'average_pooling pad': lambda: F.average_pooling_2d(image, n, pad=n - 1),
    'adaptive': lambda: F.adaptive_average_pooling_2d(image, n), 'pad': lambda: F.pad(x, n, 'constant'),
    'pad edge': lambda: F.pad(x, n, 'edge'), 'pad reflect': lambda: F.pad(x, n, 'reflect'),
    'pad mean': lambda: F.pad(x, n, 'mean'), 'pad maximum': lambda: F.pad(x, n, 'maximum'),
    'pad_sequence': lambda: F.pad_sequence([np.ones(2)], length=n),
    'as_strided': lambda: F.as_strided(x, (n, n), (0, 0)),
    'grid': lambda: F.spatial_transformer_grid(grid, (n, n)),
    'roi_pooling': lambda: F.roi_pooling_2d(image, np.array([[0, 0, 0, 1, 1]], 'f'), n, n, 1.0),
    'roi_max_pooling': lambda: F.roi_max_pooling_2d(image, roi, first, n, 1.0),
    'roi_average_pooling': lambda: F.roi_average_pooling_2d(image, roi, first, n, 1.0),
    'roi_max_align': lambda: F.roi_max_align_2d(image, roi, first, n, 1.0),
    'roi_average_align': lambda: F.roi_average_align_2d(image, roi, first, n, 1.0),
    'roi sampling': lambda: F.roi_average_align_2d(image, roi, first, 2, 1.0, n),
}
for name, call in calls.items():
    print(name, flush=True)  # the last line names what ended the interpreter
    try:
        result = call()
    except (MemoryError, ValueError, OverflowError, InvalidType):
        continue
    sys.exit(f'{name}: an error expected, got shape {result.shape}')
"""


@pytest.mark.parametrize('n', ['2**62', '2**63 - 1', '2**63', '2**64', '10**30'])
def test_sizes_that_no_memory_has(n: str) -> None:
    result = subprocess.run([sys.executable, '-c', SCRIPT, str(eval(n))], capture_output=True, text=True)
    assert result.returncode == 0, f'{result.stdout[-100:]}\n{result.stderr}'
