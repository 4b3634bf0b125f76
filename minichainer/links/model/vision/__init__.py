"""Classifiers of images with the architectures of well-known papers, for weights that others have trained."""

import typing

from minichainer._names import namespace as _namespace
from minichainer.links.model.vision import googlenet as googlenet
from minichainer.links.model.vision import resnet as resnet
from minichainer.links.model.vision import vgg as vgg

if not typing.TYPE_CHECKING:
    __getattr__, __dir__ = _namespace(__name__, ['googlenet', 'resnet', 'vgg'])
