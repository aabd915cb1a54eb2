"""Planted bugs of what readers are given: `tests.sim.cluster.mutants` has them all."""

import pytest

from storage.node.replicas.follower_reads import FollowerReads


def nearest_reads_go_to_the_log_end(patch: pytest.MonkeyPatch) -> None:
    """R5: a replica gives readers all that it holds, committed or not."""
    patch.setattr(FollowerReads, "high_watermark", property(lambda self: self.log.log_end))
