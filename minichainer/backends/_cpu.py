"""The CPU as a device, where Chainer has it."""

from minichainer.backends._device import CpuDevice as CpuDevice
