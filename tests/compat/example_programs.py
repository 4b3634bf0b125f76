"""Chainer's own example programs, as far as ``--help`` goes: what each imports, and how it reads its arguments.

The programs themselves are not here. A row has the name of one, its imports, and its idioms; :func:`source` writes
a program of ours with the same imports in the same forms, which takes the options and, after them, the first steps
that the idioms name. With Chainer each ends with status 0 (those for Caffe with the protobuf of its time). Packages
that are neither Python's nor Chainer's (nltk, gym, librosa, sklearn) are left out.
"""

from __future__ import annotations

#: Imports by short names; others are the dotted names of what ``from module import name`` gives.
_IMPORTS = {
    'chainer': 'import chainer',
    'F': 'import chainer.functions as F',
    'L': 'import chainer.links as L',
    'I': 'import chainer.initializers as I',
    'O': 'import chainer.optimizers as O',
    'D': 'import chainer.distributions as D',
    'V': 'import chainer.links.model.vision',
    'chainermn': 'import chainermn',
    'chainerx': 'import chainerx',
    'numpy': 'import numpy as np',
    'onnx_chainer': 'import onnx_chainer',
    'six': 'import six',
    'matplotlib': "try:\n    import matplotlib\n    matplotlib.use('Agg')\nexcept ImportError:\n    pass",
    'training': 'from chainer import training',
    'extensions': 'from chainer.training import extensions',
}
_IDIOMS = {
    'gpu': "parser.add_argument('--gpu', '-g', type=int, default=-1)",
    'flag': "parser.add_argument('--gpu', '-g', action='store_true')",
    'device': (
        "parser.add_argument('--device', '-d', type=str, default='-1')\n"
        "group = parser.add_argument_group('deprecated arguments')\n"
        "group.add_argument('--gpu', '-g', dest='device', type=int, nargs='?', const=0)"
    ),
    'devices': "parser.add_argument('--devices', '-d', type=str, nargs='*', default=['-1', '@numpy'])",
    'choices': "parser.add_argument('--dtype', choices=('mixed16', 'float16', 'float32'), default='float32')",
    'noplot': "parser.add_argument('--noplot', dest='plot', action='store_false', default=True)",
    'comm': "parser.add_argument('--communicator', type=str, default='naive')",
    'unittest': '',
}
#: What an idiom does after the arguments; if the program imports ChainerX, with the second part.
_STEPS = {
    'device': (
        "device = chainer.get_device(args.device)\nprint('Device: {}'.format(device))\ndevice.use()",
        "if device.xp is chainerx:\n    sys.stderr.write('no ChainerX devices\\n')\n    sys.exit(1)",
    ),
    'devices': (
        'devices = tuple([chainer.get_device(d) for d in args.devices])',
        "if any(device.xp is chainerx for device in devices):\n    sys.stderr.write('no\\n')\n    sys.exit(1)",
    ),
    'gpu': ('if args.gpu >= 0:\n    chainer.backends.cuda.get_device_from_id(args.gpu).use()', ''),
    'comm': ('comm = chainermn.create_communicator(args.communicator)\nprint(comm.rank)', ''),
}

_TABLE = """
caffe_export/export | numpy chainer chainer.links.caffe chainer.links.model.vision.googlenet V | choices
capsnet/train | numpy chainer chainer.iterators chainer.optimizers chainer.serializers training extensions | gpu
capsnet/visualize | matplotlib numpy chainer F chainer.serializers | gpu
chainermn/cifar/train_cifar | chainer L training extensions chainermn | comm flag
chainermn/dcgan/train_dcgan | chainer training extensions chainermn | comm flag
chainermn/imagenet/train_imagenet | numpy chainer training extensions chainermn | comm choices
chainermn/mnist/train_mnist | chainer F L training extensions chainermn chainerx | comm flag
chainermn/mnist/train_mnist_checkpoint | chainer F L training extensions chainermn
    chainermn.create_multi_node_checkpointer | comm flag
chainermn/mnist/train_mnist_dual_parallel | numpy chainer F L training extensions chainermn chainermn.functions
    chainermn.datasets | flag
chainermn/mnist/train_mnist_model_parallel | numpy chainer F L training extensions chainermn chainermn.functions
    chainermn.datasets | flag
chainermn/parallel_convolution/train | chainer L training extensions chainermn | comm flag
chainermn/seq2seq/seq2seq | numpy six chainer chainer.cuda F L chainer.reporter training extensions chainermn |
    comm flag
chainermn/seq2seq/seq2seq_mp1 | numpy six chainer chainer.cuda F L chainer.Variable training extensions
    chainermn chainermn.links chainermn.functions | comm flag
cifar/train_cifar | chainer L training extensions | device noplot
cifar/train_cifar_custom_loop | numpy chainer chainer.configuration chainer.dataset.convert L
    chainer.serializers | device
dcgan/train_dcgan | chainer training extensions | device
image_captioning/download | chainer.dataset |
image_captioning/predict | numpy chainer chainer.serializers | gpu
image_captioning/train | chainer chainer.optimizers chainer.iterators training extensions
    chainer.datasets.TransformDataset | device
imagenet/train_imagenet | numpy chainer chainer.dataset chainer.dataset.convert training extensions chainerx |
    device choices
imagenet/train_imagenet_data_parallel | numpy chainer training chainer.training.updaters extensions chainerx |
    devices
memnn/test_memnn | chainer F chainer.training.extensions.PrintReport | device
memnn/train_memnn | six numpy chainer F L I training extensions | device
mnist/export_onnx | numpy chainer F L onnx_chainer | device
mnist/inference | chainer chainer.links.Linear | device
mnist/train_mnist | chainer F L training extensions chainerx | device noplot
mnist/train_mnist_custom_loop | numpy chainer chainer.configuration chainer.dataset.concat_examples F L
    chainer.serializers chainerx | device
mnist/train_mnist_data_parallel | chainer F L training extensions chainerx | devices
mnist/train_mnist_data_parallel_updater | chainer F L training extensions chainerx | devices
mnist/train_mnist_model_parallel | numpy chainer chainer.cuda F L training extensions chainerx | devices
modelzoo/download_model | six | choices
modelzoo/evaluate_caffe_net | numpy chainer chainer.dataset chainer.links.caffe.CaffeFunction | gpu choices
pos/postagging | numpy chainer training extensions chainer.datasets L chainer.reporter | device
ptb/gentxt | numpy six chainer F L chainer.serializers | device
ptb/train_ptb | numpy chainer F L training extensions | device
ptb/train_ptb_custom_loop | numpy chainer F L chainer.configuration chainer.dataset.convert chainer.serializers
    chainer.training.triggers | device
reinforcement_learning/ddpg_pendulum | numpy chainer F L chainer.optimizers | device
reinforcement_learning/dqn_cartpole | numpy chainer F L chainer.optimizers | device
sentiment/test_thin_stack | numpy chainer chainer.cuda chainer.gradient_check chainer.testing
    chainer.testing.attr chainer.testing.condition chainer.utils.type_check | unittest
sentiment/train_recursive_minibatch | numpy chainer chainer.cuda F L chainer.reporter training extensions | gpu
sentiment/train_sentiment | numpy chainer F L chainer.optimizers chainer.serializers chainer.utils.walker_alias
    | device
seq2seq/seq2seq | six numpy chainer chainer.backends.cuda F L chainer.reporter training extensions chainerx |
    device
seq2seq/wmt_preprocess | |
static_graph_optimizations/cifar/train_cifar | chainer L training extensions chainerx | device
static_graph_optimizations/cifar/train_cifar_custom_loop | numpy chainer chainer.configuration
    chainer.dataset.convert L chainer.serializers chainerx | device
static_graph_optimizations/mnist/train_mnist | chainer F L training extensions
    chainer.graph_optimizations.static_graph.static_graph chainer.static_graph chainerx | device noplot
static_graph_optimizations/mnist/train_mnist_custom_loop | numpy chainer chainer.configuration
    chainer.dataset.convert F L chainer.serializers chainer.static_graph chainerx | device
static_graph_optimizations/ptb/train_ptb_custom_loop | numpy chainer F L chainer.configuration
    chainer.dataset.convert chainer.functions.loss.softmax_cross_entropy
    chainer.graph_optimizations.static_graph.static_graph chainer.serializers chainerx | device
text_classification/run_text_classifier | chainer | device
text_classification/train_text_classifier | chainer training extensions | device
vae/train_vae | numpy chainer D training extensions chainerx | device
wavenet/generate | numpy chainer | device
wavenet/train | matplotlib chainer L extensions | device
word2vec/search | numpy six | choices
word2vec/train_word2vec | numpy six chainer chainer.backends.cuda F I L O chainer.reporter training extensions |
    device
"""


def rows() -> dict[str, tuple[list[str], list[str]]]:
    """By program: its imports and its idioms."""
    lines = (line.split('|') for line in _TABLE.strip().replace('\n    ', ' ').splitlines())
    return {name.strip(): (modules.split(), idioms.split()) for name, modules, idioms in lines}


def _statement(name: str) -> str:
    home, _, last = name.rpartition('.')
    return _IMPORTS.get(name) or f'from {home} import {last}'


def source(modules: list[str], idioms: list[str]) -> str:
    """A program with these imports and idioms.

    Args:
        modules: what it imports.
        idioms: how it reads its arguments.
    """
    head = ['#!/usr/bin/env python', 'from __future__ import print_function', 'import argparse', 'import sys']
    head += [_statement(name) for name in modules]
    if 'unittest' in idioms:
        return '\n'.join([*head, 'import unittest', "if __name__ == '__main__':", '    unittest.main()', ''])
    body = ["parser = argparse.ArgumentParser(description='Chainer example')"]
    body += ["parser.add_argument('--batchsize', '-b', type=int, default=100, help='examples at once')"]
    body += ["parser.add_argument('--resume', '-r', default='')", *[_IDIOMS[idiom] for idiom in idioms]]
    body += ['args = parser.parse_args()']
    for idiom in idioms:
        first, second = _STEPS.get(idiom, ('', ''))
        body += [first, second if 'chainerx' in modules else '']
    main = [f'    {line}' for part in body for line in part.splitlines()]
    return '\n'.join([*head, '', '', 'def main():', *main, '', '', "if __name__ == '__main__':", '    main()', ''])
