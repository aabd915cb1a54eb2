"""Topics that are encrypted, as the SDK asks about them and as a doctor judges them."""

from types import SimpleNamespace
from typing import Any

import pytest

from acklog import AsyncClient
from acklog.catalog import Topic, TopicConfig
from acklog.client import encryption_calls
from acklog.command.checkup import Check, CheckOutcome
from acklog.command.encryption_checks import encryption_checks
from acklog.command.server_metrics import ServerMetrics
from acklog.encryption import EncryptionState, NodeKeys, TopicDataKey
from acklog.errors import Forbidden, NotEncrypted, TopicNotFound
from tests.unit.sdk.fake_log import answer, problem
from tests.unit.sdk.test_catalog import Answers, run

STATE = {
    "topic": "t",
    "encryption": "on",
    "dataKeysWanted": 1,
    "dataKeys": [{"number": 1, "masterKey": "m", "createdAt": 5}],
    "nodes": [{"node": 1, "masterKeys": ["m"]}],
}


def test_asking_and_rotating() -> None:
    rotated = {**STATE, "dataKeysWanted": 2}
    transport = Answers(answer(200, STATE), answer(202, rotated), problem(409, "NOT_ENCRYPTED", False))

    async def program(client: AsyncClient) -> None:
        found = await client.encryption.status("t")
        assert (found.data_keys[0].master_key, found.data_keys[0].created_at_ms) == ("m", 5)
        assert (found.is_rotated, found.earlier_keys, found.lacking_nodes) == (True, [], [])
        assert not (await client.encryption.rotate("t")).is_rotated
        with pytest.raises(NotEncrypted):
            await client.encryption.rotate("t")

    assert run(transport, program) == [
        ("GET", "/topics/t/encryption"),
        ("POST", "/topics/t/encryption/rotate"),
        ("POST", "/topics/t/encryption/rotate"),
    ]
    assert not encryption_calls.rotate("t").is_repeatable, "who asks again asks for one more"


def state(*wrapped_by: str, nodes: dict[int, list[str]], wanted: int = 1) -> EncryptionState:
    keys = [TopicDataKey(number, name, 0) for number, name in enumerate(wrapped_by, 1)]
    return EncryptionState("t", "on", wanted, keys, [NodeKeys(node, ids) for node, ids in nodes.items()])


def test_who_is_not_shown_the_nodes_is_told_nothing_of_master_keys() -> None:
    found = state("", nodes={})
    assert (found.earlier_keys, found.lacking_nodes) == ([], [])


def diagnosed(found: Any, *, encryption: str = "on") -> list[Check]:
    def status(topic: str) -> EncryptionState:
        if topic == "__audit":
            raise TopicNotFound("TOPIC_NOT_FOUND", status=404)
        if isinstance(found, Exception):
            raise found
        assert isinstance(found, EncryptionState)
        return found

    config = TopicConfig("time", -1, -1, 1, 1, 1, 1, encryption=encryption)
    client: Any = SimpleNamespace(encryption=SimpleNamespace(status=status))
    return list(encryption_checks(client, [Topic("t", "id", 1, 1, config, 1)], None))


@pytest.mark.parametrize(
    ("found", "outcome", "finding"),
    [
        (state("m", nodes={1: ["m"]}), CheckOutcome.OK, "1 encrypted topic, every node has their master key"),
        (state("m", nodes={1: ["m"], 2: []}), CheckOutcome.FAIL, "without the master key of some topic: node 2"),
        (state("m", nodes={1: ["m"]}, wanted=2), CheckOutcome.WARN, "a data key is not made yet: t"),
        (state("m", nodes={1: ["n", "m"]}), CheckOutcome.WARN, "wrapped by the master key before: t"),
        (state("m", nodes={1: ["n", "m"], 2: ["m"]}), CheckOutcome.WARN, "wrapped by the master key before: t"),
    ],
)
def test_what_a_doctor_says(found: EncryptionState, outcome: CheckOutcome, finding: str) -> None:
    [check] = diagnosed(found)
    assert (check.outcome, check.finding) == (outcome, finding)


def test_a_doctor_looks_at_what_is_encrypted_and_what_it_may_see() -> None:
    assert diagnosed(AssertionError("nobody asks"), encryption="off") == []
    [check] = diagnosed(Forbidden("FORBIDDEN", status=403))
    assert check.outcome is CheckOutcome.SKIPPED
    assert diagnosed(TopicNotFound("TOPIC_NOT_FOUND", status=404)) == []


@pytest.mark.parametrize(
    ("line", "outcome"),
    [("acklog_data_keys_missing 3", CheckOutcome.WARN), ("acklog_undecryptable_batches 2", CheckOutcome.FAIL)],
)
def test_what_the_server_itself_says(line: str, outcome: CheckOutcome) -> None:
    def status(_topic: str) -> EncryptionState:
        raise TopicNotFound("TOPIC_NOT_FOUND", status=404)

    client: Any = SimpleNamespace(encryption=SimpleNamespace(status=status))
    [check] = encryption_checks(client, [], ServerMetrics(line + "\n"))
    assert check.outcome is outcome
