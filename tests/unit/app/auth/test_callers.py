"""Who makes a request: expiry, and rights on trial."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest
from structlog.testing import capture_logs

from acklog.wire.problems import ProblemCode
from app.auth.callers import Callers, Enforced, Enforcement
from app.auth.principal import ANYONE
from app.auth.refused_caller import RefusedCallerError
from app.auth.stored_tokens import StoredTokens
from app.auth.tokens import parse_token_table
from app.auth.tried_rights import TOLD_MAX, RightsOnTrial
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView
from cluster.model.action import Action
from cluster.stores.memory_store import MemoryStore
from tests.support.manual_clock import ManualClock

TOKEN = "a-token-0123456789"
HEADER = f"Bearer {TOKEN}"


def file_of(**entry: object) -> bytes:
    return json.dumps({"tokens": [{"name": "t", "token": TOKEN, "roles": ["producer"], **entry}]}).encode()


def callers_of(
    file: bytes | None, enforcement: Enforcement | None = None, *, clock: ManualClock | None = None
) -> Callers:
    table = None if file is None else parse_token_table(file)
    now = clock or ManualClock()
    stored = StoredTokens(MetadataView(MemoryStore(now), now))
    return Callers(table, stored, clock=now, enforcement=enforcement or Enforced())


def test_without_tokens_nobody_is_asked() -> None:
    assert callers_of(None).of(None) is ANYONE


async def test_a_token_of_the_file_expires_to_the_millisecond() -> None:
    clock = ManualClock()
    at = clock.now_ms() + 1000
    text = datetime.fromtimestamp(at / 1000, UTC).isoformat()
    callers = callers_of(file_of(expiresAt=text), clock=clock)
    await clock.advance_ms(999)
    assert callers.of(HEADER).name == "t"
    await clock.advance_ms(1)
    with pytest.raises(RefusedCallerError, match="expired") as refused:
        callers.of(HEADER)
    assert refused.value.code is ProblemCode.TOKEN_EXPIRED
    assert refused.value.principal.name == "t", "it is known whose it was"


def test_rights_on_trial_refuse_nobody_who_is_known() -> None:
    counted: list[str] = []
    callers = callers_of(file_of(topics=["mine"]), RightsOnTrial(counted.append))
    who = callers.of(HEADER)
    who.require_on_topic(Action.SEND, "mine")
    assert counted == []
    who.require_on_topic(Action.SEND, "theirs")
    who.require_on_group(Action.RECEIVE, "g")
    who.require_everything(Action.LOOK)
    assert not who.refuses_topic(Action.SETTLE, "theirs")
    assert not who.refuses_group(Action.SETTLE, "g")
    assert counted == ["send", "receive", "look", "look", "settle", "settle"]
    assert who.may_on_topic(Action.LOOK, "theirs"), "and shows all"
    assert len(counted) == 6, "what a listing would leave out is no refusal"
    with pytest.raises(ServerError) as refused:
        who.require_on_cluster(Action.AUDIT)
    assert (refused.value.code, len(counted)) == (ProblemCode.FORBIDDEN, 6), "it is refused, and not let through"
    assert (who.may_on_cluster(Action.AUDIT), who.may_somewhere(Action.AUDIT)) == (False, False)
    auditor = callers_of(file_of(roles=["auditor"]), RightsOnTrial(counted.append)).of(HEADER)
    auditor.require_on_cluster(Action.AUDIT)
    assert auditor.may_on_cluster(Action.AUDIT)
    for header in (None, "Bearer of-nobody-0123456789"):
        with pytest.raises(ServerError) as refused:
            callers.of(header)
        assert refused.value.code is ProblemCode.UNAUTHENTICATED


def test_the_log_is_told_of_so_many_different_refusals() -> None:
    counted: list[str] = []
    who = callers_of(file_of(topics=["mine"]), RightsOnTrial(counted.append)).of(HEADER)
    with capture_logs() as logs:
        for _ in range(2):
            for number in range(TOLD_MAX + 1):
                who.require_on_topic(Action.SEND, f"theirs-{number}")
    events = Counter(each["event"] for each in logs)
    assert events == {"right_would_be_refused": TOLD_MAX, "further_refusals_are_only_counted": 1}
    assert len(counted) == 2 * (TOLD_MAX + 1)
