"""What idle groups cost etcd, as it says itself."""

import pytest

from loadtests.idle_groups import Cost, counts_in

METRICS = """# HELP etcd_debugging_mvcc_put_total Total number of puts seen by this member.
etcd_debugging_mvcc_put_total 12
etcd_debugging_mvcc_delete_total 1
etcd_debugging_mvcc_range_total 7.5e+03
etcd_server_proposals_committed_total 40
etcd_server_proposals_pending 3
"""
NOTHING = {"puts": 0.1, "deletes": 0.0, "proposals": 0.5, "reads": 10.0}


def test_counts_are_read_from_its_metrics() -> None:
    assert counts_in(METRICS) == {"puts": 12, "deletes": 1, "proposals": 40, "reads": 7_500}
    with pytest.raises(LookupError, match="puts"):
        counts_in(METRICS.replace("mvcc_put_total", "mvcc_puts_total"))


@pytest.mark.parametrize("name", ["puts", "deletes", "proposals"])
def test_more_writes_than_without_them_are_a_problem(name: str) -> None:
    at_the_limit = {**NOTHING, name: NOTHING[name] + 0.5}
    assert Cost(NOTHING, at_the_limit).problems(0.5) == []
    beyond = {**NOTHING, name: NOTHING[name] + 0.51}
    assert len(Cost(NOTHING, beyond).problems(0.5)) == 1


def test_reads_are_none() -> None:
    assert Cost(NOTHING, {**NOTHING, "reads": 1_000.0}).problems(0.5) == []
