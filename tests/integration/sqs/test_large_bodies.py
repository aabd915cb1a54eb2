"""A client that writes all of its body before it reads, as SDKs do: it hears that the body is too large."""

from collections.abc import Iterator

import pytest

from app.sqs.protocol.front_door import BODY_BYTES_MAX
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

SIZE = BODY_BYTES_MAX + 2 * 1024 * 1024
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("sqs")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server


@pytest.mark.parametrize("framing", ["length", "chunks"])
def test_a_body_that_is_too_large_is_answered(server: ServerProcess, framing: str) -> None:
    with server.open_connection() as connection:
        if framing == "length":
            connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % SIZE + b"x" * SIZE)
        else:
            connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % SIZE + b"x" * SIZE)
            connection.sendall(b"\r\n0\r\n\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            answer += connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"InvalidParameterValueException" in answer
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 "), "the connection goes on"
