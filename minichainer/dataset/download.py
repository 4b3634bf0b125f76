from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from minichainer.dataset._lock import file_lock

_root = os.environ.get('CHAINER_DATASET_ROOT', os.path.join(os.path.expanduser('~'), '.chainer', 'dataset'))


def get_dataset_root() -> str:
    """Returns the folder of downloaded datasets.

    It is ``$CHAINER_DATASET_ROOT``, or ``~/.chainer/dataset`` if that is not set.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> isinstance(chainer.dataset.get_dataset_root(), str)
        True

    """
    return _root


def set_dataset_root(path: str) -> None:
    """Sets the folder of downloaded datasets.

    Args:
        path (str): Folder; it need not exist yet.

    .. admonition:: Example

        >>> import minichainer as chainer
        >>> before = chainer.dataset.get_dataset_root()
        >>> chainer.dataset.set_dataset_root('/data')
        >>> chainer.dataset.get_dataset_root()
        '/data'
        >>> chainer.dataset.set_dataset_root(before)

    """
    global _root
    _root = path


def get_dataset_directory(dataset_name: str, create_directory: bool = True) -> str:
    """Returns the folder of one dataset in the dataset root.

    Args:
        dataset_name (str): Name, with slashes for sub-folders.
        create_directory (bool): Whether to make the folder where it does not exist.

    .. admonition:: Example

        >>> import os
        >>> import minichainer as chainer
        >>> folder = chainer.dataset.get_dataset_directory('letters/small', create_directory=False)
        >>> os.path.relpath(folder, chainer.dataset.get_dataset_root())
        'letters/small'

    """
    path = os.path.join(_root, dataset_name)
    if create_directory:
        os.makedirs(path, exist_ok=True)
    return path


def cached_download(url: str) -> str:
    """Downloads a file once and returns the path of the copy in the dataset root.

    The copy has the name that Chainer gives to it. One process downloads, others wait for it. A download that broke
    goes on where it was, if the server can do that.

    Args:
        url (str): Address of the file.

    Raises:
        OSError: the file cannot be downloaded. The message names the file to put there by hand.

    .. admonition:: Example

        >>> import pathlib
        >>> import tempfile
        >>> import minichainer as chainer
        >>> before = chainer.dataset.get_dataset_root()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     chainer.dataset.set_dataset_root(folder)
        ...     source = pathlib.Path(folder, 'numbers.txt')
        ...     _ = source.write_text('1 2 3')
        ...     print(pathlib.Path(chainer.dataset.cached_download(source.as_uri())).read_text())
        1 2 3
        >>> chainer.dataset.set_dataset_root(before)

    """
    return cached_file([url])


def cached_file(urls: Sequence[str], checksum: str | None = None) -> str:
    """:func:`cached_download` of a file with several addresses, or a known checksum.

    The copy has the name that Chainer gives to the file of the first address. One process downloads, others wait for
    it. A download that broke goes on where it was, if the server can do that.

    Args:
        urls: addresses of the same file, tried in turn, those by plain http last.
        checksum (str): hexadecimal digits of the MD5, SHA-1 or SHA-256 checksum, which their number tells; a file
            with another one never gets the name of the copy. ``None`` checks nothing but the size.

    Raises:
        OSError: no address works, or the file has another checksum. The message names the file to put there by hand.
    """
    # Imported here, because these modules would double the time of `import minichainer`.
    import hashlib

    from minichainer.dataset._fetch import check, fetch

    folder = get_dataset_directory('_dl_cache')
    path = os.path.join(folder, hashlib.md5(urls[0].encode(), usedforsecurity=False).hexdigest())
    if not os.path.exists(path):
        with file_lock(f'{path}.lock'):
            if not os.path.exists(path):
                fetch(sorted(urls, key=lambda url: url.startswith('http:')), path, checksum)
                return path
    check(path, checksum)
    return path


def cache_or_load_file(path: str, creator: Callable[[str], Any], loader: Callable[[str], Any]) -> Any:
    """Returns ``loader(path)`` if the file exists, else ``creator(path)``, which makes the file and returns its
    content.

    An incomplete file from ``creator`` never appears under ``path``. One process makes the file, others wait for it.

    Args:
        path (str): Path of the file.
        creator: Function ``creator(path)`` that writes the file and returns its content.
        loader: Function ``loader(path)`` that reads the file and returns its content.

    .. admonition:: Example

        >>> import os
        >>> import tempfile
        >>> import numpy as np
        >>> import minichainer as chainer
        >>> def make(path):
        ...     np.save(path, np.arange(3))
        ...     return np.load(path)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, 'numbers.npy')
        ...     for _ in range(2):  # the second time the file is there
        ...         print(chainer.dataset.cache_or_load_file(path, make, np.load))
        [0 1 2]
        [0 1 2]

    """
    import tempfile

    if os.path.exists(path):
        return loader(path)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with file_lock(f'{path}.lock'):
        if os.path.exists(path):
            return loader(path)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            part = os.path.join(temporary, os.path.basename(path))
            content = creator(part)
            os.replace(part, path)
    return content
