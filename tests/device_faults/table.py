"""The faults of device code that the device tests must catch.

Each is a small edit of the kind that is made in good faith, because the host's tests pass with it. It changes what
runs on a device alone.
"""

from __future__ import annotations

from tests.device_faults.fault import Fault

FUNCTIONS = 'tests/functions/test_table.py'
LINKS = 'tests/links/test_on_a_device.py'
OPTIMIZERS = 'tests/optimizers/test_on_a_device.py'
ON_DEVICE = 'tests/optimizers/test_on_device.py'
LAUNCHES = 'tests/optimizers/test_launches.py::test_budgets'
TRAINING = 'tests/training/test_on_a_device.py'
OUT_OF_RANGE = 'tests/functions/test_out_of_range_on_a_device.py'
CHECKER = 'tests/verification/test_device.py'
TWO = 'tests/backends/test_two_devices.py'


def of_functions(names: str) -> tuple[str, ...]:
    """The tests of rows of the table of functions."""
    return (FUNCTIONS, '-k', f'cupy and ({names})')


#: Arrays of the host and of the device, and what waits for the device.
TRANSFERS = [
    Fault(
        'a constant on the host in an op',
        'minichainer.kernels.rectifier',
        'return xp.maximum(x, 0)  #',
        'return xp.maximum(x, _ZERO)  #',
        of_functions('relu'),
    ),
    Fault(
        'a copy to the host and back',
        'minichainer.kernels.rectifier',
        'return xp.maximum(x, 0)  #',
        'return xp.asarray(numpy.maximum(x.get(), 0))  #',
        (f'{LAUNCHES}[mlp]',),
    ),
    Fault(
        'a function of NumPy that converts its argument',
        'minichainer.kernels.rectifier',
        'return xp.maximum(x, 0)  #',
        'return xp.maximum(numpy.asarray(x), 0)  #',
        of_functions('relu'),
    ),
    Fault(
        'a list given to a function of arrays',
        'minichainer.kernels.affine',
        'return matrix.sum(axis=0, dtype=accumulator(matrix.dtype))',
        'return xp.sum(list(matrix), axis=0, dtype=accumulator(matrix.dtype))',
        of_functions('linear'),
    ),
    Fault(
        'a Python float that waits',
        'minichainer.kernels.cross_entropy',
        'scale = 1.0 if scale is None else scale\n    return cuda',
        'scale = 1.0 if scale is None else float(scale)\n    return cuda',
        (f'{LAUNCHES}[mlp]',),
    ),
    Fault(
        'a get() in every step',
        'minichainer.optimizer.grouped_device',
        'group.params.append(arrays)',
        'group.params.append(arrays)\n        target.grad.get()',
        (f'{LAUNCHES}[mlp]',),
    ),
    Fault(
        'a norm of each gradient that waits',
        'minichainer.optimizer.grouped_device',
        'group.params.append(arrays)',
        'group.params.append(arrays)\n        float(target.grad.sum())',
        ('tests/optimizers/test_launches.py::test_hooks_of_a_step_wait_for_nothing',),
    ),
    Fault(
        'a check of values that waits',
        'minichainer.functions.loss.softmax_cross_entropy',
        'isinstance(t, cuda.ndarray) and not config.debug',
        'isinstance(t, cuda.ndarray) and config.debug is None',
        (f'{LAUNCHES}[mlp]',),
    ),
    Fault(
        'random numbers of the host',
        'minichainer.functions.noise.dropout',
        'return xp.asarray(xp.random.rand(*x.shape)), ratio',
        'return __import__("numpy").random.rand(*x.shape), ratio',
        (f'{TWO}::test_what_is_drawn_outside_of_any_node',),
    ),
    Fault(
        'a scalar of NumPy that promotes',
        'minichainer.functions.noise.dropout',
        'return kernels.dropout(xp, x, *drawn.pop(), mask) if',
        'return kernels.dropout(xp, x, *drawn.pop(), mask) * __import__("numpy").float64(1) if',
        (f'{TWO}::test_what_is_drawn_outside_of_any_node',),
    ),
    Fault(
        'a repeated index that is lost',
        'minichainer.kernels.scattering',
        'xp.add.at(result, numbers, rows)',
        'result[numbers] += rows',
        of_functions('embed_id'),
    ),
    Fault(
        'memory that is not cleared',
        'minichainer.kernels.scattering',
        'result = xp.zeros((count, rows.shape[1]), rows.dtype)\n    xp.add',
        'result = xp.empty((count, rows.shape[1]), rows.dtype)\n    xp.add',
        of_functions('embed_id'),
    ),
    Fault(
        'an index that wraps around, in debug mode',
        'minichainer.functions.connection.embed_id',
        'if config.debug:',
        'if config.debug and isinstance(ids, __import__("numpy").ndarray):',
        (f'{OUT_OF_RANGE}::test_debug_mode_waits_and_raises',),
    ),
    Fault(
        'launches for each parameter',
        'minichainer.optimizer.grouped_device',
        'else updates.limit(group.how)',
        'else 1',
        ('tests/optimizers/test_on_device.py::test_one_array_in_two_parameters_is_updated_twice',),
    ),
]

#: The current device, and the one where the arrays are.
DEVICES = [
    Fault(
        'a sum of gradients on the current device',
        'minichainer.backprop',
        'with cuda.get_device_from_array(as_raw(x)):\n        return add(x, y)',
        'with cuda.DummyDevice:\n        return add(x, y)',
        (f'{TWO}::test_a_graph_on_another_than_the_current_device',),
    ),
    Fault(
        'a mask on the current device',
        'minichainer.backend',
        'with cuda.get_device_from_array(*_flat((*args, *kwargs.values()))):',
        'with cuda.DummyDevice:',
        (f'{TWO}::test_what_is_drawn_outside_of_any_node',),
    ),
    Fault(
        'a launch on the current device',
        'minichainer.optimizer.grouped_device',
        'with using_device(group.device):',
        'with using_device(0):',
        (f'{TWO}::test_a_trained_model_is_moved_with_all_that_it_has',),
    ),
    Fault(
        'first values on the current device',
        'minichainer.initializers._generate',
        'with target.create_context():',
        'with CpuDevice().create_context():',
        (f'{TWO}::test_initializers',),
    ),
    Fault(
        'addgrads on the current device',
        'minichainer.variable',
        'with device.create_context():\n            self.grad = moved.copy()',
        'if device:\n            self.grad = moved.copy()',
        (f'{TWO}::test_addgrads',),
    ),
    Fault(
        'addgrads that leaves a gradient where it was',
        'minichainer.variable',
        'moved = device.send(other.array)',
        'moved = other.array',
        (f'{TWO}::test_addgrads',),
    ),
    Fault(
        'a transfer to the current device',
        'minichainer.backends.cuda',
        'with device:\n            return cupy.asarray(array)',
        'if device:\n            return cupy.asarray(array)',
        (f'{TWO}::test_transfers',),
    ),
    Fault(
        'a normalized weight on the current device',
        'minichainer.link_hooks._weight_hook',
        'with link.device.create_context():\n            replacement',
        'if link:\n            replacement',
        ('tests/link_hooks/test_on_a_device.py::test_normalized_weights',),
    ),
    Fault(
        'a file of a parameter without shape, on the current device',
        'minichainer.link.parameters',
        'with param.device.create_context():',
        'if param:',
        ('tests/serializers/test_on_a_device.py::test_files',),
    ),
    Fault(
        'tangents on the current device',
        'minichainer._push',
        '@on_device_of_arguments\n',
        '',
        ('tests/autograd/test_on_a_device.py::test_derivatives',),
    ),
    Fault(
        'copyparams that takes an array of another device',
        'minichainer.link.parameters',
        'return device.send(copied) if isinstance(copied, array_types) else copied',
        'return copied',
        (f'{TWO}::test_copyparams',),
    ),
    Fault(
        'unpickling to the current device',
        'minichainer.link.parameters',
        'if isinstance(self._device, backend.GpuDevice):',
        'if self._device is None:',
        (f'{TWO}::test_pickles_come_back_to_their_device',),
    ),
    Fault(
        'to_device that forgets persistent values',
        'minichainer.link.parameters',
        'attributes[name] = visitor.visit_array(attributes[name])',
        'visitor.visit_array(attributes[name])',
        (f'{TWO}::test_a_trained_model_is_moved_with_all_that_it_has',),
    ),
    Fault(
        'to_device that forgets gradients',
        'minichainer._device_methods',
        'self.edge.grad_value = device.send(grad)',
        'self.edge.grad_value = grad',
        (f'{TWO}::test_a_trained_model_is_moved_with_all_that_it_has',),
    ),
    Fault(
        'states of an optimizer that do not follow',
        'minichainer.optimizer.rule',
        'self._state[name] = get_device_from_array(param._data).send(value)',
        'self._state[name] = value',
        (f'{OPTIMIZERS}::test_a_model_is_moved_between_steps',),
    ),
    Fault(
        'running statistics made on the host',
        'minichainer.links.normalization.batch_normalization',
        'mean = generate_array(self._initial_avg_mean, shape, self.xp, device=self.device)',
        'mean = generate_array(self._initial_avg_mean, shape, numpy)',
        (f'{LINKS}::test_sizes_from_data',),
    ),
    Fault(
        'a converter that leaves batches on the host',
        'minichainer.dataset.convert',
        'return to_device(device, backend.get_array_module(arrays[0]).stack(arrays))',
        'return backend.get_array_module(arrays[0]).stack(arrays)',
        (f'{TRAINING}::test_converters',),
    ),
    Fault(
        'a summary on the current device',
        'minichainer.reporter',
        'with cuda.get_device_from_array(self._x):',
        'with cuda.DummyDevice:',
        ('tests/reporter/test_on_a_device.py::test_mean_and_deviation',),
    ),
    Fault(
        'a check of gradients on the current device',
        'minichainer.verification.check',
        '@on_device_of_arguments\n',
        '',
        (f'{CHECKER}::test_another_than_the_current_device',),
    ),
    Fault(
        'numerical gradients on the current device',
        'minichainer.verification.finite_differences',
        '@on_device_of_arguments\n',
        '',
        (f'{CHECKER}::test_another_than_the_current_device',),
    ),
]

#: Bodies of kernels.
KERNELS = [
    Fault(
        'a wrong sign in a kernel',
        'minichainer.kernels.cuda.cross_entropy',
        '-(others + (1 - e)) : e;',
        '(others + (1 - e)) : e;',
        of_functions('softmax_cross_entropy'),
    ),
    Fault(
        'an index that is off by one in a kernel',
        'minichainer.kernels.cuda.cross_entropy',
        '+ (fits ? (ptrdiff_t)label : 0)) * inner',
        '+ (fits ? (ptrdiff_t)label + 1 : 0)) * inner',
        of_functions('softmax_cross_entropy'),
    ),
    Fault(
        'axes of a kernel in the wrong order',
        'minichainer.kernels.cuda.cross_entropy',
        'i / inner % classes == (ptrdiff_t)label',
        'i % classes == (ptrdiff_t)label',
        of_functions('softmax_cross_entropy'),
    ),
    Fault(
        'a label that counts from the end',
        'minichainer.kernels.cuda.cross_entropy',
        'bool fits = (long long)label >= 0 && (long long)label < classes;\nptrdiff_t',
        'bool fits = (long long)label >= -classes && (long long)label < classes;\nptrdiff_t',
        (f'{OUT_OF_RANGE}::test_such_a_label_makes_its_sample_nan',),
    ),
    Fault(
        'the wrong identity of a reduction',
        'minichainer.kernels.cuda.cross_entropy',
        "    '0LL',",
        "    '1LL',",
        of_functions('softmax_cross_entropy'),
    ),
    Fault(
        'a body that computes in float16',
        'minichainer.kernels.cuda.updates',
        "return 'float32' if how.dtype == 'float16' else how.dtype",
        'return how.dtype',
        ('tests/optimizers/test_on_device.py::test_float16_is_computed_in_float32',),
    ),
    Fault(
        'a missing bound check in a kernel',
        'minichainer.kernels.cuda.pooling',
        ' || y2 < 0 || y2 >= size2) continue;\n  T v',
        ') continue;\n  T v',
        of_functions('max_pooling'),
    ),
    Fault(
        'an output that is not always written',
        'minichainer.kernels.cuda.pooling',
        'gx = total;',
        'if (total != (T)0) gx = total;',
        of_functions('max_pooling'),
    ),
    Fault(
        'one of two outputs that is not written',
        'minichainer.kernels.cuda.activations',
        'mask = drawn >= ratio ? (T)(1 / (1 - ratio)) : (T)0;\\ny = (T)((C)x * (C)mask);',
        'C kept = drawn >= ratio ? (C)(1 / (1 - ratio)) : (C)0;\\ny = (T)((C)x * kept);',
        (f'{TWO}::test_what_is_drawn_outside_of_any_node',),
    ),
    Fault(
        'norms of one parameter for another',
        'minichainer.kernels.cuda.layerwise',
        'parts[({count} + k) * threads + i] = of_step;',
        'parts[({count} + (k + 1) % {count}) * threads + i] = of_step;',
        (f'{ON_DEVICE}::test_steps_as_long_as_norms_say',),
    ),
    Fault(
        'an offset into a shared array that does not move',
        'minichainer.kernels.cuda.layerwise',
        'parts[k * threads + i] = of_param;\nparts[({count} + k) * threads + i] = of_step;\nfirst += size;',
        'parts[k * threads + i] = of_param;\nparts[({count} + k) * threads + i] = of_step;',
        (f'{ON_DEVICE}::test_steps_as_long_as_norms_say',),
    ),
    Fault(
        'noise without the loss scale',
        'minichainer.optimizer_hooks',
        'return _scale_of(param) * _deviation(self, param.update_rule)',
        'return _deviation(self, param.update_rule)',
        (f'{ON_DEVICE}::test_noise_has_its_deviation_and_the_loss_scale',),
    ),
    Fault(
        'a gradient of the wrong branch',
        'minichainer.kernels.cuda.activations',
        'gslope = (C)x >= 0 ? (T)0 : (T)((C)gy * (C)x);',
        'gslope = (C)x < 0 ? (T)0 : (T)((C)gy * (C)x);',
        of_functions('prelu'),
    ),
    Fault(
        'gates in the wrong order',
        'minichainer.kernels.cuda.rnn',
        'c = c * f + in * g;',
        'c = c * in + f * g;',
        (LINKS, '-k', 'NStepLSTM'),
    ),
    Fault(
        'a state that is read after it is written',
        'minichainer.kernels.cuda.rnn',
        'before_h = h;\nbefore_c = c;\nptrdiff_t unit',
        'before_h = h;\nptrdiff_t unit',
        (LINKS, '-k', 'NStepLSTM'),
    ),
]

FAULTS = [*TRANSFERS, *DEVICES, *KERNELS]
