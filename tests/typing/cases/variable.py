"""What type checkers know of Variable."""

import numpy as np
from typing_extensions import assert_type

import minichainer as chainer
import minichainer.functions as F

x = chainer.Variable(np.ones(3, np.float32))
assert_type(x, chainer.Variable)
x.backward()
F.relu(x)

x.shape = 'no'  # error
x.bacward()  # error
F.rleu(x)  # error
