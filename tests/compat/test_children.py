"""New processes run the code of the alias before anything imports the program."""

from __future__ import annotations

import multiprocessing

import pytest

from minichainer.compat.children import InChildren


@pytest.mark.skipif(
    'forkserver' not in multiprocessing.get_all_start_methods(), reason='this system has no fork server'
)
def test_a_fork_server_does_not_import_the_program_itself() -> None:
    """From Python 3.14 on it would, and there is no alias in it."""
    from multiprocessing import forkserver

    server = forkserver._forkserver  # type: ignore[attr-defined]
    before = server._preload_modules
    multiprocessing.set_forkserver_preload(['__main__', 'json'])
    try:
        with InChildren('greeting', ''):
            assert server._preload_modules == ['json']
        assert server._preload_modules == ['__main__', 'json']
    finally:
        server._preload_modules = before
