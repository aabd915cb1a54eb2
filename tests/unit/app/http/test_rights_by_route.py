"""Every route with every kind of token: what rights do not allow is refused, and what they allow is not.

The routes are those of openapi.yaml, and `app.http.description.needed_rights` says what each needs: one that it does
not know, or that this module does not know how to ask, fails.
"""

import itertools
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
import pytest
import yaml

from acklog.wire.identifiers import ScheduleId, parse_message_id
from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.application import create_server_app
from app.http.description.needed_rights import NEEDED, Need, Needed, On
from cluster.model.action import Action
from tests.support.memory_gateway import MemoryWorld
from tests.unit.app.conftest import client_of
from tests.unit.docs.documents import REPOSITORY

DOCUMENT = yaml.safe_load((REPOSITORY / "openapi.yaml").read_text())
ROUTES = {
    operation["operationId"]: (method.upper(), path)
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
OPEN = {
    operation["operationId"]
    for operations in DOCUMENT["paths"].values()
    for operation in operations.values()
    if operation["security"] == []
}
RECEIPT = {"receipt": "{receipt}"}
PARTITION = {"topic": "mine", "partition": 0}
SEEK = {"topic": "mine", "to": "latest"}
MESSAGE = {"message": {"body": 1}, "everySeconds": 60}
QUERIES = {
    "askOfOwnToken": "?action=send&topic=mine",
    "askOfToken": "?action=send&topic=mine",
    "receiveMessages": "?queue=mine&group=mine",
    "restoreBatches": "?restoreId=r",
}
BODIES: dict[str, object] = {
    "sendMessages": {"queue": "mine", "body": 1},
    "acknowledge": RECEIPT,
    "giveBack": RECEIPT,
    "extend": {**RECEIPT, "visibilitySeconds": 1},
    "putSchedule": MESSAGE,
    "updateSchedule": MESSAGE,
    "moveScheduled": {"delaySeconds": 1},
    "updateTopic": {},
    "decommissionPartitions": {"partitions": [0]},
    "purgeTopic": {"dryRun": True},
    "deleteBefore": {"time": 0, "dryRun": True},
    "beginRestore": {"restoreId": "r", "partitions": 1},
    "restoreGroups": {"restoreId": "r", "groups": {}, "state": ""},
    "finishRestore": {"restoreId": "r", "partitions": [{"partition": 0, "logStart": 0, "end": 0}]},
    "compactTopic": {},
    "openProducer": {},
    "putGroup": {},
    "updateGroup": {},
    "putNamespace": {},
    "updateNamespace": {},
    "seekGroup": SEEK,
    "seekGroupByPost": SEEK,
    "copyPosition": {"from": "from"},
    "releaseBlocked": {**PARTITION, "offset": 0},
    "skipBlocked": {**PARTITION, "offset": 0},
    "startRedrive": {"topic": "mine"},
    "joinGroup": {"topics": ["mine"]},
    "heartbeat": {"memberEpoch": 1},
    "planMoves": {},
    "createToken": {"name": "made", "rights": [{"allow": ["manage"], "cluster": True}]},
    "rotateToken": {},
    "reassignPartition": {"replicas": [1]},
    "planUncleanElection": {},
    "electUnclean": {"node": 1, "incarnation": 1, "directoryId": "d", "revision": 1},
}
BY_NAMESPACE = {"describeNamespace"}
"""Whose right is one on anything in it: `test_tenants` asks them."""
ALSO: dict[str, tuple[dict[str, Any], ...]] = {
    # What this request needs beside the table's, on other things than it is tried with.
    "copyPosition": ({"allow": ["look"], "groups": ["from"]},),
}
PATH_PARAMETERS = {
    "topic": "mine",
    "group": "mine",
    "partition": "0",
    "key": "k",
    "producer": "p",
    "schedule": "s",
    "member": "m",
    "node": "1",
    "jobId": "j",
    "token": "t",
    "namespace": "mine",
}


class Kind(NamedTuple):
    """A kind of token, and whether it may make the call."""

    name: str
    rights: list[dict[str, Any]]
    is_allowed: bool


def right(effect: str, actions: list[Action], *, topic: str = "", group: str = "", cluster: bool = False) -> Any:
    found: dict[str, Any] = {effect: [each.value for each in actions]}
    if topic:
        found["topics"] = [topic]
    if group:
        found["groups"] = [group]
    if cluster:
        found["cluster"] = True
    return found


def on(need: Need, action: Action, *, effect: str = "allow") -> Any:
    """The right that the need asks for."""
    match need.on:
        case On.TOPIC | On.ANYTHING:
            return right(effect, [action], topic="mi*")
        case On.GROUP:
            return right(effect, [action], group="mine")
        case On.CLUSTER:
            return right(effect, [action], cluster=True)
        case On.EVERYTHING:
            return right(effect, [action], topic="*", group="*", cluster=True)


def elsewhere(need: Need, action: Action) -> Any:
    match need.on:
        case On.TOPIC | On.ANYTHING:
            return right("allow", [action], topic="mine-not")
        case On.GROUP:
            return right("allow", [action], group="theirs")
        case On.CLUSTER | On.EVERYTHING:
            return right("allow", [action], topic="*", group="mine")


def kinds(needed: Needed, also: tuple[dict[str, Any], ...]) -> Iterator[Kind]:
    needs = needed.needs
    full = [on(need, need.actions[0]) for need in needs] or [right("allow", [Action.LOOK], topic="theirs")]
    everything = right("allow", list(Action), topic="*", group="*", cluster=True)
    yield Kind("all that it needs", [*full, *also], True)
    yield Kind("everything", [everything], True)
    if not needs:
        return
    for alternative in itertools.product(*(need.actions for need in needs)):
        yield Kind(f"either {alternative}", [*map(on, needs, alternative), *also], True)
    for action in Action:
        alone = right("allow", [action], topic="mine", group="mine", cluster=True)
        is_enough = all(action in need.actions and need.on is not On.EVERYTHING for need in needs)
        yield Kind(f"{action.value} alone", [alone, *also], is_enough)
    for index, need in enumerate(needs):
        others = [each for number, each in enumerate(full) if number != index]
        wrong = [elsewhere(need, action) for action in need.actions]
        without = [each for each in Action if each not in need.actions]
        denied = [on(need, action, effect="deny") for action in need.actions]
        is_shown = need.on is On.ANYTHING
        if others or not is_shown:
            yield Kind(f"without {need}", [*others, right("allow", without, topic="*", group="*", cluster=True)], False)
        yield Kind(f"{need}, of others", [*others, *wrong, *also], is_shown)
        yield Kind(f"everything but {need}", [everything, *denied], is_shown)
        if is_shown:
            nowhere = right("deny", list(need.actions), topic="*", group="*", cluster=True)
            yield Kind("denied everywhere", [everything, nowhere], False)
    yield Kind(
        "nothing", [right("allow", list(Action), topic="theirs", group="theirs")], not needs or is_listing(needed)
    )


def is_listing(needed: Needed) -> bool:
    return [need.on for need in needed.needs] == [On.ANYTHING]


def token_of(name: str) -> str:
    return f"token-of-{name}-0123456789"


SETUP = "everything-there-is"
EXPIRED = "expired"


def world_of(found: list[Kind]) -> MemoryWorld:
    everything = {"roles": ["admin"]}
    entries = [
        {"name": SETUP, "token": token_of(SETUP), **everything},
        {"name": EXPIRED, "token": token_of(EXPIRED), **everything, "expiresAt": "2020-01-01T00:00:00Z"},
        *(
            {"name": each.name, "token": token_of(str(number)), "rights": each.rights}
            for number, each in enumerate(found)
        ),
    ]
    # No stream has a place: whoever may have one is told so at once, where the stream itself would have no end.
    settings = Settings(events_watchers_max=0, tails_max=0)
    return MemoryWorld(settings, parse_token_table(json.dumps({"tokens": entries}).encode()))


class Asker:
    """Makes the call of an operation, with what is there of the topics and groups that it names, whose names begin with
    `prefix`."""

    def __init__(self, client: httpx2.AsyncClient, operation: str, *, prefix: str = "") -> None:
        self._client = client
        self._operation = operation
        self._prefix = prefix
        self._names: dict[str, str] = {}

    async def prepare(self) -> None:
        headers = {"Authorization": f"Bearer {token_of(SETUP)}"}
        start = quote(self._prefix, safe="")
        for topic in ("mine", "mine-not"):
            await self._client.put(f"/topics/{start}{topic}", json={"partitions": 1}, headers=headers)
        message = {"queue": f"{self._prefix}mine", "body": 1}
        sent = await self._client.post("/messages", json=message, headers=headers)
        got = await self._client.get(f"/messages?queue={start}mine&group={start}mine", headers=headers)
        await self._client.put(f"/groups/{start}theirs", headers=headers)
        await self._client.put(f"/groups/{start}from", headers=headers)
        if self._operation.endswith(("Members", "Group", "heartbeat")) and "{member}" in ROUTES[self._operation][1]:
            await self._client.delete(f"/groups/{start}mine", headers=headers)
            await self._client.put(f"/groups/{start}mine", json={"mode": "exclusive"}, headers=headers)
        message_id = parse_message_id(sent.json()["messageId"])
        assert message_id is not None
        self._names = {
            "messageId": sent.json()["messageId"],
            "receipt": got.json()["messages"][0]["receipt"],
            "scheduleId": str(ScheduleId(message_id.topic_id, 0, 3, 0)),
        }

    async def ask(self, token: str | None, names: dict[str, str] | None = None) -> httpx2.Response:
        """`names` stand in the place of others."""
        method, path = ROUTES[self._operation]
        mine = {"topic": f"{self._prefix}mine", "group": f"{self._prefix}mine"}
        for parameter, value in {**PATH_PARAMETERS, **mine, **self._names, **(names or {})}.items():
            path = path.replace("{" + parameter + "}", quote(value, safe=""))
        path += QUERIES.get(self._operation, "")
        text = json.dumps(BODIES.get(self._operation))
        for parameter, value in self._names.items():
            text = text.replace("{" + parameter + "}", value)
        for name in (names or mine).values():
            path = path.replace("=mine", f"={quote(name, safe='')}")
            text = text.replace('"mine"', f'"{name}"')
        text = text.replace('"from": "from"', f'"from": "{self._prefix}from"')
        body = {} if self._operation not in BODIES else {"json": json.loads(text)}
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self._client.request(method, path, headers=headers, **body)


@pytest.fixture(params=list(ROUTES))
def operation(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


async def test_the_table_is_what_the_server_does(operation: str) -> None:
    needed = NEEDED[operation]
    if operation in OPEN or operation in BY_NAMESPACE:
        return
    found = list(kinds(needed, ALSO.get(operation, ())))
    async with client_of(create_server_app(world_of(found).gateway).asgi) as client:
        asker = Asker(client, operation)
        await asker.prepare()
        # Who is refused changes nothing, so they come first.
        for number, kind in sorted(enumerate(found), key=lambda each: each[1].is_allowed):
            answer = await asker.ask(token_of(str(number)))
            is_problem = answer.headers.get("content-type") == "application/problem+json"
            code = answer.json()["code"] if is_problem else None
            said = f"{kind}: {answer.status_code} {answer.text}"
            assert (code == "FORBIDDEN") == (not kind.is_allowed), said


async def test_who_has_no_token_that_is_known_is_told_nothing(operation: str) -> None:
    is_open = operation in OPEN
    async with client_of(create_server_app(world_of([]).gateway).asgi) as client:
        asker = Asker(client, operation)
        await asker.prepare()
        for token in (None, "", "of-nobody-0123456789", token_of(EXPIRED)):
            answer = await asker.ask(token)
            assert (answer.status_code == 401) == (not is_open), (token, answer.text)
            code = "TOKEN_EXPIRED" if token == token_of(EXPIRED) else "UNAUTHENTICATED"
            assert is_open or answer.json()["code"] == code


async def test_what_is_refused_says_nothing_of_whether_it_is_there(operation: str) -> None:
    """Neither does a name that is near."""
    if not any(need.on in (On.TOPIC, On.GROUP) for need in NEEDED[operation].needs):
        return
    outsider = Kind("outsider", [right("allow", list(Action), topic="theirs", group="theirs")], False)
    async with client_of(create_server_app(world_of([outsider]).gateway).asgi) as client:
        asker = Asker(client, operation)
        await asker.prepare()
        if "{messageId}" in ROUTES[operation][1] or "receipt" in json.dumps(BODIES.get(operation)):
            answer = await asker.ask(token_of("0"))  # by an id, which nobody guesses
            assert "mine" not in answer.text
            return
        there = await asker.ask(token_of("0"))
        missing = await asker.ask(token_of("0"), {"topic": "nine", "group": "nine"})
        assert there.status_code == missing.status_code == 403
        assert there.text.replace("mine", "nine") == missing.text


def test_every_route_is_known() -> None:
    assert sorted(NEEDED) == sorted(ROUTES)
