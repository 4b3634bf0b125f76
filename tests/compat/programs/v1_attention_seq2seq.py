"""v1: translation of digit strings with an attention over encoder states; flags ON, OFF and AUTO; ignored labels.

Arguments: --epoch 3
Recorded with: 1.24.0
Legacy: v1
"""
import argparse

import numpy as np
import chainer
from chainer import Variable, Chain, cuda, optimizers, flag
import chainer.functions as F
import chainer.links as L

EOS, UNK = 0, 1


class SrcEmbed(Chain):
    def __init__(self, vocab_size, embed_size):
        super(SrcEmbed, self).__init__(xe=L.EmbedID(vocab_size, embed_size, ignore_label=-1))

    def __call__(self, x):
        return F.tanh(self.xe(x))


class Encoder(Chain):
    def __init__(self, embed_size, hidden_size):
        super(Encoder, self).__init__(
            xh=L.Linear(embed_size, 4 * hidden_size),
            hh=L.Linear(hidden_size, 4 * hidden_size, nobias=True),
        )

    def __call__(self, x, c, h):
        return F.lstm(c, self.xh(x) + self.hh(h))


class Attention(Chain):
    def __init__(self, hidden_size):
        super(Attention, self).__init__(
            aw=L.Linear(hidden_size, hidden_size),
            pw=L.Linear(hidden_size, hidden_size),
            we=L.Linear(hidden_size, 1),
        )

    def __call__(self, a_list, p):
        batch_size = p.data.shape[0]
        e_list, sum_e = [], None
        for a in a_list:
            w = F.exp(self.we(F.tanh(self.aw(a) + self.pw(p))))
            e_list.append(w)
            sum_e = w if sum_e is None else sum_e + w
        aa = None
        for a, e in zip(a_list, e_list):
            e /= sum_e
            z = F.reshape(F.batch_matmul(a, e), (batch_size, a.data.shape[1]))
            aa = z if aa is None else aa + z
        return aa


class AttentionMT(Chain):
    def __init__(self, vocab, embed, hidden):
        super(AttentionMT, self).__init__(
            emb=SrcEmbed(vocab, embed),
            enc=Encoder(embed, hidden),
            att=Attention(hidden),
            dec=Encoder(embed + hidden, hidden),
            ye=L.EmbedID(vocab, embed, ignore_label=-1),
            hy=L.Linear(hidden, vocab),
        )
        self.hidden = hidden
        rng = np.random.RandomState(21)
        for name, param in sorted(self.namedparams()):
            param.data[...] = rng.uniform(-0.2, 0.2, param.data.shape)

    def zeros(self, n, volatile):
        return Variable(self.xp.zeros((n, self.hidden), dtype=np.float32), volatile=volatile)

    def __call__(self, src, trg, volatile=flag.OFF):
        n = len(src[0])
        c, h = self.zeros(n, volatile), self.zeros(n, volatile)
        states = []
        for word in src:
            c, h = self.enc(self.emb(Variable(word, volatile=volatile)), c, h)
            states.append(h)
        y = Variable(self.xp.full(n, EOS, dtype=np.int32), volatile=volatile)
        loss, hyp = 0, []
        c = self.zeros(n, volatile)
        for word in trg:
            context = self.att(states, h)
            c, h = self.dec(F.concat([self.ye(y), context]), c, h)
            score = self.hy(F.dropout(h, ratio=0.1, train=volatile == flag.OFF))
            t = Variable(word, volatile=volatile)
            loss += F.softmax_cross_entropy(score, t)
            hyp.append(score.data.argmax(axis=1))
            y = t
        return loss, np.array(hyp)


def make_batch(rng, n):
    src, trg = -np.ones((6, n), dtype=np.int32), -np.ones((6, n), dtype=np.int32)
    for j in range(n):
        length = rng.randint(2, 6)
        words = rng.randint(2, 8, length)
        src[:length, j] = words
        trg[:length, j] = (words[::-1] - 2 + 3) % 6 + 2
        src[length, j] = trg[length, j] = EOS
    return list(src), list(trg)


parser = argparse.ArgumentParser()
parser.add_argument('--gpu', type=int, default=-1)
parser.add_argument('--epoch', type=int, default=10)
args = parser.parse_args()
if args.gpu >= 0:
    cuda.check_cuda_available()
    cuda.get_device(args.gpu).use()
np.random.seed(0)
rng = np.random.RandomState(2)
batches = [make_batch(rng, 8) for _ in range(4)]
valid = make_batch(rng, 10)

model = AttentionMT(8, 6, 10)
opt = optimizers.AdaGrad(lr=0.05)
opt.setup(model)
opt.add_hook(chainer.optimizer.GradientClipping(5))
for epoch in range(args.epoch):
    total = 0
    for src, trg in batches:
        opt.zero_grads()
        loss, _ = model(src, trg)
        loss.backward()
        loss.unchain_backward()
        opt.update()
        total += float(loss.data)
    loss, hyp = model(valid[0], valid[1], volatile=chainer.ON)
    print('epoch%d/train %.6g' % (epoch, total / len(batches)))
    print('epoch%d/valid %.6g' % (epoch, loss.data))
correct = (hyp == np.array(valid[1]))[np.array(valid[1]) >= 0]
print('valid/correct %.6g' % correct.mean())

# flags of a parameter and of what is computed from it
w = model.hy.W
print('flag/parameter %d' % (w.volatile == chainer.AUTO))
on = Variable(np.ones((1, 10), 'f'), volatile=chainer.ON)
off = Variable(np.ones((1, 10), 'f'), volatile=chainer.OFF)
print('flag/on %d' % (model.hy(on).volatile == 'on'))
print('flag/off %d' % (model.hy(off).volatile == flag.OFF))
off.volatile = True
print('flag/set %d' % (model.hy(off).creator is None))
