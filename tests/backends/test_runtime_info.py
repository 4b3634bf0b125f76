"""What print_runtime_info prints."""

from __future__ import annotations

import io

import numpy as np
import pytest

from minichainer._runtime_info import installed, print_runtime_info


def test_prints_versions(capsys: pytest.CaptureFixture[str]) -> None:
    print_runtime_info()
    text = capsys.readouterr().out
    assert f'NumPy: {np.__version__}\n' in text
    out = io.StringIO()
    print_runtime_info(out)
    assert out.getvalue() == text
    assert [line.split(':')[0] for line in text.splitlines()] == [
        'Platform',
        'Python',
        'minichainer',
        'NumPy',
        'SciPy',
        'mpmath',
        'CuPy',
        'CUDA runtime',
        'CUDA driver',
        'NVRTC',
        'cuDNN',
        'Devices',
        'CUDA',
        'Compiled parts',
    ]


def test_a_library_that_is_not_installed() -> None:
    assert installed('no-such-library') == 'not installed'
