"""v6: data sets from files: a download (of a local file), a cache, CIFAR arrays in place, augmentation by a subclass.

Arguments: --out result
"""
import argparse
import os
import pathlib

import numpy as np

import chainer
from chainer.dataset import cached_download
from chainer.dataset import download
from chainer.datasets import cifar
from chainer.datasets import TransformDataset
import chainer.functions as F
import chainer.links as L


class Augmented(TransformDataset):

    def __init__(self, dataset, seed=0):
        self.rng = np.random.RandomState(seed)
        super(Augmented, self).__init__(dataset, self.augment)

    def augment(self, in_data):
        img, label = in_data
        if self.rng.randint(2):
            img = img[..., ::-1]
        top, left = self.rng.randint(0, 5, 2)
        padded = np.zeros((img.shape[0], img.shape[1] + 4, img.shape[2] + 4), dtype=img.dtype)
        padded[:, 2:-2, 2:-2] = img
        return padded[:, top:top + img.shape[1], left:left + img.shape[2]], label


class Table(chainer.dataset.DatasetMixin):

    """Rows of a text file that is downloaded once."""

    def __init__(self, url):
        path = cached_download(url)
        again = download.cached_download(url)
        assert path == again
        root = chainer.dataset.get_dataset_directory('example/tables')
        self.made = 0

        def creator(target):
            self.made += 1
            rows = np.loadtxt(path, delimiter=',').astype(np.float32)
            np.save(target, rows)
            return rows
        self.rows = download.cache_or_load_file(os.path.join(root, 'rows.npy'), creator, np.load)
        self.rows = download.cache_or_load_file(os.path.join(root, 'rows.npy'), creator, np.load)

    def __len__(self):
        return len(self.rows)

    def get_example(self, i):
        return self.rows[i, :-1], self.rows[i, -1:]


def write_cifar(n=20):
    rng = np.random.RandomState(4)
    root = download.get_dataset_directory('pfnet/chainer/cifar')
    y = (np.arange(n) % 10).astype(np.uint8)
    x = (rng.randint(0, 128, (n, 3072)) + y[:, None] * 12).astype(np.uint8)
    np.savez_compressed(os.path.join(root, 'cifar-10.npz'), train_x=x, train_y=y, test_x=x[:10], test_y=y[:10])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', default='result')
    args = parser.parse_args()
    os.makedirs(args.out)
    np.random.seed(0)
    chainer.dataset.download.set_dataset_root(os.path.join(args.out, 'data'))
    write_cifar()
    train, test = cifar.get_cifar10(scale=255.)
    print('pixels %.6g' % float(sum(x.sum() for x, _ in train)))
    flat = cifar.get_cifar10(withlabel=False, ndim=1)[1]
    print('flat %d' % flat.shape[1])

    augmented = Augmented(train)
    x, t = chainer.dataset.concat_examples([augmented[i] for i in range(10)])
    print('augmented %.6g' % float(x.sum()))
    print('labels %d' % int(t.sum()))
    part = chainer.datasets.SubDataset(train, 5, 15, order=list(reversed(range(20))))
    print('sub %d' % int(part[0][1]))
    both = chainer.datasets.ConcatenatedDataset(part, test)
    print('both %d' % len(both))

    source = os.path.join(args.out, 'table.csv')
    values = np.random.RandomState(2).uniform(-1, 1, (12, 3))
    values[:, 2] = values[:, 0] * 2 - values[:, 1]
    np.savetxt(source, values, delimiter=',')
    table = Table(pathlib.Path(source).resolve().as_uri())
    print('made %d' % table.made)
    x, t = chainer.dataset.concat_examples(table[:])
    model = L.Linear(2, 1)
    optimizer = chainer.optimizers.AdaDelta()
    optimizer.setup(model)
    for i in range(5):
        loss = F.mean_squared_error(model(x), t)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        print('loss@%d %.6g' % (i, float(loss.array)))
    iterator = chainer.iterators.SerialIterator(table, 5, repeat=False, shuffle=False)
    print('batches %d' % len(list(iterator)))
    iterator.reset()
    print('again %d' % len(iterator.next()))


if __name__ == '__main__':
    main()
