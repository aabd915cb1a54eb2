"""The examples of the documentation: each request is taken by a cluster of real nodes, each answer is of its schema."""

import json
from typing import Any

import httpx2
import jsonschema_rs
import pytest

from app.http.description import example_answers
from app.http.description.examples import EXAMPLES
from app.http.description.media_types import JSON, NDJSON
from app.http.description.openapi import openapi_document
from app.http.description.operations import OPERATIONS
from app.http.openapi_file import standalone_app
from storage.encryption.master_key import MasterKeys
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.encrypted_node import master_key

NODES = 4
DOCUMENT = openapi_document(standalone_app())
CALLS = {
    operation["operationId"]: (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}
REQUESTS = [
    (operation_id, media_type, name)
    for operation_id, examples in EXAMPLES.items()
    for media_type, name in [(kind, each) for kind, named in examples.bodies.items() for each in named] or [("", "")]
]
# What has to be so before a call makes sense.
BEFORE = {
    "stopDrainingNode": "drainNode",
    "cancelMove": "reassignPartition",
    "resumeMoves": "pauseMoves",
    "heartbeat": "joinGroup",
    "describeToken": "createToken",
    "rotateToken": "createToken",
    "revokeToken": "createToken",
    "askOfToken": "createToken",
    "leaveGroup": "joinGroup",
    **dict.fromkeys(("lookAtRestore", "restoreBatches", "restoreGroups", "finishRestore"), "beginRestore"),
    "updateNamespace": "putNamespace",
    "describeNamespace": "putNamespace",
    "deleteNamespace": "putNamespace",
}
MAKES = {"putTopic", "putGroup"}
# What is for partitions that have lost everybody, and for messages that are blocked: here all is well.
REFUSED = {
    "planUncleanElection": 409,
    "electUnclean": 409,
    "releaseBlocked": 409,
    "skipBlocked": 409,
    "watchEvents": 429,  # there is no place for streams here, which have no end
    "tailTopic": 429,
}


def test_every_call_has_examples_of_all_that_it_takes_and_answers() -> None:
    assert list(EXAMPLES) == list(OPERATIONS)
    for operation_id, (_, _, operation) in CALLS.items():
        for parameter in operation["parameters"]:
            assert "example" in parameter or not parameter.get("required"), (operation_id, parameter["name"])
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [answer.get("content", {}) for answer in operation["responses"].values() if "$ref" not in answer]
        for content in contents:
            for media_type, described in content.items():
                is_opaque = media_type.startswith("application/vnd.")
                assert is_opaque or described["examples"], (operation_id, media_type)


def test_every_example_is_of_its_schema() -> None:
    checked = 0
    for operation_id, (_, _, operation) in CALLS.items():
        contents = [operation.get("requestBody", {}).get("content", {})]
        contents += [answer.get("content", {}) for answer in operation["responses"].values() if "$ref" not in answer]
        described = [each for content in contents for each in content.values()]
        pairs = [(each["schema"], example) for each in described for example in each.get("examples", {}).values()]
        pairs += [(each["schema"], {"value": each["example"]}) for each in operation["parameters"] if "example" in each]
        for schema, example in pairs:
            value = resolved(example)["value"]
            faults = [fault.message for fault in validator(schema).iter_errors(value)]
            assert faults == [], (operation_id, value)
            checked += 1
    assert checked > len(CALLS)


def resolved(part: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in part:
        return part
    found: Any = DOCUMENT
    for step in part["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    assert isinstance(found, dict)
    return found


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def test_lines_are_documents_of_their_own() -> None:
    [text] = EXAMPLES["receiveMessages"].answers[200][NDJSON].values()
    delivery = {"$ref": "#/components/schemas/Delivery"}
    assert [validator(delivery).is_valid(json.loads(line)) for line in text.splitlines()] == [True]


@pytest.mark.parametrize(("operation_id", "media_type", "name"), REQUESTS)
def test_every_request_is_taken(operation_id: str, media_type: str, name: str) -> None:
    async def main(cluster: Cluster) -> None:
        [gateway] = cluster.gateways
        async with client_of(gateway) as client:
            await cluster.until(lambda: len(gateway.metadata.nodes()) == NODES)
            real = await shop(client) if operation_id not in MAKES else {}
            if operation_id in {"lookAtRedrive", "cancelRedrive"}:
                job = await call(client, "startRedrive", JSON, "", real)
                real[example_answers.REDRIVE_ID] = job.json()["jobId"]
            if operation_id in BEFORE:
                await call(client, BEFORE[operation_id], JSON, "", real)
            gateway.gateway.settings.adopt({"events_watchers_max": 0, "tails_max": 0})  # a stream has no end
            answer = await call(client, operation_id, media_type, name, real)
            assert str(answer.status_code) in CALLS[operation_id][2]["responses"]
            described = CALLS[operation_id][2]["responses"][str(answer.status_code)].get("content", {})
            if JSON in described:
                assert validator(described[JSON]["schema"]).is_valid(answer.json())
            if operation_id == "metrics":
                assert example_answers.METRICS in answer.text

    ClusterBuilder().encrypting(MasterKeys(master_key())).nodes(NODES).gateway().run(main)


async def shop(client: httpx2.AsyncClient) -> dict[str, str]:
    """The story that the examples tell, up to two leased messages. Answers what its ids are here, by those there."""
    for url in ("/topics/orders", "/topics/orders.billing.dlq", "/groups/billing", "/groups/audit"):
        assert (await client.put(url)).status_code == 201
    assert (await client.put("/groups/shipping", json={"mode": "exclusive"})).status_code == 201
    assert (await client.put("/topics/payments", json={"config": {"encryption": "on"}})).status_code == 201
    customers = {"partitions": 1, "config": {"cleanupPolicy": "compact"}}
    assert (await client.put("/topics/customers", json=customers)).status_code == 201
    bern = {"queue": "customers", "key": "customer-17", "body": {"city": "Bern"}}
    assert (await client.post("/messages", json=bern)).status_code == 201
    messages = [{"body": number, "partition": 0} for number in range(2)]
    sent = await client.post("/messages", json={"queue": "orders", "messages": messages})
    got = await client.get("/messages?queue=orders&group=billing&waitSeconds=20")
    later = {"queue": "orders", "partition": 0, "body": 3, "delaySeconds": 900}
    scheduled = await client.post("/messages", json=later)
    schedule = {"cron": "0 8 * * mon-fri", "timeZone": "Europe/Berlin", "message": {"body": {"report": "sales"}}}
    assert (await client.put("/topics/orders/schedules/every-morning", json=schedule)).status_code == 201
    receipts = [each["receipt"] for each in got.json()["messages"]]
    return {
        example_answers.MESSAGE_ID: sent.json()["results"][0]["messageId"],
        example_answers.SCHEDULE_ID: scheduled.json()["scheduleId"],
        example_answers.RECEIPT: receipts[0],
        example_answers.NEXT_RECEIPT: receipts[1],
    }


async def call(
    client: httpx2.AsyncClient, operation_id: str, media_type: str, name: str, real: dict[str, str]
) -> httpx2.Response:
    """The answer, which is one of success. `name` "": the first of the call's bodies, where it has any."""
    method, path, operation = CALLS[operation_id]
    examples = EXAMPLES[operation_id]
    query = dict(examples.parameters)
    for parameter in operation["parameters"]:
        if parameter["in"] == "path":
            value = str(query.pop(parameter["name"]))
            path = path.replace("{" + parameter["name"] + "}", real.get(value, value))
    bodies = examples.bodies.get(media_type, {})
    body = bodies[name] if name else next(iter(bodies.values()), None)
    if bodies and media_type != JSON and operation_id == "sendMessages":
        query["queue"] = "orders"  # which such a body cannot say
    text = "" if body is None else body if isinstance(body, str) else json.dumps(body)
    for there, here in real.items():
        text = text.replace(there, here)
    headers = {"Content-Type": media_type} if text else {}
    answer = await client.request(method.upper(), path, params=query, content=text.encode(), headers=headers)
    assert answer.status_code in (200, 201, 202, 204, REFUSED.get(operation_id)), answer.text
    return answer
