"""Old Chainer code: the alias under which programs that ``import chainer`` find this package."""

from minichainer.compat.alias import install as install
from minichainer.compat.alias import installed as installed
from minichainer.compat.alias import report as report
from minichainer.compat.alias import uninstall as uninstall
from minichainer.compat.notebook import load_ipython_extension as load_ipython_extension
from minichainer.compat.notebook import unload_ipython_extension as unload_ipython_extension
