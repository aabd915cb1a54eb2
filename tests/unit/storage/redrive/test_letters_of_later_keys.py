"""Letters in a batch that cannot be read now."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from storage.node.redrive.led_letters import _Run


def batch_that_fails(code: ProblemCode) -> Any:
    def records() -> None:
        raise ServerError(code, "not now")

    header = SimpleNamespace(is_control=False, base_offset=3, next_offset=5, leader_epoch=1)
    return cast(Any, SimpleNamespace(header=header, records=records))


def test_what_is_damaged_is_a_run_of_nothing() -> None:
    assert _Run.of(batch_that_fails(ProblemCode.RECORDS_CORRUPT)).records is None


def test_a_key_that_comes_yet_is_waited_for() -> None:
    """The letters would count as failed for good."""
    with pytest.raises(ServerError):
        _Run.of(batch_that_fails(ProblemCode.UNAVAILABLE))
