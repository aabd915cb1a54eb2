"""What is known of positions that retention has overtaken."""

import pytest

from storage.delivery.delivery_settings import DeliverySettings
from storage.delivery.group_progress import GroupProgress
from storage.delivery.group_snapshot import CommittedPosition
from tests.unit.storage.delivery.group import GroupBench


def test_what_it_overtook_is_known_until_somebody_says_where_the_group_is() -> None:
    """Over restarts, and also where the group goes on by itself meanwhile."""
    bench = GroupBench()
    bench.write(bench.group.advance_log_start(3, deleted_below=0))
    bench.ack(*bench.receive())
    bench.write(bench.group.advance_log_start(6, deleted_below=0))
    assert bench.group.totals.overtaken == 5
    after_a_restart = GroupProgress(0, DeliverySettings())
    after_a_restart.restore(bench.group.snapshot())
    assert after_a_restart.totals == bench.group.totals
    bench.write(bench.group.seek(7))
    assert (bench.group.totals.overtaken, bench.group.totals.lost) == (0, 5)
    bench.write(bench.group.advance_log_start(8, deleted_below=0))
    for record in bench.group.commit(CommittedPosition(8), expected=None).records:
        bench.write(record)
    assert (bench.group.totals.overtaken, bench.group.totals.lost) == (0, 6)


@pytest.mark.parametrize(("deleted_below", "overtaken"), [(9, 10), (10, 0), (11, 0)])
def test_what_was_deleted_on_purpose_overtook_nobody(deleted_below: int, overtaken: int) -> None:
    bench = GroupBench()
    bench.write(bench.group.advance_log_start(10, deleted_below=deleted_below))
    assert (bench.group.totals.overtaken, bench.group.totals.lost) == (overtaken, 10)
    assert bench.group.totals.deleted == 10 - overtaken
    after_a_restart = GroupProgress(0, DeliverySettings())
    after_a_restart.restore(bench.group.snapshot())
    assert after_a_restart.totals == bench.group.totals
