"""The base class of devices, where Chainer has it."""

from minichainer.backends._device import Device as Device
