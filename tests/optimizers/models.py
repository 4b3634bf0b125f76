"""Models of single parameters, for the tests of optimizers."""

from __future__ import annotations

from minichainer.link import Link
from minichainer.variable import Parameter


def link_of(**params: Parameter) -> Link:
    """A link with these parameters."""
    link = Link()
    with link.init_scope():
        for name, param in params.items():
            setattr(link, name, param)
    return link
