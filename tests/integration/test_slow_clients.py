"""Clients that are slow, stuck or gone: each costs a bounded amount, and nobody else notices."""

import asyncio
import gzip
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from acklog.wire.limits import REQUEST_BODY_BYTES_MAX
from tests.integration.conftest import ServerMaker
from tests.support.server_process import Answer, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

MIB = 1024 * 1024
SHORT_TIMEOUTS = (
    "--header-timeout-ms=700",
    "--keep-alive-ms=1000",
    "--body-timeout-ms=700",
    "--write-timeout-ms=700",
    "--header-bytes-max=8192",
    "--url-bytes-max=4096",
    "--pipelined-requests-max=20",
)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that waits for nobody longer than 0.7 s."""
    directory = tmp_path_factory.mktemp("impatient")
    with ServerProcess(directory / "data", directory / "server.log", options=SHORT_TIMEOUTS) as server:
        yield server
        for stumble in ("Traceback", "Exception in ASGI application"):
            assert stumble not in server.output(), "a client made the server stumble"


def read_to_end(connection: socket.socket) -> bytes:
    """Everything up to the server's close."""
    parts = []
    while True:
        try:
            part = connection.recv(65536)
        except ConnectionResetError:
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def check_that_others_are_served(server: ServerProcess) -> None:
    sent = server.send("others", "hello")
    (message,) = server.receive("others", max=1)
    assert message["messageId"] == sent["messageId"]
    assert server.ack(message["receipt"]).status == 200


def send_all(connection: socket.socket, content: bytes) -> None:
    """Send what the server takes; it may close the connection before the end."""
    try:
        connection.sendall(content)
    except (BrokenPipeError, ConnectionResetError):
        return


class TestHalfSentRequests:
    def test_no_bytes_at_all(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            read_to_end(connection)
        check_that_others_are_served(impatient)

    def test_half_the_headers(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            connection.sendall(b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Le")
            assert status_of(read_to_end(connection)) == 408
        check_that_others_are_served(impatient)

    def test_half_a_body(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            connection.sendall(b'POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{"queue":')
            answer = read_to_end(connection)
            assert status_of(answer) == 408
            assert b"REQUEST_TIMEOUT" in answer
        check_that_others_are_served(impatient)

    def test_a_client_that_leaves_within_the_body_stores_nothing(self, impatient: ServerProcess) -> None:
        body = b'{"queue":"half","body":1}'
        with impatient.open_connection() as connection:
            head = b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (len(body) + 1)
            connection.sendall(head + body)
        check_that_others_are_served(impatient)
        assert impatient.request("GET", "/topics/half").code == "TOPIC_NOT_FOUND"

    def test_hundreds_at_once(self, impatient: ServerProcess) -> None:
        with ExitStack() as connections:
            opened = [connections.enter_context(impatient.open_connection()) for _ in range(300)]
            for connection in opened:
                connection.sendall(b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
            check_that_others_are_served(impatient)
            assert {status_of(read_to_end(connection)) for connection in opened} == {408}

    def test_the_allowance_for_bodies_is_given_back(self, make_server: ServerMaker) -> None:
        """What has come of a body that does not go on holds its part of the allowance until its time is up only."""
        options = ("--body-timeout-ms=4000", f"--request-bytes-in-flight-max={REQUEST_BODY_BYTES_MAX}")
        server = make_server(*options).start()
        assert send_one(server).status == 201
        head = b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % REQUEST_BODY_BYTES_MAX
        with server.open_connection() as connection:
            connection.sendall(head + bytes(REQUEST_BODY_BYTES_MAX - 1))
            wait_until(lambda: body_bytes_held(server) == REQUEST_BODY_BYTES_MAX - 1, seconds=10, what="all has come")
            refusal = send_one(server)
            assert (refusal.status, refusal.code) == (429, "OVERLOADED")
            assert "retry-after" in refusal.headers
            assert status_of(read_to_end(connection)) == 408
        wait_until(lambda: send_one(server).status == 201, seconds=10, what="the allowance is there again")


def body_bytes_held(server: ServerProcess) -> int:
    metrics = server.request("GET", "/metrics").content.decode()
    return int(float(metrics.partition("\nacklog_request_body_bytes ")[2].partition("\n")[0]))


def send_one(server: ServerProcess) -> Answer:
    return server.request("POST", "/messages", {"queue": "orders", "body": 1})


class TestTooMuch:
    def test_a_flood_of_headers(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            send_all(connection, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X-Flood: 0123456789\r\n" * 100_000)
            answer = read_to_end(connection)
        assert answer == b"" or status_of(answer) == 431
        check_that_others_are_served(impatient)

    def test_one_endless_header(self, impatient: ServerProcess) -> None:
        before = impatient.resident_bytes()
        with impatient.open_connection() as connection:
            send_all(connection, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Endless: " + b"x" * (64 * MIB))
            read_to_end(connection)
        assert impatient.resident_bytes() - before < 32 * MIB
        check_that_others_are_served(impatient)

    def test_an_endless_url(self, impatient: ServerProcess) -> None:
        before = impatient.resident_bytes()
        with impatient.open_connection() as connection:
            send_all(connection, b"GET /" + b"x" * (64 * MIB))
            answer = read_to_end(connection)
        assert answer == b"" or status_of(answer) == 414
        assert impatient.resident_bytes() - before < 32 * MIB
        check_that_others_are_served(impatient)

    def test_what_is_no_http(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            connection.sendall(b"\x16\x03\x01\x02\x00 this is no HTTP\r\n\r\n")
            assert status_of(read_to_end(connection)) == 400
        check_that_others_are_served(impatient)

    @pytest.mark.parametrize("members", [1, 20])
    def test_a_gzip_bomb(self, impatient: ServerProcess, members: int) -> None:
        """A quarter of a gigabyte in a small request: refused once it has unpacked to more than a request may hold."""
        bomb = gzip.compress(bytes(256 * MIB // members), compresslevel=6) * members
        before = impatient.resident_bytes()
        answer = impatient.request("POST", "/messages?queue=bombs", content=bomb, headers={"Content-Encoding": "gzip"})
        assert (answer.status, answer.code) == (413, "REQUEST_TOO_LARGE")
        assert impatient.resident_bytes() - before < 64 * MIB
        check_that_others_are_served(impatient)

    def test_a_body_without_a_length_that_never_ends(self, impatient: ServerProcess) -> None:
        chunk = b"100000\r\n" + b"x" * MIB + b"\r\n"
        with impatient.open_connection() as connection:
            connection.sendall(
                b"POST /messages?queue=q HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            for _ in range(64):
                send_all(connection, chunk)
            answer = read_to_end(connection)
        assert answer == b"" or status_of(answer) == 413
        check_that_others_are_served(impatient)


class TestAnswers:
    def test_no_cache_keeps_what_a_receive_got(self, impatient: ServerProcess) -> None:
        impatient.send("cached", 1)
        for target in ("/messages?queue=cached", "/topics", "/topics/cached/partitions/0/records?offset=0"):
            assert impatient.request("GET", target).headers["cache-control"] == "no-store"


class TestPipelining:
    def test_answers_come_in_the_order_of_the_requests(self, impatient: ServerProcess) -> None:
        requests = b""
        for number in range(15):
            body = b'{"queue":"pipelined","partition":0,"body":%d}' % number
            requests += b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (
                len(body),
                body,
            )
        with impatient.open_connection() as connection:
            connection.sendall(requests + b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answers = read_to_end(connection)
        bodies = [part.split(b"\n", 1)[0] for part in answers.split(b"\r\n\r\n")[1:-1]]
        offsets = [json.loads(body)["offset"] for body in bodies]
        assert offsets == list(range(15))

    def test_too_many_at_once_are_refused(self, impatient: ServerProcess) -> None:
        with impatient.open_connection() as connection:
            send_all(connection, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100_000)
            read_to_end(connection)
        check_that_others_are_served(impatient)


class TestClientsThatDoNotRead:
    def test_leases_come_back_when_the_answer_cannot_be_written(self, impatient: ServerProcess) -> None:
        """The answer is larger than every buffer on its way, so the server notices that nobody reads it."""
        impatient.request("PUT", "/topics/large", {"partitions": 1})
        for _ in range(16):
            impatient.send("large", "x" * (MIB - 100))
        with socket.socket() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((impatient.host, impatient.port))
            target = b"/messages?queue=large&group=g&max=16&maxBytes=16777216&visibilitySeconds=3600"
            connection.sendall(b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % target)
            messages = wait_until(
                lambda: impatient.receive("large", "g", max=16, maxBytes=16 * MIB, visibilitySeconds=3600),
                seconds=20,
                what="the leases are given back",
            )
            if len(messages) < 16:
                messages += impatient.receive("large", "g", max=16, maxBytes=16 * MIB, visibilitySeconds=3600)
        assert [message["attempt"] for message in messages] == [1] * 16
        check_that_others_are_served(impatient)

    def test_many_answers_that_nobody_reads(self, impatient: ServerProcess) -> None:
        impatient.request("PUT", "/topics/unread", {"partitions": 1})
        for _ in range(4):
            impatient.send("unread", "x" * (MIB - 100))
        request = b"GET /topics/unread/partitions/0/records?offset=0 HTTP/1.1\r\nHost: localhost\r\n\r\n"
        before = impatient.resident_bytes()
        with ExitStack() as connections:
            for _ in range(30):
                connection = connections.enter_context(impatient.open_connection())
                connection.sendall(request * 10)
            check_that_others_are_served(impatient)
            assert impatient.resident_bytes() - before < 400 * MIB


class TestClientsThatLeave:
    async def test_a_poll_that_is_left_leaves_no_lease_behind(self, impatient: ServerProcess) -> None:
        """The client is gone when the message comes: another consumer gets it at once, as the first attempt."""
        assert impatient.request("PUT", "/topics/left", {"partitions": 1}).status == 201
        reader, writer = await asyncio.open_connection(impatient.host, impatient.port)
        writer.write(b"GET /messages?queue=left&group=g&waitSeconds=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        await writer.drain()
        await asyncio.to_thread(wait_until, lambda: waiting_requests(impatient) == 1, seconds=10, what="the poll waits")
        writer.close()
        await writer.wait_closed()
        assert await reader.read() == b""
        await asyncio.to_thread(wait_until, lambda: waiting_requests(impatient) == 0, seconds=10, what="it is over")
        impatient.send("left", "for whoever is there")
        (message,) = impatient.receive("left", "g")
        assert message["attempt"] == 1

    def test_messages_that_come_right_behind_a_leaver(self, impatient: ServerProcess) -> None:
        """The server learns of the message and of the leaving at the same time: nothing may be leased to nobody."""
        assert impatient.request("PUT", "/topics/race", {"partitions": 1}).status == 201
        request = (
            b"GET /messages?queue=race&group=g&waitSeconds=20&visibilitySeconds=3600 HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        )
        for number in range(30):
            with impatient.open_connection() as leaver:
                leaver.sendall(request)
                wait_until(lambda: waiting_requests(impatient) == 1, seconds=20, what="the poll waits")
            impatient.send("race", number)
            (message,) = impatient.receive("race", "g", waitSeconds=5, visibilitySeconds=3600)
            assert (message["body"], message["attempt"]) == (number, 1)

    def test_a_leaver_with_more_requests_behind_its_poll(self, impatient: ServerProcess) -> None:
        """Pipelined requests must not hide that the client has gone, nor be begun for nobody."""
        assert impatient.request("PUT", "/topics/piped", {"partitions": 1}).status == 201
        poll = (
            b"GET /messages?queue=piped&group=g&waitSeconds=20&visibilitySeconds=3600 HTTP/1.1\r\nHost: [::1]\r\n\r\n"
        )
        body = b'{"queue":"piped","body":"of nobody"}'
        send = b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
        with impatient.open_connection() as leaver:
            leaver.sendall(poll + send)
            wait_until(lambda: waiting_requests(impatient) == 1, seconds=20, what="the poll waits")
        wait_until(lambda: waiting_requests(impatient) == 0, seconds=20, what="the poll is over")
        impatient.send("piped", "hello")
        (message,) = impatient.receive("piped", "g", visibilitySeconds=3600)
        assert (message["body"], message["attempt"]) == ("hello", 1)


def waiting_requests(server: ServerProcess) -> int:
    for line in server.request("GET", "/metrics").content.decode().splitlines():
        if line.startswith("acklog_waiting_requests "):
            return int(float(line.split()[1]))
    raise AssertionError("the metric is missing")
