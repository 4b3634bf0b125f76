"""The gradient checker's engine, private; :mod:`minichainer.gradient_check` is its public face.

In order of work:

- ``arguments``: what the user passes; ``function_under_test``: the function as one of a flat list of arrays;
  ``environment``: what is saved and restored, and another thread; ``progress``.
- ``check``: the sequence of checks; ``order_check``: one order of derivatives.
- Without tolerance: ``exact_checks``, ``linearity``, ``additivity``.
- Slopes: ``high_precision``, by ``many_digits`` of ``extended_precision``; else ``leaf``, with
  ``directional_derivatives`` along ``directions``, by ``extrapolation`` of differences in ``double_precision``;
  ``jacobian``, every entry. ``forward_rounding``, ``rounding`` and ``comparison`` say how much of a difference
  rounding explains; ``verdict`` decides; ``low_precision`` looks at the dtype given.
- What a verdict becomes: ``tolerances`` of the caller, ``outcome`` for each entry point, ``torch_comparison``.
- Beside backward: ``forward_mode`` and ``tangents``, ``batched``, ``complex_numbers``.
- After a mismatch: ``localization`` with ``bisection`` and ``measured`` (which elements), ``diagnosis`` (why).
- ``reporting``; ``command``, the shell; ``self_test``.
- For Chainer's tests: ``strictness``, ``finite_differences``, ``closeness``. Helpers: ``arrays``.
"""
