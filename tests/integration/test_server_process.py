"""Starting, killing and stopping real processes."""

import sys
from pathlib import Path

import pytest

from examples.server_process import ServerFailedError, ServerProcess, free_port

pytestmark = pytest.mark.integration

SERVER = """
import http.server, sys
class Ready(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Length", "0"); self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""


async def test_a_killed_server_comes_back_on_its_port(tmp_path: Path) -> None:
    port = free_port()
    server = ServerProcess([sys.executable, "-c", SERVER, str(port)], port, tmp_path / "log")
    try:
        assert await server.start() > 0
        first = server.pid
        await server.kill()
        with pytest.raises(ServerFailedError):
            _ = server.pid
        await server.start()
        assert server.pid != first
    finally:
        await server.stop()
    await server.stop()


async def test_a_server_that_ends_at_once_is_an_error_with_the_end_of_its_log(tmp_path: Path) -> None:
    server = ServerProcess([sys.executable, "-c", "raise SystemExit('no luck')"], free_port(), tmp_path / "log")
    with pytest.raises(ServerFailedError, match="no luck"):
        await server.start()
    await server.stop()
