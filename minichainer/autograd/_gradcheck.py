"""``gradcheck`` and ``gradgradcheck``, under torch's path."""

from __future__ import annotations

from minichainer.gradient_check import GradcheckError as GradcheckError
from minichainer.gradient_check import gradcheck as gradcheck
from minichainer.gradient_check import gradgradcheck as gradgradcheck
