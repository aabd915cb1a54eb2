"""Every code of the catalogue of errors is produced by some test; most of them here, over HTTP from a real server."""

import gzip
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acklog.wire import limits
from acklog.wire.problems import ProblemCode
from tests.support.server_process import REPOSITORY, Answer, ServerProcess
from tests.support.waiting import wait_until

pytestmark = pytest.mark.integration

MIB = 1024 * 1024
TOKEN = {"Authorization": "Bearer the-readers-token"}
OPTIONS = (
    "--waiting-requests-max=1",
    "--body-timeout-ms=500",
    f"--request-bytes-in-flight-max={limits.REQUEST_BODY_BYTES_MAX}",
)
ENVIRONMENT = {"ACKLOG_NODE_DEDUP_WINDOW_BYTES_MAX": "2000", "ACKLOG_NODE_RETENTION_INTERVAL_MS": "50"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with tight limits."""
    directory = tmp_path_factory.mktemp("catalogue")
    with ServerProcess(
        directory / "data", directory / "server.log", options=OPTIONS, environment=ENVIRONMENT
    ) as server:
        yield server


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with tokens. The one that there is may read only."""
    directory = tmp_path_factory.mktemp("catalogue-tokens")
    tokens = directory / "tokens.json"
    tokens.write_text('{"tokens": [{"name": "reader", "token": "the-readers-token", "scopes": ["read"]}]}')
    options = ("--tokens-file", str(tokens))
    with ServerProcess(directory / "data", directory / "server.log", options=options) as server:
        yield server


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server that wants more space kept free than any disk has."""
    directory = tmp_path_factory.mktemp("catalogue-full")
    environment = {"ACKLOG_NODE_RESERVE_BYTES": str(1 << 60)}
    with ServerProcess(directory / "data", directory / "server.log", environment=environment) as server:
        yield server


def post(server: ServerProcess, document: object, target: str = "/messages", **headers: str) -> Answer:
    return server.request("POST", target, document, headers={name.replace("_", "-"): headers[name] for name in headers})


# --- the request itself -------------------------------------------------------------------------------------------


def invalid_json(server: ServerProcess) -> Answer:
    headers = {"Content-Type": "application/json"}
    return server.request("POST", "/messages", content=b'{"queue": "q", "body": ', headers=headers)


def invalid_field(server: ServerProcess) -> Answer:
    return server.request("GET", "/messages?queue=q&max=0")


def unknown_field(server: ServerProcess) -> Answer:
    return post(server, {"queue": "q", "body": 1, "boddy": 2})


def missing_field(server: ServerProcess) -> Answer:
    return post(server, {"queue": "q"})


def invalid_name(server: ServerProcess) -> Answer:
    return post(server, {"queue": "no blanks", "body": 1})


def invalid_message_id(server: ServerProcess) -> Answer:
    return server.request("GET", "/messages/m-1-2-3")


def invalid_receipt(server: ServerProcess) -> Answer:
    return post(server, {"receipt": "r-1-2-3"}, "/ack")


def invalid_filter(server: ServerProcess) -> Answer:
    return server.request("GET", "/messages?queue=q&filter=tag")


def unsupported(server: ServerProcess) -> Answer:
    return server.request("PUT", "/cluster/pause")


def body_incomplete(server: ServerProcess) -> Answer:
    packed = gzip.compress(b'{"queue": "q", "body": 1}')
    return server.request("POST", "/messages", content=packed[:-5], headers={"Content-Encoding": "gzip"})


def not_found(server: ServerProcess) -> Answer:
    return server.request("GET", "/nothing/here")


def host_not_allowed(server: ServerProcess) -> Answer:
    return server.request("GET", "/topics", headers={"Host": "rebound.example"})


def origin_not_allowed(server: ServerProcess) -> Answer:
    return server.request("GET", "/messages?queue=orders", headers={"Origin": "https://elsewhere.example"})


def method_not_allowed(server: ServerProcess) -> Answer:
    answer = server.request("PATCH", "/messages")
    assert set(answer.headers["allow"].split(", ")) >= {"GET", "POST"}
    return answer


def not_acceptable(server: ServerProcess) -> Answer:
    return server.request("GET", "/messages?queue=q", headers={"Accept": "image/png"})


def request_timeout(server: ServerProcess) -> Answer:
    with server.open_connection() as connection:
        connection.sendall(b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n{")
        content = b""
        while part := connection.recv(65536):
            content += part
    return parsed(content)


def parsed(content: bytes) -> Answer:
    head, _, body = content.partition(b"\r\n\r\n")
    status_line, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return Answer(int(status_line.split()[1]), headers, body)


def request_too_large(server: ServerProcess) -> Answer:
    packed = gzip.compress(bytes(limits.REQUEST_BODY_BYTES_MAX + 1))
    return server.request("POST", "/messages?queue=q", content=packed, headers={"Content-Encoding": "gzip"})


def message_too_large(server: ServerProcess) -> Answer:
    return post(server, {"queue": "q", "body": "x" * limits.MESSAGE_BODY_BYTES_MAX})


def too_many_messages(server: ServerProcess) -> Answer:
    return post(server, {"queue": "q", "messages": [{"body": 1}] * (limits.REQUEST_MESSAGES_MAX + 1)})


def unsupported_media_type(server: ServerProcess) -> Answer:
    return server.request("POST", "/messages", content=b"x", headers={"Content-Encoding": "br"})


# --- what it is about ---------------------------------------------------------------------------------------------


def topic_not_found(server: ServerProcess) -> Answer:
    server.send("orders", 1)
    answer = server.request("GET", "/messages?queue=order")
    assert answer.document["near"] == ["orders"]
    return answer


def partition_not_found(server: ServerProcess) -> Answer:
    server.send("orders", 1)
    return post(server, {"queue": "orders", "body": 1, "partition": 8})


def group_not_found(server: ServerProcess) -> Answer:
    return server.request("GET", "/groups/nobody")


def message_not_found(server: ServerProcess) -> Answer:
    message_id = server.send("orders", 1)["messageId"]
    return server.request("GET", "/messages/" + re.sub("[0-9]+$", "999999", message_id))


def message_expired(server: ServerProcess) -> Answer:
    config = {"retentionBytes": 0, "segmentBytes": MIB}
    assert server.request("PUT", "/topics/short", {"partitions": 1, "config": config}).status == 201
    first = server.send("short", "first")["messageId"]

    def is_gone() -> Answer | None:
        server.send("short", "x" * 600_000)
        answer = server.request("GET", f"/messages/{first}")
        return answer if answer.status != 200 else None

    return wait_until(is_gone, seconds=20, what="retention removes the first segment")


def offset_out_of_range(server: ServerProcess) -> Answer:
    server.send("orders", 1)
    return server.request("GET", "/topics/orders/partitions/0/records?offset=999999")


def receipt_stale(server: ServerProcess) -> Answer:
    server.send("stale", 1)
    (old,) = server.receive("stale")
    post(server, {"receipt": old["receipt"], "delaySeconds": 0}, "/nack")
    wait_until(lambda: server.receive("stale"), seconds=10, what="the message comes again")
    return server.request("POST", "/ack", {"receipt": old["receipt"]})


def not_delivered(server: ServerProcess) -> Answer:
    message_id = server.send("untouched", 1)["messageId"]
    assert server.request("PUT", "/groups/never").status in {200, 201}
    return post(server, {"messageId": message_id, "group": "never"}, "/ack")


def idempotency_key_reused(server: ServerProcess) -> Answer:
    post(server, {"queue": "keyed", "body": 1}, Idempotency_Key="the same")
    return post(server, {"queue": "keyed", "body": 2}, Idempotency_Key="the same")


# --- the state of the server --------------------------------------------------------------------------------------


def overloaded(server: ServerProcess) -> Answer:
    head = b"POST /messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % limits.REQUEST_BODY_BYTES_MAX

    def refusal() -> Answer | None:
        with server.open_connection() as connection:
            connection.sendall(head + bytes(limits.REQUEST_BODY_BYTES_MAX - 1))
            answer = post(server, {"queue": "orders", "body": 1})
            return answer if answer.status != 201 else None

    return wait_until(refusal, seconds=20, what="nearly all of a large body has come")


def dedup_window_full(server: ServerProcess) -> Answer:
    for number in range(20):
        answer = post(server, {"queue": "window", "body": 1, "partition": 0, "dedupId": f"id {number}"})
        if answer.status != 201:
            return answer
    raise AssertionError("the window never got full")


def too_many_waiting(server: ServerProcess) -> Answer:
    server.send("waiting", 1)
    server.receive("waiting", "g")

    def refusal() -> Answer | None:
        answer = server.request("GET", "/messages?queue=waiting&group=g&waitSeconds=0.1")
        return answer if answer.status != 200 else None

    with server.open_connection() as connection:
        connection.sendall(b"GET /messages?queue=waiting&group=g&waitSeconds=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return wait_until(refusal, seconds=10, what="another poll waits")


def unauthenticated(guarded: ServerProcess) -> Answer:
    answer = post(guarded, {"queue": "q", "body": 1}, Authorization="Bearer of nothing")
    assert answer.headers["www-authenticate"].startswith("Bearer")
    return answer


def forbidden(guarded: ServerProcess) -> Answer:
    return guarded.request("POST", "/messages", {"queue": "q", "body": 1}, headers=TOKEN)


def storage_full(full: ServerProcess) -> Answer:
    return post(full, {"queue": "q", "body": 1})


PROVOKED: dict[str, tuple[str, Callable[[ServerProcess], Answer]]] = {
    "INVALID_JSON": ("server", invalid_json),
    "INVALID_FIELD": ("server", invalid_field),
    "UNKNOWN_FIELD": ("server", unknown_field),
    "MISSING_FIELD": ("server", missing_field),
    "INVALID_NAME": ("server", invalid_name),
    "INVALID_MESSAGE_ID": ("server", invalid_message_id),
    "INVALID_RECEIPT": ("server", invalid_receipt),
    "INVALID_FILTER": ("server", invalid_filter),
    "UNSUPPORTED": ("server", unsupported),
    "BODY_INCOMPLETE": ("server", body_incomplete),
    "UNAUTHENTICATED": ("guarded", unauthenticated),
    "FORBIDDEN": ("guarded", forbidden),
    "NOT_FOUND": ("server", not_found),
    "HOST_NOT_ALLOWED": ("server", host_not_allowed),
    "ORIGIN_NOT_ALLOWED": ("server", origin_not_allowed),
    "METHOD_NOT_ALLOWED": ("server", method_not_allowed),
    "NOT_ACCEPTABLE": ("server", not_acceptable),
    "REQUEST_TIMEOUT": ("server", request_timeout),
    "REQUEST_TOO_LARGE": ("server", request_too_large),
    "MESSAGE_TOO_LARGE": ("server", message_too_large),
    "TOO_MANY_MESSAGES": ("server", too_many_messages),
    "UNSUPPORTED_MEDIA_TYPE": ("server", unsupported_media_type),
    "TOPIC_NOT_FOUND": ("server", topic_not_found),
    "PARTITION_NOT_FOUND": ("server", partition_not_found),
    "GROUP_NOT_FOUND": ("server", group_not_found),
    "MESSAGE_NOT_FOUND": ("server", message_not_found),
    "MESSAGE_EXPIRED": ("server", message_expired),
    "OFFSET_OUT_OF_RANGE": ("server", offset_out_of_range),
    "RECEIPT_STALE": ("server", receipt_stale),
    "NOT_DELIVERED": ("server", not_delivered),
    "IDEMPOTENCY_KEY_REUSED": ("server", idempotency_key_reused),
    "OVERLOADED": ("server", overloaded),
    "DEDUP_WINDOW_FULL": ("server", dedup_window_full),
    "TOO_MANY_WAITING": ("server", too_many_waiting),
    "STORAGE_FULL": ("full", storage_full),
}
PROVOKED_ELSEWHERE = {
    "RECORDS_CORRUPT": "tests/integration/test_damaged_files.py",
    "STORAGE_FAILED": "tests/integration/test_damaged_files.py",
    "SHUTTING_DOWN": "tests/integration/test_start_and_stop.py",
}


@pytest.mark.parametrize("code", PROVOKED)
def test_a_code_is_produced_as_the_catalogue_says(code: str, request: pytest.FixtureRequest) -> None:
    fixture, provoke = PROVOKED[code]
    answer = provoke(request.getfixturevalue(fixture))
    assert answer.code == code, answer
    expected = ProblemCode[code]
    assert answer.status == expected.status
    document = answer.document
    assert document["status"] == expected.status
    assert document["title"] == expected.title
    assert document["retriable"] is expected.retriable
    assert document["detail"]
    assert document["type"].endswith(code)
    assert ("retry-after" in answer.headers) is expected.retriable
    assert answer.content.endswith(b"\n")


@pytest.mark.parametrize("code", [code.name for code in ProblemCode])
def test_every_code_is_demanded_by_some_test(code: str) -> None:
    """A code without a test is one that nobody has ever seen: produce it, or take it out of the catalogue."""
    if code in PROVOKED:
        return
    pattern = re.compile(rf"ProblemCode\.{code}\b|\"{code}\"")
    own = Path(__file__).resolve()
    if code in PROVOKED_ELSEWHERE:
        assert pattern.search((REPOSITORY / PROVOKED_ELSEWHERE[code]).read_text())
        return
    tests = [path for path in sorted((REPOSITORY / "tests").rglob("test_*.py")) if path.resolve() != own]
    assert any(pattern.search(path.read_text()) for path in tests), f"no test demands {code}"
