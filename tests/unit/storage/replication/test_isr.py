import pytest

from storage.replication.isr import ChangeOutcome, InSyncReplicas
from tests.unit.storage.replication.support import assignment, identity, members


def isr_of(*node_ids: int) -> InSyncReplicas:
    return InSyncReplicas(identity(1), assignment(isr=members(*node_ids)))


def nodes(isr: InSyncReplicas) -> list[int]:
    return sorted(member.node_id for member in isr.maximal)


def test_a_joining_member_counts_at_once_and_its_number_only_when_it_has_joined() -> None:
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    assert nodes(isr) == [1, 2, 3]
    assert isr.minimal_size == 2
    assert change.expected_revision == 10
    assert change.registered == (identity(1), identity(3))
    assert isr.ended(change.serial, ChangeOutcome.DONE, 11)
    assert (isr.committed, isr.revision, isr.minimal_size) == (members(1, 2, 3), 11, 3)


def test_a_leaving_member_counts_until_it_has_left() -> None:
    isr = isr_of(1, 2, 3)
    change = isr.propose(members(1, 2))
    assert nodes(isr) == [1, 2, 3]
    assert isr.minimal_size == 2
    isr.ended(change.serial, ChangeOutcome.DONE, 11)
    assert nodes(isr) == [1, 2]


def test_one_change_at_a_time() -> None:
    isr = isr_of(1, 2, 3)
    isr.propose(members(1, 2))
    with pytest.raises(ValueError, match="on its way"):
        isr.propose(members(1))


def test_a_change_that_was_not_done_is_forgotten() -> None:
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    isr.ended(change.serial, ChangeOutcome.NOT_DONE, -1)
    assert nodes(isr) == [1, 2]
    assert isr.is_settled


def test_an_unknown_outcome_keeps_both_until_the_key_has_moved() -> None:
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    isr.ended(change.serial, ChangeOutcome.UNKNOWN, -1)
    assert nodes(isr) == [1, 2, 3]
    assert not isr.is_settled
    assert isr.needs_reading
    isr.seen(assignment(isr=members(1, 2, 3), revision=11))
    assert isr.is_settled
    assert isr.minimal_size == 3


def test_an_unknown_change_that_has_not_happened_is_made_impossible() -> None:
    """Reading the old state proves nothing: the change may be on its way."""
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    isr.ended(change.serial, ChangeOutcome.UNKNOWN, -1)
    again = isr.seen(assignment(isr=members(1, 2), revision=10))
    assert again is not None
    assert (again.isr, again.expected_revision) == (members(1, 2), 10)
    assert nodes(isr) == [1, 2, 3]
    isr.ended(again.serial, ChangeOutcome.DONE, 11)
    assert nodes(isr) == [1, 2]
    assert isr.is_settled


@pytest.mark.parametrize("outcome", [ChangeOutcome.NOT_DONE, ChangeOutcome.UNKNOWN, ChangeOutcome.REFUSED])
def test_as_long_as_an_unknown_change_may_happen_both_count(outcome: ChangeOutcome) -> None:
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    isr.ended(change.serial, ChangeOutcome.UNKNOWN, -1)
    again = isr.seen(assignment(isr=members(1, 2)))
    assert again is not None
    isr.ended(again.serial, outcome, -1)
    assert nodes(isr) == [1, 2, 3]
    assert isr.needs_reading
    assert isr.seen(assignment(isr=members(1, 2))) is not None


def test_a_refused_change_is_settled_by_reading() -> None:
    isr = isr_of(1, 2)
    change = isr.propose(members(1, 2, 3), (identity(3),))
    isr.ended(change.serial, ChangeOutcome.REFUSED, -1)
    assert nodes(isr) == [1, 2, 3]
    assert isr.seen(assignment(isr=members(1, 2))) is None
    assert nodes(isr) == [1, 2]
    assert isr.is_settled


def test_what_the_controller_wrote_meanwhile_settles_a_change() -> None:
    isr = isr_of(1, 2, 3)
    change = isr.propose(members(1, 2))
    isr.seen(assignment(isr=members(1, 3), revision=12))
    assert nodes(isr) == [1, 3]
    assert not isr.ended(change.serial, ChangeOutcome.DONE, 11)
    assert nodes(isr) == [1, 3]


def test_old_news_and_old_outcomes_change_nothing() -> None:
    isr = isr_of(1, 2, 3)
    assert isr.seen(assignment(isr=members(1), revision=9)) is None
    change = isr.propose(members(1, 2))
    assert not isr.ended(change.serial + 1, ChangeOutcome.DONE, 11)
    assert isr.committed == members(1, 2, 3)
    isr.check_invariants()
