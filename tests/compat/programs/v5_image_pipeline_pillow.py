"""v5: augmentation of pictures with Pillow names that are gone: ANTIALIAS, LINEAR, textsize, getsize; a transform dataset.

Arguments: --iterations 6
Recorded with: 1.24.0
Needs: Pillow
Tolerance: 1e-3
"""
import argparse
import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import chainer
import chainer.functions as F
import chainer.links as L
from chainer.datasets import TransformDataset


def letter_picture(letter, size=24):
    """Draws a letter in the middle, by the size that the text takes."""
    image = Image.new('L', (size, size), 0)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default()
    width, height = draw.textsize(letter, font=font)
    assert width > 0 and font.getsize(letter)[1] > 0
    # bars instead of the glyph, which differs between versions of the font
    bars = {'I': [(10, 4, 13, 20)], 'L': [(6, 4, 9, 20), (6, 17, 18, 20)], 'T': [(4, 4, 20, 7), (10, 4, 13, 20)]}
    for box in bars[letter]:
        draw.rectangle(box, fill=255)
    return image


def through_png(image):
    """As if the picture had been read from a file."""
    buffer = io.BytesIO()
    image.save(buffer, format='PNG')
    buffer.seek(0)
    return Image.open(buffer)


class Augment(object):
    def __init__(self, size, seed):
        self.size = size
        self.rng = np.random.RandomState(seed)

    def __call__(self, example):
        image, label = example
        image = image.rotate(self.rng.randint(-8, 9), resample=Image.NEAREST)
        left, top = self.rng.randint(0, 5, 2)
        image = image.crop((left, top, left + 20, top + 20))
        image = image.resize((self.size, self.size), Image.ANTIALIAS)
        array = np.asarray(image, dtype=np.float32) / 255
        return array[np.newaxis], label


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l1=L.Linear(100, 12), l2=L.Linear(12, 3))
        rng = np.random.RandomState(34)
        for _, param in sorted(self.namedparams()):
            param.data[...] = rng.normal(0, 0.15, param.data.shape)

    def __call__(self, x):
        return self.l2(F.relu(self.l1(x)))


parser = argparse.ArgumentParser()
parser.add_argument('--iterations', type=int, default=30)
parser.add_argument('--batchsize', type=int, default=12)
args = parser.parse_args()
np.random.seed(0)

letters = 'ILT'
base = [(through_png(letter_picture(letters[i % 3])), np.int32(i % 3)) for i in range(36)]
print('picture/mean %.6g' % np.mean([np.asarray(image).mean() for image, _ in base]))
dataset = TransformDataset(base, Augment(10, 1))
iterator = chainer.iterators.SerialIterator(dataset, args.batchsize, shuffle=False)
model = L.Classifier(Net())
optimizer = chainer.optimizers.Adam(alpha=0.02)
optimizer.setup(model)
for i in range(args.iterations):
    x, t = chainer.dataset.concat_examples(next(iterator))
    model.cleargrads()
    loss = model(chainer.Variable(x), chainer.Variable(t))
    loss.backward()
    optimizer.update()
    print('iter%d/loss %.6g' % (i, loss.data))
print('epoch %d' % iterator.epoch)

plain = [np.asarray(image.resize((10, 10), Image.LINEAR), dtype=np.float32)[np.newaxis] / 255 for image, _ in base[:3]]
y = model.predictor(chainer.Variable(np.stack(plain)))
print('plain/score %.6g' % F.softmax(y).data.max(axis=1).sum())
half = base[0][0].resize((12, 12), Image.CUBIC)
print('half/width %d' % half.size[0])
print('flipped %.6g' % np.asarray(base[1][0].transpose(Image.FLIP_LEFT_RIGHT)).mean())
