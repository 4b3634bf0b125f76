"""Classifiers of images with the architectures of well-known papers, for weights that others have trained."""

from minichainer.links.model.vision import googlenet as googlenet
from minichainer.links.model.vision import resnet as resnet
from minichainer.links.model.vision import vgg as vgg
