"""Updaters: what one step of a training does."""

from minichainer.training.updaters.standard_updater import StandardUpdater as StandardUpdater
