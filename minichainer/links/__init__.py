"""Links: functions with parameters, ready to be the layers of a model."""

from __future__ import annotations

from minichainer.links.connection.convolution import (
    Convolution1D,
    Convolution2D,
    Convolution3D,
    ConvolutionND,
    Deconvolution1D,
    Deconvolution2D,
    Deconvolution3D,
    DeconvolutionND,
)
from minichainer.links.connection.linear import Linear
from minichainer.links.model.classifier import Classifier

__all__ = [
    'Classifier',
    'Convolution1D',
    'Convolution2D',
    'Convolution3D',
    'ConvolutionND',
    'Deconvolution1D',
    'Deconvolution2D',
    'Deconvolution3D',
    'DeconvolutionND',
    'Linear',
]
