"""A web server on the loopback interface, which can break off and resume."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator
from typing import Any


class Server:
    """Files by path, and how they are sent.

    Attributes:
        files: contents.
        requests: path and range of each request so far.
        breaks: after how many bytes each of the next answers ends.
        etag: sent with every file, if not empty.
        skips: whether ranges are honoured.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.breaks: list[int] = []
        self.etag = '"1"'
        self.skips = True
        self.url = ''


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            _answer(state, self)

        def log_message(self, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={'poll_interval': 0.01})
    thread.start()
    state.url = f'http://127.0.0.1:{server.server_port}/'
    try:
        yield state
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _answer(state: Server, request: http.server.BaseHTTPRequestHandler) -> None:
    wanted = request.headers.get('Range')
    state.requests.append((request.path, wanted))
    content = state.files.get(request.path)
    if content is None:
        request.send_error(404)
        return
    start = 0
    if wanted and state.skips and request.headers.get('If-Range') == state.etag:
        start = int(wanted.removeprefix('bytes=').rstrip('-'))
    if start > len(content):
        request.send_error(416)
        return
    request.send_response(206 if start else 200)
    if start:
        request.send_header('Content-Range', f'bytes {start}-{len(content) - 1}/{len(content)}')
    if state.etag:
        request.send_header('ETag', state.etag)
    request.send_header('Content-Length', str(len(content) - start))
    request.end_headers()
    end = start + state.breaks.pop(0) if state.breaks else None
    request.wfile.write(content[start:end])
