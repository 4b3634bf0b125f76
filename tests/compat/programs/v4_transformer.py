"""v4: a small transformer for translation, with position encoding, attention masks, Noam schedule and greedy decoding.

Arguments: --epoch 2
"""
import argparse

import numpy as np

import chainer
from chainer import cuda
import chainer.functions as F
import chainer.links as L
from chainer.functions.array.broadcast import broadcast_to
from chainer.functions.array.reshape import reshape
from chainer.dataset import convert

BOS, EOS, PAD = 0, 1, -1
linear_init = chainer.initializers.LeCunUniform()


def sentence_block_embed(embed, x):
    batch, length = x.shape
    e = embed(x.reshape(batch * length))
    return F.transpose(F.stack(F.split_axis(e, batch, axis=0), axis=0), (0, 2, 1))


class LayerNormalizationSentence(L.LayerNormalization):
    """Position-wise linear layer for array of shape (batchsize, dimension, sentence_length)"""

    def __init__(self, *args, **kwargs):
        super(LayerNormalizationSentence, self).__init__(*args, **kwargs)

    def __call__(self, x):
        shape = x.shape
        x = F.reshape(F.swapaxes(x, 1, 2), (-1, shape[1]))
        y = super(LayerNormalizationSentence, self).__call__(x)
        return F.swapaxes(F.reshape(y, (shape[0], shape[2], shape[1])), 1, 2)


class ConvolutionSentence(L.Convolution2D):

    def __init__(self, in_channels, out_channels, ksize=1, nobias=False):
        super(ConvolutionSentence, self).__init__(
            in_channels, out_channels, ksize, stride=1, pad=0, nobias=nobias, initialW=linear_init)

    def __call__(self, x):
        return F.squeeze(super(ConvolutionSentence, self).__call__(F.expand_dims(x, axis=3)), axis=3)


class MultiHeadAttention(chainer.Chain):

    def __init__(self, n_units, h=2, dropout=0.1):
        super(MultiHeadAttention, self).__init__()
        with self.init_scope():
            self.W_Q = ConvolutionSentence(n_units, n_units, nobias=True)
            self.W_K = ConvolutionSentence(n_units, n_units, nobias=True)
            self.W_V = ConvolutionSentence(n_units, n_units, nobias=True)
            self.finishing = ConvolutionSentence(n_units, n_units, nobias=True)
        self.h = h
        self.scale_score = 1. / (n_units // h) ** 0.5
        self.dropout = dropout

    def __call__(self, x, z=None, mask=None):
        h = self.h
        z = x if z is None else z
        Q, K, V = self.W_Q(x), self.W_K(z), self.W_V(z)
        batch, n_units, n_querys = Q.shape
        _, _, n_keys = K.shape
        batch_Q = F.concat(F.split_axis(Q, h, axis=1), axis=0)
        batch_K = F.concat(F.split_axis(K, h, axis=1), axis=0)
        batch_V = F.concat(F.split_axis(V, h, axis=1), axis=0)
        mask = self.xp.concatenate([mask] * h, axis=0)
        batch_A = F.batch_matmul(batch_Q, batch_K, transa=True) * self.scale_score
        batch_A = F.where(mask, batch_A, self.xp.full(batch_A.shape, -1e9, 'f'))
        batch_A = F.softmax(batch_A, axis=2)
        batch_A = F.where(self.xp.isnan(batch_A.data), self.xp.zeros(batch_A.shape, 'f'), batch_A)
        batch_A, batch_V = F.broadcast(batch_A[:, None], batch_V[:, :, None])
        batch_C = F.sum(batch_A * batch_V, axis=3)
        C = F.concat(F.split_axis(batch_C, h, axis=0), axis=1)
        return F.dropout(self.finishing(C), self.dropout)


class Layer(chainer.Chain):

    def __init__(self, n_units, cross):
        super(Layer, self).__init__()
        with self.init_scope():
            self.attention = MultiHeadAttention(n_units)
            self.ln1 = LayerNormalizationSentence(n_units, eps=1e-6)
            self.w1 = ConvolutionSentence(n_units, n_units * 2)
            self.w2 = ConvolutionSentence(n_units * 2, n_units)
            self.ln2 = LayerNormalizationSentence(n_units, eps=1e-6)
            if cross:
                self.source = MultiHeadAttention(n_units)
                self.ln3 = LayerNormalizationSentence(n_units, eps=1e-6)

    def __call__(self, e, mask, z=None, xy_mask=None):
        e = self.ln1(e + self.attention(e, mask=mask))
        if z is not None:
            e = self.ln3(e + self.source(e, z, mask=xy_mask))
        return self.ln2(e + self.w2(F.leaky_relu(self.w1(e))))


class Transformer(chainer.Chain):

    def __init__(self, n_vocab, n_units=8, max_length=20):
        super(Transformer, self).__init__()
        with self.init_scope():
            self.embed = L.EmbedID(n_vocab, n_units, ignore_label=PAD, initialW=linear_init)
            self.encoder = Layer(n_units, False)
            self.decoder = Layer(n_units, True)
        self.n_vocab = n_vocab
        position = np.arange(max_length, dtype='f')[None]
        rate = (10000. ** (-np.arange(n_units // 2) / (n_units // 2)))[:, None]
        block = np.concatenate([np.sin(position * rate), np.cos(position * rate)])[None]
        self.add_persistent('position_block', block.astype('f'))

    def make_input_embedding(self, block):
        emb = sentence_block_embed(self.embed, block) * self.embed.W.shape[1] ** 0.5
        return emb + self.xp.array(self.position_block[:, :, :block.shape[1]])

    def make_attention_mask(self, source_block, target_block):
        return (target_block[:, None, :] >= 0) * (source_block[:, :, None] >= 0)

    def make_history_mask(self, block):
        batch, length = block.shape
        arange = self.xp.arange(length)
        history = (arange[None] <= arange[:, None])[None]
        return self.xp.broadcast_to(history, (batch, length, length))

    def logits(self, x_block, y_in_block):
        z = self.encoder(self.make_input_embedding(x_block), self.make_attention_mask(x_block, x_block))
        yy = self.make_attention_mask(y_in_block, y_in_block) * self.make_history_mask(y_in_block)
        h = self.decoder(self.make_input_embedding(y_in_block), yy, z, self.make_attention_mask(y_in_block, x_block))
        batch, units, length = h.shape
        rows = reshape(F.rollaxis(h, 1, 3), (batch * length, units))
        return F.linear(rows, self.embed.W)

    def __call__(self, x_block, y_in_block, y_out_block):
        concat_logit = self.logits(x_block, y_in_block)
        t = y_out_block.reshape(-1)
        log_prob = F.log_softmax(concat_logit)
        ignore = self.xp.asarray(t != PAD)
        pre_loss = F.select_item(log_prob, self.xp.where(ignore, t, 0)) * ignore.astype('f')
        loss = -F.sum(pre_loss) / int(ignore.sum())
        # label smoothing
        smooth = F.sum(broadcast_to(1. / self.n_vocab * self.xp.ones((1, 1), 'f'), log_prob.shape) * log_prob, axis=1)
        loss = .9 * loss - .1 * F.sum(smooth * ignore.astype('f')) / int(ignore.sum())
        chainer.report({'loss': loss.data, 'acc': F.accuracy(concat_logit, t, ignore_label=PAD)}, self)
        return loss

    def translate(self, x_block, max_length=6):
        with chainer.no_backprop_mode(), chainer.using_config('train', False):
            y = self.xp.full((len(x_block), 1), BOS, 'i')
            for _ in range(max_length):
                logit = self.logits(x_block, y).data.reshape(len(x_block), y.shape[1], -1)
                y = self.xp.concatenate([y, logit[:, -1].argmax(axis=1).astype('i')[:, None]], axis=1)
        return cuda.to_cpu(y[:, 1:])


def seq2seq_pad_concat_convert(xy_batch, device):
    x_seqs, y_seqs = zip(*xy_batch)
    x_block = convert.concat_examples(x_seqs, device, padding=PAD)
    y_block = convert.concat_examples(y_seqs, device, padding=PAD)
    x_block = np.pad(x_block, ((0, 0), (1, 1)), 'constant', constant_values=PAD)
    x_block[:, 0] = BOS
    y_out = np.pad(y_block, ((0, 0), (0, 1)), 'constant', constant_values=PAD)
    for i, seq in enumerate(y_seqs):
        x_block[i, len(x_seqs[i]) + 1] = EOS
        y_out[i, len(seq)] = EOS
    y_in = np.pad(y_block, ((0, 0), (1, 0)), 'constant', constant_values=BOS)
    return x_block, y_in, y_out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epoch', type=int, default=10)
    parser.add_argument('--gpu', type=int, default=-1)
    args = parser.parse_args()
    np.random.seed(0)
    rng = np.random.RandomState(8)
    data = []
    for _ in range(40):
        x = rng.randint(2, 8, rng.randint(3, 6)).astype('i')
        data.append((x, x[::-1].copy()))
    model = Transformer(8)
    optimizer = chainer.optimizers.Adam(alpha=5e-3, beta1=.9, beta2=.98, eps=1e-9)
    optimizer.setup(model)
    iterator = chainer.iterators.SerialIterator(data, 8)
    reporter = chainer.Reporter()
    reporter.add_observer('model', model)
    while iterator.epoch < args.epoch:
        optimizer.alpha = 5e-3 * min(1., (optimizer.t + 1) / 5.)
        batch = seq2seq_pad_concat_convert(iterator.next(), args.gpu)
        observation = {}
        with reporter.scope(observation):
            optimizer.update(model, *batch)
        if iterator.is_new_epoch:
            print('loss@%d %.6g' % (iterator.epoch, float(observation['model/loss'])))
            print('acc@%d %.6g' % (iterator.epoch, float(observation['model/acc'].data)))
    x_block, _, y_out = seq2seq_pad_concat_convert(data[:4], -1)
    ys = model.translate(x_block, y_out.shape[1])
    print('hits %d' % int((ys == y_out).sum()))
    print('alpha %.5g' % optimizer.alpha)


if __name__ == '__main__':
    main()
