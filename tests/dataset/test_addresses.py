"""What the package fetches: addresses, checksums, and the page that tells them."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

import minichainer
from minichainer.datasets import cifar, fashion_mnist, kuzushiji_mnist, mnist, ptb, svhn
from minichainer.links.model.vision import googlenet, vgg

SOURCES = {
    **{module._SOURCE.name: module._SOURCE for module in (mnist, fashion_mnist, kuzushiji_mnist)},
    **{source.name: source for source in (cifar._CIFAR10, cifar._CIFAR100)},
}


def _built_in() -> dict[str, tuple[list[str], list[str | None]]]:
    """By function: the addresses that it has built in, and the checksums of its files."""
    found = {name: (list(source.urls), _values(source.md5)) for name, source in SOURCES.items()}
    found |= {'get_svhn': (list(svhn._URLS), _values(svhn._MD5)), 'get_ptb_words': ([ptb._URL], _values(ptb._MD5))}
    found['GoogLeNet'] = (list(googlenet._PUBLISHED.urls), [googlenet._PUBLISHED.checksum])
    return found | {f'VGG{n}Layers': ([vgg._URL], [vgg._SHA1[n]]) for n in (16, 19)}


def _values(checksums: Any) -> list[str | None]:
    return list(checksums.values()) if isinstance(checksums, dict) else [checksums]


@pytest.mark.parametrize('name', _built_in())
def test_every_address_has_https_a_checksum_and_a_line_in_the_page(name: str) -> None:
    urls, checksums = _built_in()[name]
    page = (Path(__file__).resolve().parents[2] / 'SECURITY.md').read_text(encoding='utf-8')
    row = next(line for line in page.splitlines() if f'`{name}`' in line)
    assert any(url.startswith('https:') for url in urls)
    assert all(checksums)
    assert [url for url in urls if urllib.parse.urlsplit(url).netloc not in row] == []


def test_no_module_has_other_addresses() -> None:
    """A new one needs a row in SECURITY.md and above."""
    package = Path(minichainer.__file__).parent
    known = {host(url) for urls, _ in _built_in().values() for url in urls}
    sources = [*(package / 'datasets').glob('*.py'), *(package / 'links' / 'model' / 'vision').glob('*.py')]
    found = {url: path.name for path in sources for url in re.findall(r"'(https?://[^']*)'", path.read_text())}
    assert {url: name for url, name in found.items() if host(url) not in known} == {
        'https://github.com/KaimingHe/deep-residual-networks': 'resnet.py'  # shown, not fetched
    }
    calls = {
        path.relative_to(package).as_posix()
        for path in package.rglob('*.py')
        if path.relative_to(package).parts[0] not in ('compat', 'doctor')  # addresses of the program; names only
        and re.search(r'urllib\.request|http\.client|cached_(file|download)\(', path.read_text(encoding='utf-8'))
    }
    assert calls == FETCHING


def host(url: str) -> str:
    return urllib.parse.urlsplit(url).netloc


FETCHING = {
    'dataset/_fetch.py',
    'dataset/download.py',
    'datasets/_archive.py',
    'datasets/ptb.py',
    'links/model/vision/_weights.py',
}
