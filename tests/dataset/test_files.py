"""Datasets of images, of pickles and of lines of text: what Chainer 7.8.1 gives, and errors that name the file."""

from __future__ import annotations

import io
import multiprocessing
import os
import pickle
import re
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from minichainer import datasets as d
from minichainer.configuration import using_config

#: Modes of Pillow, and how many channels an array of such an image has.
CHANNELS = {'L': 1, 'RGB': 3, 'RGBA': 4, 'LA': 2, 'P': 1, '1': 1}
ANY = np.random.RandomState(0).randint(0, 256, (2, 3, 4)).astype(np.uint8)


def image(mode: str) -> tuple[PIL.Image.Image, np.ndarray]:
    """An image of 3 by 2 pixels, and the array (channels, height, width) that is expected of it."""
    if mode in ('L', 'P', '1'):
        made = PIL.Image.fromarray(ANY[..., 0]).convert(mode)
        return made, np.asarray(made).astype(np.float32)[None]
    array = ANY[..., : CHANNELS[mode]].copy()
    return PIL.Image.fromarray(array), array.transpose(2, 0, 1).astype(np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with images, lists of them, and broken files."""
    for mode in CHANNELS:
        image(mode)[0].save(tmp_path / f'{mode}.png')
    files = {
        'list.txt': 'L.png\nRGB.png\n',
        'gap.txt': 'L.png\n\nRGB.png\n',
        'pairs.txt': 'L.png 3\n  RGB.png\t-1 \n',
        'three.txt': 'L.png 3 4\n',
        'words.txt': 'L.png 3\nRGB.png seven\n',
        'float.txt': 'L.png 3.5\n',
        'not.png': 'nothing',
        'a.txt': 'a b\n\nc\r\nlast',
        'b.txt': '1\n2\n',
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content.encode())
    (tmp_path / 'half.png').write_bytes((tmp_path / 'RGB.png').read_bytes()[:60])
    (tmp_path / 'latin.txt').write_bytes('é\nz\n'.encode('latin1'))
    with zipfile.ZipFile(tmp_path / 'one.zip', 'w') as archive:
        archive.writestr('sub/', b'')
        for name in ('RGB.png', 'not.png', 'half.png'):
            archive.write(tmp_path / name, f'sub/{name}')
    with zipfile.ZipFile(tmp_path / 'two.zip', 'w') as archive:
        archive.write(tmp_path / 'L.png', 'L.png')
        archive.write(tmp_path / 'RGBA.png', 'RGBA.png')
    (tmp_path / 'zipped.txt').write_text('RGBA.png 5\nL.png 6\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def written(folder: Path) -> Path:
    with d.open_pickle_dataset_writer('examples.pickle') as writer:
        for example in (1, {'x': [2]}, None):
            writer.write(example)
    return folder / 'examples.pickle'


# --- images ---


@pytest.mark.parametrize('mode', CHANNELS)
@pytest.mark.parametrize('dtype', ['float16', 'float32', 'float64', 'uint8'])
def test_an_image_has_its_channels_first(folder: Path, mode: str, dtype: str) -> None:
    found = d.ImageDataset([f'{mode}.png'], dtype=dtype)[0]
    assert (found.shape, found.dtype) == ((CHANNELS[mode], 2, 3), np.dtype(dtype))
    np.testing.assert_array_equal(found, image(mode)[1])


def test_paths_come_from_a_list_or_a_file(folder: Path) -> None:
    for paths in (['L.png', 'RGB.png'], ('L.png', Path('RGB.png')), 'list.txt', Path('list.txt')):
        made = d.ImageDataset(paths)
        assert [x.shape for x in made[:]] == [(1, 2, 3), (3, 2, 3)]
        assert len(made) == 2
    os.chdir('/')
    assert d.ImageDataset([folder / 'L.png'])[-1].shape == (1, 2, 3)
    assert d.ImageDataset(['L.png'], root=folder)[0].shape == (1, 2, 3)


def test_the_configured_dtype_at_construction_is_that_of_images(folder: Path) -> None:
    with using_config('dtype', np.dtype('float16')):
        made = d.ImageDataset(['L.png'])
    assert made[0].dtype == np.float16


@pytest.mark.parametrize('pairs', ['pairs.txt', [('L.png', 3), ('RGB.png', -1)], [['L.png', '3'], ['RGB.png', '-1']]])
def test_labels(folder: Path, pairs: Any) -> None:
    made = d.LabeledImageDataset(pairs)
    (x, t), (_, u) = made[:]
    np.testing.assert_array_equal(x, image('L')[1])
    assert (t.shape, t.dtype, int(t), int(u), len(made)) == ((), np.int32, 3, -1, 2)


@pytest.mark.parametrize(
    ('label', 'dtype', 'expected'),
    [
        (3.0, 'int64', 3),
        (3.5, 'float32', 3.5),
        ([1, 2], 'int8', [1, 2]),
        (True, 'int32', 1),
        (np.uint8(9), bool, True),
    ],
)
def test_labels_of_other_dtypes(folder: Path, label: Any, dtype: Any, expected: Any) -> None:
    _, t = d.LabeledImageDataset([('L.png', label)], label_dtype=dtype)[0]
    assert t.dtype == np.dtype(dtype)
    assert t.tolist() == expected


def test_zipped_images(folder: Path) -> None:
    made = d.ZippedImageDataset('two.zip')
    assert len(made) == 2
    np.testing.assert_array_equal(made[1], image('RGBA')[1])
    np.testing.assert_array_equal(made['L.png'], image('L')[1])
    assert len(d.ZippedImageDataset('one.zip')) == 3
    np.testing.assert_array_equal(
        d.ZippedImageDataset('one.zip', dtype='uint8').get_example('sub/RGB.png').dtype, 'uint8'
    )


def test_several_zip_files(folder: Path) -> None:
    made = d.MultiZippedImageDataset(['two.zip', Path('one.zip')])
    assert len(made) == 5
    assert [made[i].shape[0] for i in range(3)] == [1, 4, 3]
    for index in (5, -1):
        with pytest.raises(IndexError, match='out of range for 5 examples'):
            made[index]


def test_zipped_images_with_labels(folder: Path) -> None:
    made = d.LabeledZippedImageDataset('two.zip', 'zipped.txt', label_dtype=np.int8)
    assert [(x.shape[0], int(t), t.dtype) for x, t in made[:]] == [(4, 5, np.int8), (1, 6, np.int8)]
    assert len(made) == 2


# --- pickles ---


def test_pickled_examples(written: Path) -> None:
    with d.open_pickle_dataset(written) as made:
        assert (len(made), made[:], made[-1]) == (3, [1, {'x': [2]}, None], None)
    with pytest.raises(ValueError, match='closed file'):
        made[0]
    assert written.read_bytes().startswith(b'\x80\x05K\x01.\x80\x05')  # as Chainer writes them


def test_files_of_other_protocols_can_be_joined(written: Path) -> None:
    more = io.BytesIO()
    d.PickleDatasetWriter(more, protocol=2).write('x')
    assert more.getvalue() == b'\x80\x02X\x01\x00\x00\x00xq\x00.'
    joined = io.BytesIO(written.read_bytes() + more.getvalue())
    assert d.PickleDataset(joined)[:] == [1, {'x': [2]}, None, 'x']


def test_nothing_is_written_of_what_cannot_be_pickled(folder: Path) -> None:
    with d.open_pickle_dataset_writer('some.pickle') as writer:
        writer.write([1])
        with pytest.raises((pickle.PicklingError, AttributeError, TypeError)):
            writer.write([1, lambda: 0])
        writer.flush()
        with d.open_pickle_dataset('some.pickle') as made:
            assert made[:] == [[1]]
    with pytest.raises(ValueError, match='closed file'):
        writer.write(1)
    writer.close()


def test_an_empty_file_has_no_examples(folder: Path) -> None:
    Path('empty.pickle').touch()
    with d.open_pickle_dataset('empty.pickle') as made:
        assert (len(made), made[:]) == (0, [])


# --- text ---


@pytest.mark.parametrize(
    ('args', 'options', 'expected'),
    [
        ('a.txt', {}, ['a b\n', '\n', 'c\n', 'last']),
        ('a.txt', {'newline': ''}, ['a b\n', '\n', 'c\r\n', 'last']),
        ('a.txt', {'newline': '\n'}, ['a b\n', '\n', 'c\r\n', 'last']),
        ('a.txt', {'newline': '\r\n'}, ['a b\n\nc\r\n', 'last']),
        ('a.txt', {'newline': '\r'}, ['a b\n\nc\r', '\nlast']),
        ('a.txt', {'filter_func': str.strip}, ['a b\n', 'c\n', 'last']),
        (['b.txt'], {}, ['1\n', '2\n']),
        (Path('b.txt'), {}, ['1\n', '2\n']),
        (('b.txt', 'latin.txt'), {'encoding': [None, 'latin1']}, [('1\n', 'é\n'), ('2\n', 'z\n')]),
        (['b.txt', 'b.txt'], {'filter_func': lambda a, b: a != '1\n'}, [('2\n', '2\n')]),
        ('latin.txt', {'encoding': 'ascii', 'errors': 'replace'}, ['�\n', 'z\n']),
        (os.devnull, {}, []),
    ],
)
def test_lines(folder: Path, args: Any, options: dict[str, Any], expected: list[Any]) -> None:
    made = d.TextDataset(args, **options)
    assert (len(made), made[:]) == (len(expected), expected)
    assert [made[i] for i in range(len(made) - 1, -1, -1)] == expected[::-1]
    made.close()
    assert len(made) == len(expected)
    if expected:
        with pytest.raises(ValueError, match='closed file'):
            made[0]


# --- other processes ---


def reader_of(name: str) -> Any:
    if name == 'pickle':
        return d.open_pickle_dataset('examples.pickle')
    if name == 'text':
        return d.TextDataset('b.txt')
    return d.ZippedImageDataset('two.zip')


def _compare(made: Any, expected: Any, results: Any) -> None:
    results.put(all(np.array_equal(made[i % 2], expected[i % 2]) for i in range(300)))


@pytest.mark.parametrize('name', ['pickle', 'text', 'zip'])
def test_a_copy_reads_by_itself(written: Path, name: str) -> None:
    made = reader_of(name)
    copy = pickle.loads(pickle.dumps(made))
    made.close() if name != 'zip' else None
    assert len(copy) >= 2
    np.testing.assert_array_equal(copy[1], reader_of(name)[1])
    if name != 'zip':
        closed = pickle.loads(pickle.dumps(made))
        with pytest.raises(ValueError, match='closed file'):
            closed[0]


@pytest.mark.skipif('fork' not in multiprocessing.get_all_start_methods(), reason='needs fork')
@pytest.mark.filterwarnings('ignore:.*multi-threaded.*fork:DeprecationWarning')
@pytest.mark.parametrize('name', ['pickle', 'text', 'zip'])
def test_forked_processes_read_at_the_same_time(written: Path, name: str) -> None:
    made, fork = reader_of(name), multiprocessing.get_context('fork')
    expected, results = made[:2], fork.SimpleQueue()
    workers = [fork.Process(target=_compare, args=(made, expected, results)) for _ in range(2)]
    for worker in workers:
        worker.start()
    _compare(made, expected, results)
    assert [results.get() for _ in range(3)] == [True] * 3
    for worker in workers:
        worker.join()


# --- errors ---


class NoSeek(io.RawIOBase):
    def seekable(self) -> bool:
        return False


ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: d.ImageDataset(['not.png'])[0], PIL.UnidentifiedImageError, 'cannot identify image file ./not.png'),
    (lambda: d.ImageDataset(['half.png'])[0], OSError, 'cannot read image file ./half.png: '),
    (lambda: d.ImageDataset(['none.png'])[0], FileNotFoundError, './none.png'),
    (lambda: d.ImageDataset('none.txt'), FileNotFoundError, 'none.txt'),
    (lambda: d.ImageDataset('gap.txt'), ValueError, "at line 2 in file gap.txt: expected path, got ''"),
    (lambda: d.ImageDataset(5), TypeError, 'ImageDataset: paths must be a list or the path of a text file, got 5'),
    (lambda: d.LabeledImageDataset(None), TypeError, 'pairs must be a list or the path of a text file, got None'),
    (lambda: d.LabeledImageDataset('list.txt'), ValueError, 'at line 1 in file list.txt: expected path and label'),
    (lambda: d.LabeledImageDataset('three.txt'), ValueError, "expected path and label, got 'L.png 3 4'"),
    (lambda: d.LabeledImageDataset('words.txt'), ValueError, 'line 2 in file words.txt: expected an integer'),
    (lambda: d.LabeledImageDataset('float.txt'), ValueError, "file float.txt: expected an integer, got '3.5'"),
    (lambda: d.LabeledImageDataset([('L.png',)])[0], ValueError, 'example 0 must be a pair of path and label'),
    (lambda: d.LabeledImageDataset([('L.png', 'x')])[0], ValueError, 'the label of ./L.png must be a number of'),
    (lambda: d.LabeledImageDataset([('L.png', None)])[0], TypeError, 'must be a number of dtype int32, got None'),
    (lambda: d.LabeledImageDataset([('L.png', [1, [2]])])[0], ValueError, 'must be a number of dtype int32'),
    (lambda: d.LabeledImageDataset([('L.png', 3.7)])[0], ValueError, 'in the range of dtype int32, got 3.7'),
    (lambda: d.LabeledImageDataset([('L.png', float('nan'))])[0], ValueError, 'an integer in the range'),
    (lambda: d.LabeledImageDataset([('L.png', 300)], label_dtype='int8')[0], ValueError, 'of dtype int8, got 300'),
    (lambda: d.LabeledImageDataset([('half.png', 3)])[0], OSError, './half.png'),
    (lambda: d.ZippedImageDataset('none.zip'), FileNotFoundError, 'none.zip'),
    (lambda: d.ZippedImageDataset('L.png'), zipfile.BadZipFile, 'cannot open L.png'),
    (lambda: d.ZippedImageDataset('two.zip')[2], IndexError, 'out of range'),
    (lambda: d.ZippedImageDataset('two.zip')['x.png'], KeyError, "There is no item named 'x.png' in two.zip"),
    (lambda: d.ZippedImageDataset('one.zip')[1], PIL.UnidentifiedImageError, 'sub/not.png in one.zip'),
    (lambda: d.ZippedImageDataset('one.zip')[2], OSError, 'sub/half.png in one.zip: image file is truncated'),
    (lambda: d.MultiZippedImageDataset('two.zip'), TypeError, 'zipfilenames must be a list of paths'),
    (lambda: d.LabeledZippedImageDataset('two.zip', 'words.txt'), ValueError, 'line 2 in file words.txt'),
    (lambda: d.LabeledZippedImageDataset('two.zip', 'pairs.txt')[1], KeyError, "'RGB.png' in two.zip"),
    (lambda: d.open_pickle_dataset('none.pickle'), FileNotFoundError, 'none.pickle'),
    (lambda: d.open_pickle_dataset('a.txt'), pickle.UnpicklingError, 'a.txt is broken at example 0, byte 0 of 12'),
    (lambda: d.open_pickle_dataset('half.pickle'), pickle.UnpicklingError, 'is broken at example 1, byte 5 of 20'),
    (lambda: d.PickleDataset(NoSeek()), ValueError, 'reader must support random access'),
    (lambda: d.PickleDataset('x.pickle'), TypeError, "got 'x.pickle'; open_pickle_dataset takes a path"),
    (lambda: d.PickleDatasetWriter('x'), TypeError, "got 'x'; open_pickle_dataset_writer takes a path"),
    (lambda: d.PickleDatasetWriter(io.BytesIO(), 99), ValueError, 'pickle protocol must be <= 5, got 99'),
    (lambda: d.open_pickle_dataset_writer('new.pickle', 99), ValueError, 'pickle protocol must be <= 5, got 99'),
    (lambda: d.TextDataset([]), ValueError, 'at least one text file must be specified'),
    (lambda: d.TextDataset('none.txt'), FileNotFoundError, 'none.txt'),
    (lambda: d.TextDataset(5), TypeError, 'paths must be a path or a list of paths, got 5'),
    (lambda: d.TextDataset(['a.txt', 'b.txt']), ValueError, 'does not match: a.txt has more lines than b.txt'),
    (lambda: d.TextDataset(['b.txt', 'a.txt']), ValueError, 'does not match: a.txt has more lines than b.txt'),
    (lambda: d.TextDataset(['b.txt'] * 2, encoding=['ascii']), ValueError, "['ascii'] for 2 files"),
    (lambda: d.TextDataset('latin.txt', encoding='utf-8'), UnicodeDecodeError, 'in file latin.txt, encoding='),
    (lambda: d.TextDataset('b.txt', filter_func=5), TypeError, 'filter_func must be a function, got 5'),
    (lambda: d.TextDataset('b.txt', newline='x'), ValueError, 'illegal newline value: x'),
    (lambda: d.TextDataset('b.txt')[2], IndexError, 'index 2 is out of range for 2 examples'),
    (lambda: d.TextDataset('b.txt')[-1], IndexError, 'index -1 is out of range'),
    (lambda: d.TextDataset('b.txt')[1.0], TypeError, 'float'),
]  # fmt: skip


@pytest.mark.parametrize(('call', 'error', 'message'), ERRORS)
def test_errors_name_the_file_and_say_what_is_wrong(
    written: Path, call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    Path('half.pickle').write_bytes(written.read_bytes()[:20])
    with pytest.raises(error, match=re.escape(message)):
        call()
    assert not Path('new.pickle').exists()


def test_without_pillow_the_error_says_what_to_install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'PIL.Image', None)
    for make in (
        lambda: d.ImageDataset('list.txt'),
        lambda: d.LabeledImageDataset('pairs.txt'),
        lambda: d.ZippedImageDataset('two.zip'),
    ):
        with pytest.raises(ImportError, match=r'Dataset needs Pillow: pip install pillow'):
            make()
