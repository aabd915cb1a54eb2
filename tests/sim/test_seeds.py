"""Fixed seeds of an embedded server's simulation, and proof that it notices a server that breaks its word."""

from dataclasses import replace
from typing import Any

import pytest

from acklog.wire.problems import ProblemCode
from storage.delivery import settlement
from storage.delivery.receipts import ReceiptClaim
from storage.delivery.states import MessageEvent
from storage.rpc import messages
from storage.rpc.in_process import InProcessNode
from tests.sim import sim_disk_content
from tests.sim.drawn_options import EMBEDDED_FAULTS, SERVED_ORDERS, draw_embedded_options
from tests.sim.options import Fault
from tests.sim.sim_disk_content import FileContent
from tests.sim.world import Result, run_embedded_seed, run_options

ANSWERS_COME_LATE = 106
"""So late that a message dies before its last delivery is known."""

SEEDS = (
    *range(1, 8),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 21)),
    ANSWERS_COME_LATE,
)
MUTANT_SEEDS = range(1, 15)
JOURNAL_BYTES_MIN = 16_000  # journal files are preallocated, so their size never changes


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_finds_nothing(seed: int) -> None:
    result = run_embedded_seed(seed)
    assert result.violations == [], f"python -m tests.sim --seed {seed} --logs\n{result.options.describe()}"
    assert result.coverage["send OK"] > 0
    assert result.coverage["ack OK"] > 0


@pytest.mark.parametrize("seed", [4, 9])
def test_a_seed_goes_the_same_way_twice(seed: int) -> None:
    first, second = run_embedded_seed(seed), run_embedded_seed(seed)
    assert first.trace_hash
    assert (first.trace_hash, first.history.events) == (second.trace_hash, second.history.events)


def test_options_differ_from_seed_to_seed_and_are_printed() -> None:
    options = [draw_embedded_options(seed) for seed in range(50)]
    assert len({each.describe().replace(str(each.seed), "") for each in options}) == 50
    assert {fault for each in options for fault in each.faults} == set(EMBEDDED_FAULTS)
    assert {each.seeks > 0 for each in options} == {False, True}
    assert {each.deletions > 0 for each in options} == {False, True}
    assert {each.readers > 0 for each in options} == {False, True}
    assert {group.mode for each in options for group in each.ordered_groups} == {*SERVED_ORDERS}
    assert {len(each.ordered_groups) for each in options} == {0, 1, 2}
    assert "max_attempts" in options[0].describe()


def _first_caught(checker: str, *faults: Fault, **changes: Any) -> Result:
    """The first small world in which `checker` complains; `changes` are options of the server that differ."""
    for seed in MUTANT_SEEDS:
        small: dict[str, Any] = {
            "producers": 1,
            "messages_max": 30,
            "producer_pause_ms": 50,
            "consumers": 1,
            "group_visibility_ms": 500,
            "max_attempts": 2,
            "auto_ack_probability": 0.0,
            "sync_interval_ms": 2_000,
        }
        drawn = draw_embedded_options(seed)
        server = replace(drawn.server, **{**small, **changes})
        result = run_options(
            replace(
                drawn,
                server=server,
                faults=faults,
                duration_ms=3_000,
                fault_interval_ms=500,
                seeks=0,
                deletions=0,
                readers=0,
            )
        )
        if any(violation.startswith(checker) for violation in result.violations):
            return result
    pytest.fail(f"{checker} never complained")


@pytest.mark.slow
def test_a_disk_that_lies_about_the_journals_syncs_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server loses that answers before the journal is durable; a power loss takes all that was not synced."""
    original = FileContent.sync

    def lie(self: FileContent) -> None:
        is_journal_entry = b"AKB1" in self.current and len(self.durable) == len(self.current) > JOURNAL_BYTES_MIN
        if not is_journal_entry:
            original(self)

    monkeypatch.setattr(FileContent, "sync", lie)
    monkeypatch.setattr(sim_disk_content, "_settle", lambda content, changes, rng: None)
    assert _first_caught("AcknowledgedIsInTheLog", Fault.POWER_LOSS).violations


def test_acks_that_are_confirmed_and_forgotten_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def forget(self: Any, request: messages.SettleRequest) -> messages.SettleResponse:
        return messages.SettleResponse([""] * len(request.items))

    monkeypatch.setattr(InProcessNode, "settle", forget)
    assert _first_caught("AcknowledgedIsNeverDeliveredAgain").violations


def test_old_receipts_that_still_acknowledge_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = settlement.judge

    def judge(item: ReceiptClaim, event: MessageEvent, *arguments: Any, **options: Any) -> ProblemCode | None:
        problem = original(item, event, *arguments, **options)
        return None if event is MessageEvent.ACK and problem is ProblemCode.RECEIPT_STALE else problem

    monkeypatch.setattr(settlement, "judge", judge)
    late = {"consumers": 3, "slow_probability": 0.5, "max_attempts": 16}
    assert _first_caught("StaleReceiptsAreRefused", **late).violations


def test_sends_that_are_stored_twice_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    original = InProcessNode.produce

    async def twice(self: Any, request: messages.ProduceRequest) -> messages.ProduceResponse:
        await original(self, request)
        return await original(self, request)

    monkeypatch.setattr(InProcessNode, "produce", twice)
    assert _first_caught("NothingTwice").violations
