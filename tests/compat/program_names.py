"""Which of the names that old programs use does no program of the corpus use?

    python tests/compat/program_names.py [--all]

The names are in ``tests/reference/legacy_names_common.json``, those left out with the reason in ``left_out.json``.
The programs are read and not run: imports are followed (``import chainer.functions as F``), so that ``F.relu`` counts
as ``chainer.functions.relu``. What counts as a use depends on the kind of the name:

    function, class, attribute, missing   the name, spelled in that way
    modref                                the module itself as a value (``getattr(links, name)``)
    override                              a class with that base, which defines the method
    method, anymethod                     an attribute of that name of something that is not a module
    linkcall                              the class of the link is used
"""

import argparse
import ast
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIST = HERE.parent / 'reference' / 'legacy_names_common.json'
PACKAGES = ('chainer', 'chainermn', 'onnx_chainer')
# Where a class of the list is defined under another name; a base of either name counts for both.
SAME = {
    'chainer.function.Function': 'chainer.Function',
    'chainer.function_node.FunctionNode': 'chainer.FunctionNode',
    'chainer.link.Link': 'chainer.Link',
    'chainer.link.Chain': 'chainer.Chain',
    'chainer.link.ChainList': 'chainer.ChainList',
    'chainer.link_hook.LinkHook': 'chainer.LinkHook',
    'chainer.dataset.dataset_mixin.DatasetMixin': 'chainer.dataset.DatasetMixin',
    'chainer.dataset.iterator.Iterator': 'chainer.dataset.Iterator',
    'chainer.initializer.Initializer': 'chainer.Initializer',
    'chainer.optimizer.GradientMethod': 'chainer.GradientMethod',
    'chainer.optimizer.UpdateRule': 'chainer.UpdateRule',
    'chainer.serializer.Serializer': 'chainer.Serializer',
    'chainer.serializer.Deserializer': 'chainer.Deserializer',
    'chainer.training.extension.Extension': 'chainer.training.Extension',
    'chainer.training.updater.StandardUpdater': 'chainer.training.StandardUpdater',
    'chainer.training.updaters.StandardUpdater': 'chainer.training.StandardUpdater',
    'chainer.training.triggers.IntervalTrigger': 'chainer.training.IntervalTrigger',
    'chainer.links.connection.linear.Linear': 'chainer.links.Linear',
    'chainer.links.connection.convolution_2d.Convolution2D': 'chainer.links.Convolution2D',
    'chainer.links.caffe.caffe_function.CaffeFunction': 'chainer.links.caffe.CaffeFunction',
}


class Names(ast.NodeVisitor):
    """The names of a program.

    Attributes:
        used (set): dotted names of the packages, and ``.name`` for attributes of other values.
        values (set): dotted names that are used as a value, not only to reach an attribute.
        overridden (set): ``base.method`` for methods of classes; a base of the program's own counts as its own bases.
    """

    def __init__(self, tree):
        self.imported, self.bases = {}, {}
        self.used, self.values, self.overridden = set(), set(), set()
        self.visit(tree)

    def visit_Import(self, node):
        for alias in node.names:
            if alias.name.split('.')[0] in PACKAGES:
                self._add(alias.name)
                short = alias.name.split('.')[0]
                self.imported[alias.asname or short] = alias.name if alias.asname else short

    def visit_ImportFrom(self, node):
        module = node.module or ''
        if node.level or module.split('.')[0] not in PACKAGES:
            return
        for alias in node.names:
            name = f'{module}.{alias.name}'
            self._add(name)
            self.imported[alias.asname or alias.name] = name

    def visit_Name(self, node):
        name = self.imported.get(node.id)
        if name:
            self._add(name)
            self.values.add(name)

    def visit_Attribute(self, node):
        name = self.dotted(node)
        if name is None:
            self.used.add('.' + node.attr)
            self.visit(node.value)
            return
        self._add(name)
        self.values.add(name)
        # Whether `chainer.config.train` is an attribute of a value cannot be told without the package.
        self.used.add('.' + node.attr)

    def visit_ClassDef(self, node):
        bases = [name for base in node.bases for name in self._base(base)]
        self.bases[node.name] = bases
        methods = [item.name for item in node.body if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef))]
        self.overridden.update(f'{base}.{method}' for base in bases for method in methods)
        self.generic_visit(node)

    def dotted(self, node):
        """Returns the full name of ``F.relu``; None for an attribute of what is not an imported name."""
        if isinstance(node, ast.Name):
            return self.imported.get(node.id)
        if isinstance(node, ast.Attribute):
            start = self.dotted(node.value)
            return start and f'{start}.{node.attr}'
        return None

    def _base(self, node):
        if isinstance(node, ast.Name) and node.id in self.bases:
            return self.bases[node.id]
        name = self.dotted(node)
        return [SAME.get(name, name)] if name else []

    def _add(self, name):
        parts = name.split('.')
        self.used.update('.'.join(parts[:n]) for n in range(1, len(parts) + 1))


def corpus():
    """Returns the names of each program, by its file name."""
    return {
        path.name: Names(ast.parse(path.read_text(encoding='utf-8')))
        for path in sorted((HERE / 'programs').glob('v[1-7]_*.py'))
    }


def uses(names, row):
    """Returns whether a program uses a name of the list."""
    name, kind = row['name'], row['kind']
    if kind == 'override':
        return name in names.overridden
    if kind == 'modref':
        return name in names.values
    if kind in ('method', 'anymethod'):
        return '.' + name.split(' ')[0].rpartition('.')[2] in names.used
    return name.removesuffix('()') in names.used


def left_out():
    """Returns the reason for each name that the corpus leaves out."""
    reasons = json.loads((HERE / 'left_out.json').read_text(encoding='utf-8'))
    return {name: reason for reason, listed in reasons.items() for name in listed}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--all', action='store_true', help='also say which programs use each name')
    args = parser.parse_args()
    rows, programs, reasons = json.loads(LIST.read_text(encoding='utf-8')), corpus(), left_out()
    users = {(r['kind'], r['name']): [p for p, names in programs.items() if uses(names, r)] for r in rows}
    if args.all:
        for (kind, name), found in users.items():
            print(kind, name, *found)
    wanted = [key for key in users if key[1] not in reasons]
    unused = [key for key in wanted if not users[key]]
    for kind, name in unused:
        print(f'unused {kind} {name}')
    print(f'{len(programs)} programs use {len(wanted) - len(unused)} of {len(wanted)} names; {len(reasons)} left out')
    return int(bool(unused))


if __name__ == '__main__':
    sys.exit(main())
