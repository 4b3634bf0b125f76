"""Jacobians, Hessians and their products with vectors, of Python functions of Variables.

Each function calls ``func`` once, on new Variables with the values of the inputs, and records that also inside
``no_backprop_mode``. The inputs keep their arrays and their gradients. No Variable that ``func`` uses from outside
gets a gradient; with ``create_graph=True`` the results can be differentiated with respect to it, and to the inputs.

Arguments and results have one structure: a single Variable, or a tuple of them. ``func`` gets as many arguments as
there are inputs. Arrays are accepted as inputs and as ``v``, and are constants.

In strict mode, independence is a property of the graph: no path leads from an output, or from a gradient, to the
inputs. A gradient that is computed and happens to be zero is not an error.
"""

from minichainer.autograd.functional.matrices import hessian, jacobian
from minichainer.autograd.functional.products import hvp, jvp, vhp, vjp

__all__ = ['hessian', 'hvp', 'jacobian', 'jvp', 'vhp', 'vjp']
