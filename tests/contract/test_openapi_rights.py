"""Whoever asks, and whatever they ask: an answer is one that openapi.yaml has, and shows nothing that the caller has no
right to. The requests are of schemathesis's making; what ordinary ones come to is in `test_rights_by_route`."""

import asyncio
import json
from enum import Enum
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS

from acklog.wire.problems import ProblemCode
from app.auth.tokens import parse_token_table
from app.configuration.server_settings import Settings
from app.http.description.needed_rights import NEEDED, On
from cluster.model.action import Action
from cluster.model.values import GroupMode, GroupSettings
from tests.support.described_app import OF_ANSWERS, described, without_wait
from tests.support.memory_gateway import MemoryWorld

EXAMPLES = 2
"""Of each call, as the description allows and as many as it does not. Every caller asks each of them."""
SEEN, HIDDEN = "seen", "hidden-from-some"
TOKENS = f"""
[[tokens]]
name = "full"
token = "everything, for trying"
roles = ["admin"]

[[tokens]]
name = "few"
token = "next to nothing, for trying"
rights = [{{allow = ["look"], topics = ["{SEEN}"], groups = ["{SEEN}"]}}]

[[tokens]]
name = "expired"
token = "everything until 2020, for trying"
roles = ["admin"]
expiresAt = 2020-01-01T00:00:00Z
"""
NAMED = ("topic", "group")


class Caller(Enum):
    """By what they show."""

    NOBODY = None
    EXPIRED = "Bearer everything until 2020, for trying"
    UNKNOWN = "Bearer a token that nobody has given out"
    FEW = "Bearer next to nothing, for trying"
    FULL = "Bearer everything, for trying"


UNKNOWN = (Caller.NOBODY, Caller.EXPIRED, Caller.UNKNOWN)


class _World:
    """Every name is there as a topic and as a group: one that is seen, and one that is not. Whoever may delete them has
    deleted them for nobody else."""

    def __init__(self) -> None:
        without_streams = Settings(request_timeout_ms=1000, events_watchers_max=0, tails_max=0)  # they have no end
        self._world = MemoryWorld(without_streams, parse_token_table(TOKENS.encode(), toml=True))
        asyncio.run(self._fill())
        self._topics = dict(self._world.metadata.topics_by_name)
        self._groups = dict(self._world.metadata.groups_by_name)
        self.schema = described(self._world.gateway, {})

    async def _fill(self) -> None:
        for name in (SEEN, HIDDEN):
            await self._world.topic(name)
            await self._world.groups.create(name, mode=GroupMode.SHARED, settings=GroupSettings())

    def restore(self) -> None:
        self._world.metadata.topics_by_name = dict(self._topics)
        self._world.metadata.groups_by_name = dict(self._groups)


WORLD = _World()
OPERATIONS = {
    (found := each.ok()).definition.raw["operationId"]: (found.path, found.method)
    for each in WORLD.schema.get_all_operations()
}


def _takes_something(operation_id: str) -> bool:
    path, method = OPERATIONS[operation_id]
    raw = WORLD.schema[path][method].definition.raw
    return bool(raw.get("parameters")) or "requestBody" in raw


REQUESTS = [(operation_id, GenerationMode.POSITIVE) for operation_id in OPERATIONS] + [
    (operation_id, GenerationMode.NEGATIVE) for operation_id in OPERATIONS if _takes_something(operation_id)
]
"""What takes nothing cannot be asked in a wrong way."""


@pytest.mark.parametrize(("operation_id", "mode"), REQUESTS)
def test_nobody_gets_more_than_their_rights(operation_id: str, mode: GenerationMode) -> None:
    path, method = OPERATIONS[operation_id]
    cases = WORLD.schema[path][method].as_strategy(generation_mode=mode)

    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(case=cases, name=st.sampled_from((SEEN, HIDDEN)))
    def ask(case: Any, name: str) -> None:
        for caller in Caller:
            WORLD.restore()
            judge(operation_id, caller, name, answer_to(case, caller, name))

    ask()


def answer_to(case: Any, caller: Caller, name: str) -> Any:
    """What is asked for is there, as far as the path names it."""
    without_wait(case)
    for parameter in NAMED:
        if parameter in (case.path_parameters or {}):
            case.path_parameters[parameter] = name
    for header in [each for each in case.headers if each.lower() == "authorization"]:
        del case.headers[header]
    shown = {} if caller.value is None else {"Authorization": caller.value}
    return case.call_and_validate(headers=shown, checks=[CHECKS.get_one(each) for each in OF_ANSWERS])


def judge(operation_id: str, caller: Caller, name: str, answer: Any) -> None:
    is_success = answer.status_code < 400
    if not is_success:
        problem = json.loads(answer.content)
        assert ProblemCode[problem["code"]].status == answer.status_code == problem["status"]
    if caller in UNKNOWN and not _is_open(operation_id):
        assert answer.status_code == 401
    if caller is Caller.FEW:
        assert not is_success or may_succeed(operation_id, name), "more than the rights allow"
        assert not is_success or HIDDEN.encode() not in answer.content, "it shows what is not to be seen"


def may_succeed(operation_id: str, name: str) -> bool:
    """Whether a right to look at SEEN is all that is needed."""
    for need in NEEDED[operation_id].needs:
        is_on_it = need.on is On.ANYTHING or (need.on in {On.TOPIC, On.GROUP} and name == SEEN)
        if Action.LOOK not in need.actions or not is_on_it:
            return False
    return True


def _is_open(operation_id: str) -> bool:
    return NEEDED[operation_id].also == "no token"


def test_the_judge_knows_what_a_right_to_look_is_for() -> None:
    allowed = {each for each in OPERATIONS if may_succeed(each, SEEN)}
    assert {"describeTopic", "describeGroup", "listTopics", "describeOwnToken"} <= allowed
    assert not allowed & {"sendMessages", "receiveMessages", "deleteTopic", "lookAtCluster", "metrics", "listTokens"}
    assert not may_succeed("describeTopic", HIDDEN)
