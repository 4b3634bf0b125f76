"""How long a training step of each workload takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from minichainer.backends import cuda
from minichainer.backends._device import Device
from minichainer.doctor.workloads import WORKLOADS, Workload
from minichainer.optimizers.adam import Adam


def training_step(workload: Workload, device: Device) -> Callable[[], Any]:
    """A function that trains a new model of the workload for one step, and returns the loss."""
    model = workload.model()
    model.to_device(device)
    optimizer = Adam().setup(model)
    x, t = device.send(workload.batch(np.random.RandomState(0)))

    def step() -> Any:
        model.cleargrads()
        loss = workload.loss(model(x), t)
        loss.backward()
        optimizer.update()
        return loss.array

    return step


def milliseconds(name: str, device: Device, seconds: float = 0.5) -> float:
    """The median time of a step, forward, backward and Adam; on a GPU with waiting for the end of each step."""
    step = training_step(WORKLOADS[name], device)
    wait = cuda.cupy.cuda.get_current_stream().synchronize if device.xp is cuda.cupy else lambda: None
    times: list[float] = []
    with device.create_context():
        step()
        wait()
        end = time.perf_counter() + seconds
        while len(times) < 3 or time.perf_counter() < end:
            start = time.perf_counter()
            step()
            wait()
            times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)
