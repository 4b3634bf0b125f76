"""Writers of models in formats of other frameworks."""

from minichainer.exporters import caffe as caffe
