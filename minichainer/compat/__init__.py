"""Old Chainer code: the alias under which programs that ``import chainer`` find this package."""

from minichainer.compat.alias import install as install
from minichainer.compat.alias import installed as installed
from minichainer.compat.alias import uninstall as uninstall
