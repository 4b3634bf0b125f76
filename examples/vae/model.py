"""A variational autoencoder of 8x8 digits: an encoder, a decoder and a prior, each a distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

import minichainer as chainer
import minichainer.distributions as D
import minichainer.functions as F
import minichainer.links as L

PIXELS = 64


class Encoder(chainer.Chain):
    """The approximate posterior q(z | x): a normal distribution of codes for each image (N, 64)."""

    def __init__(self, n_units: int, n_codes: int) -> None:
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(PIXELS, n_units)
            self.loc = L.Linear(n_units, n_codes)
            self.log_scale = L.Linear(n_units, n_codes)

    def forward(self, x: Any) -> Any:
        h = F.relu(self.hidden(x))
        return D.Independent(D.Normal(self.loc(h), log_scale=self.log_scale(h)))


class Decoder(chainer.Chain):
    """The likelihood p(x | z): a Bernoulli distribution of pixels for each code (..., n_codes)."""

    def __init__(self, n_units: int, n_codes: int) -> None:
        super().__init__()
        with self.init_scope():
            self.hidden = L.Linear(n_codes, n_units)
            self.logit = L.Linear(n_units, PIXELS)

    def forward(self, z: Any) -> Any:
        axes = z.ndim - 1
        h = F.relu(self.hidden(z, n_batch_axes=axes))
        return D.Independent(D.Bernoulli(logit=self.logit(h, n_batch_axes=axes)), 1)


class VAE(chainer.Chain):
    """Encoder, decoder and a standard normal prior.

    Called with images it returns the loss, minus the evidence lower bound per image in nats.
    From Kingma and Welling, *Auto-encoding variational Bayes*, 2014.
    """

    def __init__(self, n_units: int, n_codes: int) -> None:
        super().__init__()
        self.n_codes = n_codes
        with self.init_scope():
            self.encoder = Encoder(n_units, n_codes)
            self.decoder = Decoder(n_units, n_codes)

    def prior(self, n: int = 1) -> Any:
        """The distribution of the codes of n images before these are seen."""
        shape = (n, self.n_codes)
        return D.Independent(D.Normal(self.xp.zeros(shape, np.float32), self.xp.ones(shape, np.float32)))

    def forward(self, x: Any) -> Any:
        q = self.encoder(x)
        reconstruction = F.mean(self.decoder(q.sample()).log_prob(x))
        divergence = F.mean(chainer.kl_divergence(q, self.prior(len(x))))
        loss = divergence - reconstruction
        chainer.report({'loss': loss, 'reconstruction': reconstruction, 'divergence': divergence}, self)
        return loss

    def log_likelihood(self, x: Any, n_samples: int) -> Any:
        """An estimate of log p(x) for each image, by importance sampling with the encoder.

        From Burda et al., *Importance weighted autoencoders*, 2016. The more samples, the less it is too low.
        """
        q, prior = self.encoder(x), self.prior(len(x))
        z = q.sample(n_samples)
        log_weights = self.decoder(z).log_prob(x) + prior.log_prob(z) - q.log_prob(z)
        return F.logsumexp(log_weights, axis=0) - np.log(n_samples)

    def pictures(self, n: int) -> Any:
        """The mean images of n codes that are drawn from the prior, (n, 64)."""
        with chainer.no_backprop_mode():
            return self.decoder(self.prior(n).sample()).mean.array
