"""Models of Caffe as links."""

from minichainer.links.caffe.caffe_function import CaffeFunction as CaffeFunction
