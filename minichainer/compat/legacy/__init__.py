"""The styles of Chainer v1 and v2, switched on for a time.

keywords    arguments that functions and links took: ``train=``, ``test=``, ``wscale=``, ``use_cudnn=``, ...
volatile    Variables from which no graph is built
names       what was defined then: ``FunctionSet``, ``F.Linear``, ``F.ReLU()``, ``cuda.init``
optimizers  methods of optimizers, and optimizers that programs define by methods
spellings   of the Trainer and its extensions
advice      which style an error comes from
"""
