"""MNIST, CIFAR, SVHN and PTB: files made here, from a server on the loopback interface, and caches of Chainer."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import io
import pickle
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io

from minichainer import datasets
from minichainer.configuration import mixed16, using_config
from minichainer.dataset import download
from minichainer.datasets import cifar, fashion_mnist, kuzushiji_mnist, mnist, ptb, svhn
from minichainer.datasets.mnist import get_mnist
from minichainer.datasets.tuple_dataset import TupleDataset
from tests.dataset.server import Server, serving

IDX = {'get_mnist': mnist, 'get_fashion_mnist': fashion_mnist, 'get_kuzushiji_mnist': kuzushiji_mnist}
FOLDERS = {'get_mnist': 'mnist', 'get_fashion_mnist': 'fashion-mnist', 'get_kuzushiji_mnist': 'kuzushiji_mnist'}


def pixels(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).randint(0, 256, shape).astype(np.uint8)


def idx(magic: int, data: np.ndarray) -> bytes:
    return gzip.compress(struct.pack(f'>{1 + data.ndim}I', magic, *data.shape) + data.tobytes())


def archive(files: dict[str, dict[str, Any]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode='w:gz') as tar:
        for name, content in files.items():
            data = pickle.dumps(content, protocol=2)
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return out.getvalue()


def matlab(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    scipy.io.savemat(out, arrays)
    return out.getvalue()


def cifar_files(labels: str, parts: dict[str, int]) -> dict[str, dict[str, Any]]:
    x = pixels(sum(parts.values()), 3072)
    files, start = {}, 0
    for name, n in parts.items():
        files[name] = {'data': x[start : start + n], labels: list(range(start, start + n))}
        start += n
    return files


CIFAR10 = {f'cifar-10-batches-py/data_batch_{i}': 2 for i in range(1, 6)} | {'cifar-10-batches-py/test_batch': 3}
CIFAR100 = {'cifar-100-python/train': 4, 'cifar-100-python/test': 2}
SVHN_LABELS = np.array([[10], [1], [9]], np.uint8)
FILES = {
    'train-images-idx3-ubyte.gz': idx(2051, pixels(5, 28, 28)),
    'train-labels-idx1-ubyte.gz': idx(2049, np.arange(5, dtype=np.uint8)),
    't10k-images-idx3-ubyte.gz': idx(2051, pixels(3, 28, 28)[::-1]),
    't10k-labels-idx1-ubyte.gz': idx(2049, np.arange(7, 10, dtype=np.uint8)),
    'cifar-10-python.tar.gz': archive(cifar_files('labels', CIFAR10)),
    'cifar-100-python.tar.gz': archive(cifar_files('fine_labels', CIFAR100)),
    'train_32x32.mat': matlab(X=pixels(32, 32, 3, 3), y=SVHN_LABELS),
    'test_32x32.mat': matlab(X=pixels(32, 32, 3, 3), y=SVHN_LABELS[::-1]),
    'extra_32x32.mat': matlab(X=pixels(32, 32, 3, 3), y=SVHN_LABELS),
    'ptb.train.txt': b' the cat <unk> N sat \n the dog sat \n',
    'ptb.valid.txt': b' the dog \n',
    'ptb.test.txt': b' a cat \n',
}


def md5(name: str) -> str:
    return hashlib.md5(FILES[name], usedforsecurity=False).hexdigest()


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    before = download.get_dataset_root()
    download.set_dataset_root(str(tmp_path))
    yield tmp_path
    download.set_dataset_root(before)


@pytest.fixture
def server(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Serves all files, and makes the functions look there."""
    monkeypatch.setenv('no_proxy', '*')
    with serving() as state:
        state.files.update({f'/{name}': content for name, content in FILES.items()})
        for module in IDX.values():
            checksums = {name: md5(name) for name in module._SOURCE.md5}
            source = dataclasses.replace(module._SOURCE, urls=(state.url,), md5=checksums)
            monkeypatch.setattr(module, '_SOURCE', source)
        for name in ('_CIFAR10', '_CIFAR100'):
            source = getattr(cifar, name)
            file = source.urls[0].rpartition('/')[2]
            monkeypatch.setattr(cifar, name, dataclasses.replace(source, urls=(state.url + file,), md5=md5(file)))
        monkeypatch.setattr(svhn, '_URLS', (state.url,))
        monkeypatch.setattr(svhn, '_MD5', {part: md5(f'{part}_32x32.mat') for part in svhn._MD5})
        monkeypatch.setattr(ptb, '_URL', state.url)
        monkeypatch.setattr(ptb, '_MD5', {part: md5(f'ptb.{part}.txt') for part in ptb._MD5})
        yield state


def columns(dataset: Any) -> list[np.ndarray]:
    assert isinstance(dataset, TupleDataset)
    return [np.stack(column) for column in zip(*dataset[:], strict=True)]


@pytest.mark.parametrize('name', IDX)
def test_mnist_and_its_kin(server: Server, root: Path, name: str) -> None:
    train, test = getattr(datasets, name)()
    x, t = columns(train)
    np.testing.assert_array_equal(x, pixels(5, 784).astype(np.float32) * (1 / 255))
    assert (x.dtype, t.dtype, t.tolist()) == (np.float32, np.int32, [0, 1, 2, 3, 4])
    assert columns(test)[1].tolist() == [7, 8, 9]
    assert len(server.requests) == 4
    getattr(datasets, name)()
    assert len(server.requests) == 4
    folder = root / 'pfnet' / 'chainer' / FOLDERS[name]
    assert sorted(path.name for path in folder.iterdir()) == ['test.npz', 'train.npz']
    with np.load(folder / 'train.npz') as made:
        assert {key: (made[key].shape, made[key].dtype) for key in made} == {
            'x': ((5, 784), np.uint8), 'y': ((5,), np.uint8),
        }  # fmt: skip


@pytest.mark.parametrize(
    ('options', 'shape', 'dtype', 'largest'),
    [
        ({}, (784,), 'float32', 1),
        ({'ndim': 2}, (28, 28), 'float32', 1),
        ({'ndim': 3, 'scale': 255.0}, (1, 28, 28), 'float32', 255),
        ({'ndim': 3, 'rgb_format': True, 'dtype': 'float64'}, (3, 28, 28), 'float64', 1),
        ({'ndim': 1, 'rgb_format': True, 'dtype': np.float16}, (784,), 'float16', 1),
    ],
)
@pytest.mark.parametrize('withlabel', [True, False])
def test_forms_of_mnist(
    server: Server, options: dict[str, Any], shape: Any, dtype: str, largest: float, withlabel: bool
) -> None:
    train, _ = get_mnist(withlabel=withlabel, label_dtype=np.int64, **options)
    if withlabel:
        train, t = columns(train)
        assert t.dtype == np.int64
    assert (train.shape, train.dtype, float(train.max())) == ((5, *shape), np.dtype(dtype), largest)


@pytest.mark.parametrize('dtype', [np.dtype('float16'), mixed16])
def test_the_configured_dtype_is_that_of_images(server: Server, dtype: Any) -> None:
    with using_config('dtype', dtype):
        assert get_mnist(withlabel=False)[0].dtype == np.float16


@pytest.mark.parametrize(
    ('name', 'files', 'n'), [('get_cifar10', CIFAR10, (10, 3)), ('get_cifar100', CIFAR100, (4, 2))]
)
def test_cifar(server: Server, root: Path, name: str, files: Any, n: tuple[int, int]) -> None:
    train, test = getattr(datasets, name)(scale=255)
    all_pixels = pixels(sum(n), 3, 32, 32)
    for part, images, labels in [
        (train, all_pixels[: n[0]], range(n[0])), (test, all_pixels[n[0] :], range(n[0], sum(n))),
    ]:  # fmt: skip
        x, t = columns(part)
        np.testing.assert_array_equal(x, images)
        assert (x.dtype, t.dtype, t.tolist()) == (np.float32, np.int32, list(labels))
    flat, _ = getattr(datasets, name)(withlabel=False, ndim=1, dtype='float64')
    assert (flat.shape, flat.dtype, len(server.requests)) == ((n[0], 3072), np.float64, 1)
    with np.load(root / 'pfnet' / 'chainer' / 'cifar' / f'{name[4:9]}-{name[9:]}.npz') as made:
        assert sorted(made) == ['test_x', 'test_y', 'train_x', 'train_y']
        assert made['train_y'].dtype == np.uint8


def test_svhn(server: Server, root: Path) -> None:
    train, _, extra = datasets.get_svhn(scale=255, label_dtype=np.int8, add_extra=True)
    x, t = columns(train)
    np.testing.assert_array_equal(x, pixels(32, 32, 3, 3).transpose(3, 2, 0, 1))
    assert (x.dtype, t.dtype, t.tolist(), len(extra)) == (np.float32, np.int8, [0, 1, 9], 3)
    x, _ = datasets.get_svhn(withlabel=False, dtype='float64')
    assert (x.shape, x.dtype, x.max(), len(server.requests)) == ((3, 3, 32, 32), np.float64, 1, 3)
    with np.load(root / 'pfnet' / 'chainer' / 'svhn' / 'train.npz') as made:
        assert (made['x'].shape, made['y'].tolist()) == ((32, 32, 3, 3), SVHN_LABELS.tolist())


def test_ptb(server: Server, root: Path) -> None:
    server.files['/ptb.test.txt'] = b' the cat \n'
    ptb._MD5['test'] = None
    for _ in range(2):
        train, valid, test = datasets.get_ptb_words()
        assert train.tolist() == [0, 1, 2, 3, 4, 5, 0, 6, 4, 5]
        assert (train.dtype, valid.tolist(), test.tolist()) == (np.int32, [0, 6, 5], [0, 1, 5])
        assert datasets.get_ptb_words_vocabulary() == {
            'the': 0, 'cat': 1, '<unk>': 2, 'N': 3, 'sat': 4, '<eos>': 5, 'dog': 6,
        }  # fmt: skip
    assert len(server.requests) == 3
    folder = root / 'pfnet' / 'chainer' / 'ptb'
    assert (folder / 'vocab.txt').read_bytes() == b'the\ncat\n<unk>\nN\nsat\n<eos>\ndog\n'
    assert sorted(path.name for path in folder.iterdir()) == ['test.npz', 'train.npz', 'valid.npz', 'vocab.txt']


def test_a_word_outside_the_vocabulary(server: Server) -> None:
    with pytest.raises(KeyError, match=r"the word 'a' of .*ptb.test.txt is not in .*vocab.txt"):
        datasets.get_ptb_words()


def test_names_of_classes() -> None:
    assert datasets.get_fashion_mnist_labels() == [
        'T-shirt/top', 'Trouser', 'Pullover', 'Dress', 'Coat', 'Sandal', 'Shirt', 'Sneaker', 'Bag', 'Ankle boot',
    ]  # fmt: skip
    assert datasets.get_kuzushiji_mnist_labels() == [
        ('o', 'お'), ('ki', 'き'), ('su', 'す'), ('tsu', 'つ'), ('na', 'な'), ('ha', 'は'), ('ma', 'ま'),
        ('ya', 'や'), ('re', 'れ'), ('wo', 'を'),
    ]  # fmt: skip


# --- errors ---


@pytest.mark.parametrize(
    ('call', 'message'),
    [
        (lambda: get_mnist(ndim=4), 'get_mnist: ndim must be 1, 2 or 3, got 4'),
        (lambda: datasets.get_cifar10(ndim=2), 'get_cifar10: ndim must be 1 or 3, got 2'),
        (lambda: datasets.get_cifar100(ndim=0), 'get_cifar100: ndim must be 1 or 3, got 0'),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_downloaded(server: Server, call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
    assert server.requests == []


NAMES = [*IDX, 'get_cifar10', 'get_cifar100', 'get_svhn', 'get_ptb_words', 'get_ptb_words_vocabulary']


@pytest.mark.parametrize('name', NAMES)
def test_without_network_the_error_says_which_file_to_put_where(server: Server, root: Path, name: str) -> None:
    server.files.clear()
    with pytest.raises(
        OSError, match=rf'{name}.*cannot download {server.url}.*404.*save it as {root}/_dl_cache/'
    ) as e:
        getattr(datasets, name)()
    assert f'Or copy {root}/pfnet/chainer/' in str(e.value)
    assert [path for path in root.rglob('*') if path.is_file()] == []


@pytest.mark.parametrize('name', NAMES)
def test_a_file_with_other_content_is_refused(server: Server, root: Path, name: str) -> None:
    server.files.update(dict.fromkeys(server.files, b'an error page'))
    with pytest.raises(OSError, match='the file received has the MD5 checksum'):
        getattr(datasets, name)()
    assert [path for path in root.rglob('*') if path.is_file()] == []


def _without_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist, '_SOURCE', dataclasses.replace(mnist._SOURCE, md5=dict.fromkeys(mnist._SOURCE.md5)))
    monkeypatch.setattr(cifar, '_CIFAR10', dataclasses.replace(cifar._CIFAR10, md5=None))
    monkeypatch.setattr(svhn, '_MD5', dict.fromkeys(svhn._MD5))


class Harmful:
    def __reduce__(self) -> Any:
        return print, ('harm',)


@pytest.mark.parametrize(
    ('name', 'file', 'content', 'message'),
    [
        ('get_mnist', 'train-images-idx3-ubyte.gz', b'no gzip', 'Not a gzipped file'),
        ('get_mnist', 'train-images-idx3-ubyte.gz', FILES['train-images-idx3-ubyte.gz'][:500], 'EOFError'),
        ('get_mnist', 'train-images-idx3-ubyte.gz', FILES['train-labels-idx1-ubyte.gz'], 'begins with 2051, found'),
        ('get_mnist', 'train-images-idx3-ubyte.gz', gzip.compress(b''), 'begins with 2051, found None'),
        ('get_cifar10', 'cifar-10-python.tar.gz', b'no archive', 'not a gzip file'),
        ('get_cifar10', 'cifar-10-python.tar.gz', archive({'other': {}}), 'data_batch_1'),
        ('get_cifar10', 'cifar-10-python.tar.gz', archive({n: {'data': Harmful()} for n in CIFAR10}), 'asks for'),
        (
            'get_cifar10',
            'cifar-10-python.tar.gz',
            archive({name: {'data': pixels(2, 3072), 'labels': [1]} for name in CIFAR10}),
            'has 2 images and 1 labels',
        ),
        ('get_svhn', 'train_32x32.mat', b'no matlab file', 'Error'),
        ('get_svhn', 'train_32x32.mat', matlab(y=SVHN_LABELS), "KeyError: 'X'"),
    ],
    ids=lambda value: value if isinstance(value, str) else 'content',
)  # fmt: skip
def test_a_file_in_another_format_is_named(
    server: Server, root: Path, monkeypatch: pytest.MonkeyPatch, name: str, file: str, content: bytes, message: str
) -> None:
    _without_checksums(monkeypatch)
    server.files[f'/{file}'] = content
    with pytest.raises(OSError, match=rf'{name}: {root}/_dl_cache/\w+ is broken \(.*{message}'):
        getattr(datasets, name)()
    assert not (root / 'pfnet').exists() or not [*root.glob('pfnet/chainer/*/*')]


def test_a_broken_cache_is_named(server: Server, root: Path) -> None:
    get_mnist()
    path = root / 'pfnet' / 'chainer' / 'mnist' / 'train.npz'
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(OSError, match=rf'get_mnist: {path} is broken .*; delete it'):
        get_mnist()
    path.unlink()
    get_mnist()


# --- caches of Chainer ---


def test_an_old_cache_is_used_as_it_is(root: Path) -> None:
    """Files as Chainer 7.8.1 writes them; nothing answers at the addresses of the true files."""
    old: dict[str, dict[str, np.ndarray]] = {
        'mnist/train': {'x': pixels(4, 784), 'y': np.arange(4, dtype=np.uint8)},
        'mnist/test': {'x': pixels(2, 784), 'y': np.arange(2, dtype=np.uint8)},
        'cifar/cifar-10': {
            'train_x': pixels(4, 3072), 'train_y': np.arange(4, dtype=np.uint8),
            'test_x': pixels(2, 3072), 'test_y': np.arange(2, dtype=np.uint8),
        },
        'svhn/train': {'x': pixels(32, 32, 3, 2), 'y': np.array([[10], [3]], np.uint8)},
        'svhn/test': {'x': pixels(32, 32, 3, 1), 'y': np.array([[5]], np.uint8)},
        'ptb/train': {'x': np.array([0, 1, 2], np.int32)},
        'ptb/valid': {'x': np.array([1], np.int32)},
        'ptb/test': {'x': np.array([2], np.int32)},
    }  # fmt: skip
    for name, arrays in old.items():
        path = root / 'pfnet' / 'chainer' / f'{name}.npz'
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **arrays)
    (root / 'pfnet' / 'chainer' / 'ptb' / 'vocab.txt').write_text('a\nb\n<eos>\n')
    assert columns(get_mnist()[1])[1].tolist() == [0, 1]
    assert columns(datasets.get_cifar10()[0])[0].shape == (4, 3, 32, 32)
    assert columns(datasets.get_svhn()[0])[1].tolist() == [0, 3]
    assert [words.tolist() for words in datasets.get_ptb_words()] == [[0, 1, 2], [1], [2]]
    assert datasets.get_ptb_words_vocabulary() == {'a': 0, 'b': 1, '<eos>': 2}
    assert not (root / '_dl_cache').exists()
