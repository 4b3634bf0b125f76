#!/usr/bin/env python
"""v2: sequence to sequence learning (reversing numbers) with N-step LSTMs and a validation extension.

Arguments: source.txt target.txt --epoch 3 --unit 12 --out result
"""
import argparse

import numpy
import six

import chainer
import chainer.functions as F
import chainer.links as L
from chainer import training
from chainer.training import extensions

UNK = 0
EOS = 1


def sequence_embed(embed, xs):
    x_len = [len(x) for x in xs]
    x_section = numpy.cumsum(x_len[:-1])
    ex = embed(F.concat(xs, axis=0))
    return F.split_axis(ex, x_section, 0, force_tuple=True)


class Seq2seq(chainer.Chain):

    def __init__(self, n_layers, n_source_vocab, n_target_vocab, n_units):
        super(Seq2seq, self).__init__()
        with self.init_scope():
            self.embed_x = L.EmbedID(n_source_vocab, n_units)
            self.embed_y = L.EmbedID(n_target_vocab, n_units)
            self.encoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.decoder = L.NStepLSTM(n_layers, n_units, n_units, 0.1)
            self.W = L.Linear(n_units, n_target_vocab)
        self.n_layers = n_layers
        self.n_units = n_units

    def __call__(self, xs, ys):
        xs = [x[::-1] for x in xs]
        eos = self.xp.array([EOS], 'i')
        ys_in = [F.concat([eos, y], axis=0) for y in ys]
        ys_out = [F.concat([y, eos], axis=0) for y in ys]

        exs = sequence_embed(self.embed_x, xs)
        eys = sequence_embed(self.embed_y, ys_in)
        batch = len(xs)
        hx, cx, _ = self.encoder(None, None, exs)
        _, _, os = self.decoder(hx, cx, eys)

        concat_os = F.concat(os, axis=0)
        concat_ys_out = F.concat(ys_out, axis=0)
        loss = F.sum(F.softmax_cross_entropy(self.W(concat_os), concat_ys_out, reduce='no')) / batch
        chainer.report({'loss': loss.data}, self)
        n_words = concat_ys_out.shape[0]
        perp = self.xp.exp(loss.data * batch / n_words)
        chainer.report({'perp': perp}, self)
        return loss

    def translate(self, xs, max_length=10):
        batch = len(xs)
        with chainer.no_backprop_mode(), chainer.using_config('train', False):
            xs = [x[::-1] for x in xs]
            exs = sequence_embed(self.embed_x, xs)
            h, c, _ = self.encoder(None, None, exs)
            ys = self.xp.full(batch, EOS, 'i')
            result = []
            for i in range(max_length):
                eys = self.embed_y(ys)
                eys = F.split_axis(eys, batch, 0)
                h, c, ys = self.decoder(h, c, eys)
                cys = F.concat(ys, axis=0)
                wy = self.W(cys)
                ys = self.xp.argmax(wy.data, axis=1).astype('i')
                result.append(ys)

        result = chainer.cuda.to_cpu(self.xp.concatenate([self.xp.expand_dims(x, 0) for x in result]).T)
        outs = []
        for y in result:
            inds = numpy.argwhere(y == EOS)
            if len(inds) > 0:
                y = y[:inds[0, 0]]
            outs.append(y)
        return outs


def convert(batch, device):
    def to_device_batch(batch):
        if device is None:
            return batch
        elif device < 0:
            return [chainer.dataset.to_device(device, x) for x in batch]
        else:
            xp = chainer.cuda.cupy.get_array_module(*batch)
            concat = xp.concatenate(batch, axis=0)
            sections = numpy.cumsum([len(x) for x in batch[:-1]], dtype='i')
            concat_dev = chainer.dataset.to_device(device, concat)
            return chainer.cuda.cupy.split(concat_dev, sections)

    return {'xs': to_device_batch([x for x, _ in batch]), 'ys': to_device_batch([y for _, y in batch])}


class CalculateExactMatch(chainer.training.Extension):

    trigger = 1, 'epoch'
    priority = chainer.training.PRIORITY_WRITER

    def __init__(self, model, test_data, key, batch=100, device=-1, max_length=10):
        self.model = model
        self.test_data = test_data
        self.key = key
        self.batch = batch
        self.device = device
        self.max_length = max_length

    def __call__(self, trainer):
        matches = []
        with chainer.no_backprop_mode():
            for i in range(0, len(self.test_data), self.batch):
                sources, targets = zip(*self.test_data[i:i + self.batch])
                sources = [chainer.dataset.to_device(self.device, x) for x in sources]
                ys = self.model.translate(sources, self.max_length)
                matches += [len(y) == len(t) and (y == t).all() for y, t in zip(ys, targets)]
        chainer.report({self.key: numpy.mean(numpy.array(matches, dtype=numpy.float))})


def load_vocabulary_and_data(path, lines):
    with open(path, 'w') as f:
        f.write('\n'.join(lines) + '\n')
    word_ids = {'<UNK>': UNK, '<EOS>': EOS}
    data = []
    with open(path) as f:
        for line in f:
            words = line.strip().split()
            for word in words:
                word_ids.setdefault(word, len(word_ids))
            data.append(numpy.array([word_ids.get(w, UNK) for w in words], 'i'))
    return word_ids, data


def main():
    parser = argparse.ArgumentParser(description='Chainer example: seq2seq')
    parser.add_argument('SOURCE', help='source sentence list')
    parser.add_argument('TARGET', help='target sentence list')
    parser.add_argument('--batchsize', '-b', type=int, default=16)
    parser.add_argument('--epoch', '-e', type=int, default=20)
    parser.add_argument('--gpu', '-g', type=int, default=-1)
    parser.add_argument('--resume', '-r', default='')
    parser.add_argument('--unit', '-u', type=int, default=1024)
    parser.add_argument('--layer', '-l', type=int, default=2)
    parser.add_argument('--out', '-o', default='result')
    args = parser.parse_args()

    numpy.random.seed(0)
    rng = numpy.random.RandomState(1)
    digits = 'one two three four five'.split()
    sentences = [[digits[i] for i in rng.randint(0, 5, rng.randint(2, 6))] for _ in six.moves.range(64)]
    source_ids, source = load_vocabulary_and_data(args.SOURCE, [' '.join(s) for s in sentences])
    target_ids, target = load_vocabulary_and_data(args.TARGET, [' '.join(reversed(s)) for s in sentences])
    train_data = [(s, t) for s, t in six.moves.zip(source, target) if len(s) > 0]
    lengths = numpy.array([s for s, _ in train_data], dtype=object)
    print('n_words %d' % sum(map(len, lengths)))

    model = Seq2seq(args.layer, len(source_ids), len(target_ids), args.unit)
    if args.gpu >= 0:
        chainer.cuda.get_device(args.gpu).use()
        model.to_gpu(args.gpu)

    optimizer = chainer.optimizers.Adam(alpha=0.01)
    optimizer.setup(model)
    train_iter = chainer.iterators.SerialIterator(train_data, args.batchsize)
    updater = training.StandardUpdater(train_iter, optimizer, converter=convert, device=args.gpu)
    trainer = training.Trainer(updater, (args.epoch, 'epoch'), out=args.out)
    trainer.extend(extensions.LogReport(trigger=(4, 'iteration')), trigger=(4, 'iteration'))
    trainer.extend(extensions.PrintReport(['epoch', 'iteration', 'main/loss', 'main/perp', 'match']),
                   trigger=(4, 'iteration'))
    trainer.extend(CalculateExactMatch(model, train_data[:20], 'match', device=args.gpu))
    if args.resume:
        chainer.serializers.load_npz(args.resume, trainer)
    trainer.run()

    for entry in trainer.get_extension('LogReport').log:
        print('perp@%d %.6g' % (entry['iteration'], entry['main/perp']))
    print('match %.6g' % float(trainer.observation['match']))
    print('first_length %d' % len(model.translate([source[0]], max_length=5)[0]))


if __name__ == '__main__':
    main()
