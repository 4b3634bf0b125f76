from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

_root = os.environ.get('CHAINER_DATASET_ROOT', os.path.join(os.path.expanduser('~'), '.chainer', 'dataset'))


def get_dataset_root() -> str:
    """Returns the folder where downloaded datasets are kept.

    It is ``$CHAINER_DATASET_ROOT``, or ``~/.chainer/dataset`` where that is not set.
    """
    return _root


def set_dataset_root(path: str) -> None:
    """Sets the folder where downloaded datasets are kept."""
    global _root
    _root = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """Returns the folder of one dataset below the dataset root.

    Args:
        dataset_name (str): Name, with slashes for sub-folders.
        create_directory (bool): Whether to make the folder where it does not exist.
    """
    path = os.path.join(_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """Downloads a file once and returns the path of the copy kept in the dataset root.

    Raises :class:`OSError` when the file cannot be fetched or the folder cannot be written.
    """
    # These modules would double the time of `import minichainer`.
    import hashlib
    import tempfile
    import urllib.request

    folder = get_dataset_directory('_dl_cache')
    path = os.path.join(folder, hashlib.md5(url.encode(), usedforsecurity=False).hexdigest())
    if not os.path.exists(path):
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            part = os.path.join(temporary, 'part')
            urllib.request.urlretrieve(url, part)
            os.replace(part, path)
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """Returns ``loader(path)`` if the file exists, else ``creator(path)``, which makes the file and returns
    its content.

    A file that ``creator`` made only in part never appears under ``path``.
    """
    import tempfile

    if os.path.exists(path):
        return loader(path)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        part = os.path.join(temporary, os.path.basename(path))
        content = creator(part)
        if not os.path.exists(path):
            os.replace(part, path)
    return content
