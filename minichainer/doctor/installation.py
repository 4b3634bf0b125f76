"""How the package was installed, and so how its compiled parts can be built."""

from __future__ import annotations

import importlib.metadata
import json
import shlex
from pathlib import Path
from typing import Any

from minichainer._version import __version__

PACKAGE = Path(__file__).resolve().parents[1]
#: pip takes a wheel that it has built before, unless it is told not to.
_AGAIN = 'python -m pip install --force-reinstall --no-deps --no-cache-dir'


def how_to_build(package: Path = PACKAGE) -> str:
    """The command that builds the compiled parts, once there is a compiler.

    Args:
        package: the folder of the package.
    """
    if (package.parent / 'setup.py').is_file():
        return f'{_AGAIN} -e {_quoted(package.parent)}'
    origin = _origin()
    if origin is None:
        return f'{_AGAIN} --no-binary minichainer minichainer=={__version__}'
    source = _source_of(origin)
    return f'{_AGAIN} {source or "."}{"" if source else "   (in a clone of minichainer)"}'


def _origin() -> dict[str, Any] | None:
    """What pip has noted about a package that it did not find by its name."""
    try:
        text = importlib.metadata.distribution('minichainer').read_text('direct_url.json')
    except importlib.metadata.PackageNotFoundError:
        return {'url': ''}
    found: dict[str, Any] | None = json.loads(text) if text else None
    return found


def _source_of(origin: dict[str, Any]) -> str | None:
    """What pip can build from: a repository, an archive or a folder; None if that was a wheel, or is not there."""
    url: str = origin['url']
    if 'vcs_info' in origin:
        vcs = origin['vcs_info']
        return shlex.quote(f'minichainer @ {vcs["vcs"]}+{url}@{vcs["commit_id"]}')
    if url.endswith('.whl') or not url:
        return None
    if not url.startswith('file:'):
        return shlex.quote(url)
    path = _path_of(url)
    return _quoted(path) if path.exists() else None


def _path_of(url: str) -> Path:
    from urllib.parse import urlparse
    from urllib.request import url2pathname

    return Path(url2pathname(urlparse(url).path))


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
