"""Downloads: resumed, checked, locked, with errors that help; from a server on the loopback interface."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from minichainer.dataset import _fetch, download
from minichainer.dataset._lock import file_lock
from tests.dataset.server import Server, serving

DATA = bytes(range(256)) * 1000


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv('no_proxy', '*')
    with serving() as state:
        state.files['/data'] = DATA
        yield state


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    before = download.get_dataset_root()
    download.set_dataset_root(str(tmp_path))
    yield tmp_path
    download.set_dataset_root(before)


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def ranges(server: Server) -> list[str | None]:
    return [wanted for _, wanted in server.requests]


def test_file_has_chainers_name(root: Path, server: Server) -> None:
    path = download.cached_download(server.url + 'data')
    assert Path(path) == root / '_dl_cache' / md5((server.url + 'data').encode())
    assert Path(path).read_bytes() == DATA
    assert os.listdir(root / '_dl_cache') == [os.path.basename(path)]


def test_a_file_of_an_old_cache_is_not_downloaded(root: Path, server: Server) -> None:
    path = root / '_dl_cache' / md5((server.url + 'data').encode())
    path.parent.mkdir()
    path.write_bytes(b'old')
    assert download.cached_download(server.url + 'data') == str(path)
    assert path.read_bytes() == b'old'
    assert server.requests == []


def test_a_broken_download_goes_on_at_once(root: Path, server: Server) -> None:
    server.breaks = [100_000, 50_000]
    assert Path(download.cached_download(server.url + 'data')).read_bytes() == DATA
    assert ranges(server) == [None, 'bytes=100000-', 'bytes=150000-']


def test_a_broken_download_goes_on_in_the_next_call(root: Path, server: Server) -> None:
    server.breaks = [10, 10, 10, 10]
    with pytest.raises(OSError, match='the connection ended after 40 of 256000 bytes'):
        download.cached_download(server.url + 'data')
    assert Path(download.cached_download(server.url + 'data')).read_bytes() == DATA
    assert ranges(server) == [None, 'bytes=10-', 'bytes=20-', 'bytes=30-', 'bytes=40-']
    assert len(os.listdir(root / '_dl_cache')) == 1


@pytest.mark.parametrize(
    ('etag', 'skips', 'asked'), [('', True, None), ('W/"1"', True, None), ('"1"', False, 'bytes=1000-')]
)
def test_a_server_that_cannot_skip_sends_all_again(
    root: Path, server: Server, etag: str, skips: bool, asked: str | None
) -> None:
    server.etag, server.skips, server.breaks = etag, skips, [1000]
    assert Path(download.cached_download(server.url + 'data')).read_bytes() == DATA
    assert ranges(server) == [None, asked]


def test_another_version_is_not_appended(root: Path, server: Server) -> None:
    server.breaks = [9, 9, 9, 9]
    with pytest.raises(OSError, match='ended after'):
        download.cached_download(server.url + 'data')
    server.files['/data'], server.etag = b'new' * 50, '"2"'
    assert Path(download.cached_download(server.url + 'data')).read_bytes() == b'new' * 50


def test_a_file_that_became_shorter_is_received_anew(root: Path, server: Server) -> None:
    server.breaks = [1000] * 4
    with pytest.raises(OSError, match='ended after'):
        download.cached_download(server.url + 'data')
    server.files['/data'] = b'short'
    assert Path(download.cached_download(server.url + 'data')).read_bytes() == b'short'


def test_a_wrong_checksum_is_an_error(root: Path, server: Server) -> None:
    with pytest.raises(OSError, match=f'has the MD5 checksum {md5(DATA)}, expected {md5(b"")}'):
        download.cached_file([server.url + 'data'], md5(b''))
    assert os.listdir(root / '_dl_cache') == []
    assert len(server.requests) == 1


def test_a_wrong_checksum_after_resuming_begins_anew(root: Path, server: Server) -> None:
    server.breaks = [1000] * 4
    with pytest.raises(OSError, match='ended after'):
        download.cached_file([server.url + 'data'], md5(b'x' * 5000))
    server.files['/data'] = b'x' * 5000
    path = download.cached_file([server.url + 'data'], md5(b'x' * 5000))
    assert Path(path).read_bytes() == b'x' * 5000


def test_a_cached_file_with_a_wrong_checksum_is_named(root: Path, server: Server) -> None:
    path = download.cached_file([server.url + 'data'], md5(DATA))
    Path(path).write_bytes(b'broken')
    with pytest.raises(OSError, match=f'{path} is broken: .* delete it'):
        download.cached_file([server.url + 'data'], md5(DATA))


def test_the_second_address_is_used_if_the_first_fails(root: Path, server: Server) -> None:
    path = download.cached_file([server.url + 'none', server.url + 'data'], md5(DATA))
    assert os.path.basename(path) == md5((server.url + 'none').encode())
    assert Path(path).read_bytes() == DATA


@pytest.mark.parametrize('algorithm', ['md5', 'sha1', 'sha256'])
def test_the_length_of_a_checksum_tells_its_algorithm(root: Path, server: Server, algorithm: str) -> None:
    right, wrong = (hashlib.new(algorithm, content, usedforsecurity=False).hexdigest() for content in (DATA, b''))
    with pytest.raises(OSError, match=f'has the {algorithm.upper()} checksum {right}, expected {wrong}'):
        download.cached_file([server.url + 'data'], wrong)
    assert Path(download.cached_file([server.url + 'data'], right)).read_bytes() == DATA


def test_addresses_by_plain_http_are_tried_last(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    def fetch(urls: list[str], path: str, checksum: str | None) -> None:
        tried.extend(urls)
        Path(path).write_bytes(b'')

    monkeypatch.setattr(_fetch, 'fetch', fetch)
    urls = ['http://first.org/', 'https://second.org/', 'http://third.org/', 'https://fourth.org/']
    path = download.cached_file(urls, md5(b''))
    assert tried == [urls[i] for i in (1, 3, 0, 2)]
    assert os.path.basename(path) == md5(urls[0].encode())  # as Chainer names it


def test_the_error_says_which_file_to_put_where(root: Path) -> None:
    url = 'http://127.0.0.1:9/data'
    path = root / '_dl_cache' / md5(url.encode())
    with pytest.raises(OSError, match=f'cannot download {url}: .*refused.* save it as {path}'):
        download.cached_download(url)
    assert os.listdir(path.parent) == []


def test_a_server_that_says_nothing_is_given_up(root: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(_fetch, '_TIMEOUT', 0.1)
    with socket.create_server(('127.0.0.1', 0)) as silent, pytest.raises(OSError, match='timed out'):
        download.cached_download(f'http://127.0.0.1:{silent.getsockname()[1]}/data')


def test_threads_wait_for_one_download(root: Path, server: Server) -> None:
    paths: list[str] = []
    threads = [
        threading.Thread(target=lambda: paths.append(download.cached_download(server.url + 'data'))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(paths) == 4
    assert len(server.requests) == 1


# --- locks ---


def _count(path: str, lock: str, times: int) -> None:
    for _ in range(times):
        with file_lock(lock):
            number = int(Path(path).read_text())
            time.sleep(0.001)
            Path(path).write_text(str(number + 1))


def _hold_and_die(lock: str) -> None:
    with file_lock(lock):
        os._exit(1)


def test_a_lock_is_held_by_one_process_at_a_time(tmp_path: Path) -> None:
    path, lock = str(tmp_path / 'number'), str(tmp_path / 'lock')
    Path(path).write_text('0')
    spawn = multiprocessing.get_context('spawn')
    process = spawn.Process(target=_count, args=(path, lock, 50))
    process.start()
    while process.is_alive() and Path(path).read_text() in ('', '0'):
        time.sleep(0.005)
    _count(path, lock, 50)
    process.join()
    assert int(Path(path).read_text()) == 100
    assert not os.path.exists(lock)


def test_a_lock_is_free_when_its_holder_has_died(tmp_path: Path) -> None:
    lock = str(tmp_path / 'lock')
    process = multiprocessing.get_context('spawn').Process(target=_hold_and_die, args=(lock,))
    process.start()
    process.join()
    assert os.path.exists(lock)
    with file_lock(lock):
        pass
    assert not os.path.exists(lock)


def test_a_lock_is_free_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match='stop'), file_lock(str(tmp_path / 'lock')):
        raise RuntimeError('stop')
    with file_lock(str(tmp_path / 'lock')):
        assert os.listdir(tmp_path) == ['lock']


def test_a_file_is_created_by_one_thread_only(tmp_path: Path) -> None:
    created: list[Any] = []

    def create(path: str) -> str:
        created.append(path)
        time.sleep(0.05)
        Path(path).write_text('made')
        return 'made'

    found: list[str] = []

    def call() -> None:
        path = str(tmp_path / 'folder' / 'file')
        found.append(download.cache_or_load_file(path, create, lambda p: Path(p).read_text()))

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ['made'] * 4
    assert len(created) == 1
    assert os.listdir(tmp_path / 'folder') == ['file']
