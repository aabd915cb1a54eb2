import httpx2
import pytest

from acklog.wire.problems import ProblemCode
from app.http.application import create_app
from app.http.description.operations import OPERATIONS
from app.http.exchange.problems import problem_document, problem_response
from cluster.errors import ServerError
from tests.support.memory_gateway import MemoryWorld


@pytest.mark.parametrize("code", list(ProblemCode))
def test_every_code_makes_a_problem_document(code: ProblemCode) -> None:
    response = problem_response(ServerError(code, "what happened", field="key", retry_after_ms=1001))
    assert response.status_code == code.status
    headers = {name.decode(): value.decode() for name, value in response.raw_headers}
    assert headers["content-type"] == "application/problem+json"
    assert headers.get("retry-after") == ("2" if code.retriable else None)
    assert response.body.endswith(b"}\n")
    assert problem_document(ServerError(code, "what happened", field="key")) == {
        "type": f"urn:acklog:problem:{code.name}",
        "title": code.title,
        "status": code.status,
        "detail": "what happened",
        "code": code.name,
        "retriable": code.retriable,
        "field": "key",
    }


@pytest.mark.parametrize("path", ["/messages/", "/topics/a/b", "/nothing", "/ack/", "/%2e%2e", "/messages%00"])
async def test_nothing_is_at_other_paths(client: httpx2.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert (response.status_code, response.json()["code"]) in {(404, "NOT_FOUND"), (400, "INVALID_MESSAGE_ID")}


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/messages", {"GET", "POST"}),
        ("HEAD", "/messages", {"GET", "POST"}),
        ("GET", "/ack", {"POST"}),
        ("POST", "/topics/a", {"PUT", "PATCH", "GET", "DELETE"}),
        ("DELETE", "/groups/a/offsets", {"PUT", "GET", "POST"}),
        ("OPTIONS", "/healthz", {"GET", "HEAD"}),
        ("TRACE", "/healthz", {"GET", "HEAD"}),
    ],
)
async def test_other_methods_are_told_which_ones_there_are(
    client: httpx2.AsyncClient, method: str, path: str, allowed: set[str]
) -> None:
    response = await client.request(method, path)
    assert response.status_code == 405
    assert set(response.headers["allow"].split(", ")) == allowed


async def test_a_type_that_needs_a_token_says_so() -> None:
    response = problem_response(ServerError(ProblemCode.UNAUTHENTICATED, "no token"))
    assert response.headers["www-authenticate"].startswith("Bearer")


async def test_health(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    assert (await client.get("/healthz")).json() == {"status": "alive"}
    assert (await client.get("/readyz")).json() == {"status": "ready"}
    world.metadata.registrations.clear()
    assert (await client.get("/readyz")).json()["code"] == "UNAVAILABLE"
    world.gateway.shutdown.begin()
    assert (await client.get("/readyz")).json()["code"] == "SHUTTING_DOWN"
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/healthz?verbose=1")).json()["code"] == "UNKNOWN_FIELD"


async def test_metrics_count_what_happened(client: httpx2.AsyncClient, world: MemoryWorld) -> None:
    await world.topic()
    await client.post("/messages", json={"queue": "orders", "body": 1})
    await client.post("/messages", json={"queue": "orders", "messages": [{"body": 1, "x": 2}, {"body": 2}]})
    messages = (await client.get("/messages?queue=orders")).json()["messages"]
    await client.post("/ack", json={"receipt": messages[0]["receipt"]})
    await client.get("/nowhere/at/all")
    text = (await client.get("/metrics")).text
    for line in (
        'acklog_http_requests_total{method="POST",route="/messages",status="201"} 1.0',
        'acklog_http_requests_total{method="POST",route="/messages",status="207"} 1.0',
        'acklog_http_requests_total{method="GET",route="other",status="404"} 1.0',
        'acklog_messages_sent_total{topic="orders"} 2.0',
        'acklog_messages_refused_total{code="UNKNOWN_FIELD"} 1.0',
        'acklog_messages_delivered_total{group="default",topic="orders"} 2.0',
        'acklog_messages_settled_total{action="ack",result="done"} 1.0',
        "acklog_waiting_requests 0.0",
    ):
        assert line in text, line


async def test_the_documentation_needs_nothing_from_elsewhere(client: httpx2.AsyncClient) -> None:
    page = await client.get("/docs/plain")
    assert page.status_code == 200
    assert "operationId" not in page.text
    assert "Lease messages for a consumer" in page.text
    assert "://" not in page.text.replace("urn:acklog", "")
    assert "<script" not in page.text
    document = (await client.get("/openapi.json")).json()
    assert "/messages" in document["paths"]


async def test_every_route_is_described(world: MemoryWorld) -> None:
    app = create_app(world.gateway)
    described = {
        operation["operationId"] for methods in app.openapi()["paths"].values() for operation in methods.values()
    }
    assert described == set(OPERATIONS)


@pytest.mark.parametrize("body", [b"", b" ", b"{"])
async def test_a_body_that_is_missing_or_cut_is_told(client: httpx2.AsyncClient, body: bytes) -> None:
    for path in ("/messages", "/ack"):
        answer = (await client.post(path, content=body)).json()
        assert (answer["code"], answer["detail"]) == ("INVALID_JSON", "not valid JSON: it is empty or ends too early")


async def test_the_root_leads_to_the_documentation(client: httpx2.AsyncClient) -> None:
    response = await client.get("/")
    assert (response.status_code, response.headers["location"]) == (307, "docs")
    assert (await client.get("/docs")).status_code == 200
