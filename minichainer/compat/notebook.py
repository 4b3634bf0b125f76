"""``%load_ext minichainer.compat``: old programs in cells of IPython and Jupyter."""

from __future__ import annotations

import ast
from typing import Any

from minichainer.compat import alias


class Cells(ast.NodeTransformer):
    """Rewrites cells as ``run`` rewrites files."""

    def visit(self, node: ast.AST) -> Any:
        """A cell, rewritten in place.

        Args:
            node: its syntax tree.
        """
        from minichainer.compat.rewriting import rewrite  # not needed by programs without cells

        return ast.fix_missing_locations(rewrite(node))


def load_ipython_extension(ipython: Any) -> None:
    """Lets cells ``import chainer``, and use what Python, NumPy and others dropped: ``%load_ext minichainer.compat``.

    Call :func:`~minichainer.compat.install` with ``legacy=`` before, if the cells are in the style of v1 or v2.

    Args:
        ipython: the shell.
    """
    alias.install(numpy=True)
    if not any(isinstance(transformer, Cells) for transformer in ipython.ast_transformers):
        ipython.ast_transformers.append(Cells())


def unload_ipython_extension(ipython: Any) -> None:
    """Ends that: ``%unload_ext minichainer.compat``.

    Args:
        ipython: the shell.
    """
    ipython.ast_transformers[:] = [t for t in ipython.ast_transformers if not isinstance(t, Cells)]
    alias.uninstall()
