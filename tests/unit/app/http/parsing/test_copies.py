"""What restores may say, at its limits."""

import base64
import json

import pytest

from acklog.wire.problems import ProblemCode
from app.calls.copies import GROUPS_MAX, RESTORE_ID_LENGTH_MAX, STATE_BYTES_MAX
from app.http.parsing.copies import (
    NOWHERE,
    RESTORE_GROUPS_BYTES_MAX,
    parse_append,
    parse_begin,
    parse_finish,
    parse_restore_groups,
)
from cluster.errors import ServerError


def groups(count: int = 0, state_bytes: int = 0) -> bytes:
    names = {f"{number:013}": "g" * 249 for number in range(count)}
    state = base64.b64encode(bytes(state_bytes)).decode()
    return json.dumps({"restoreId": "r", "groups": names, "state": state}).encode()


def refused(parse: object, content: bytes) -> tuple[ProblemCode, str | None]:
    with pytest.raises(ServerError) as raised:
        parse(content)  # type: ignore[operator]
    return raised.value.code, raised.value.field


def test_the_largest_state_is_taken_with_its_groups_and_a_larger_one_is_not() -> None:
    largest = groups(GROUPS_MAX, STATE_BYTES_MAX)
    assert len(largest) <= RESTORE_GROUPS_BYTES_MAX
    found = parse_restore_groups(largest)
    assert (len(found.groups), len(found.state)) == (GROUPS_MAX, STATE_BYTES_MAX)
    assert refused(parse_restore_groups, groups(0, STATE_BYTES_MAX + 1)) == (ProblemCode.INVALID_FIELD, "state")
    assert refused(parse_restore_groups, groups(GROUPS_MAX + 1)) == (ProblemCode.INVALID_FIELD, "groups")


def test_the_longest_name_of_a_restore() -> None:
    longest = "r" * RESTORE_ID_LENGTH_MAX
    assert parse_begin(json.dumps({"restoreId": longest, "partitions": 1024}).encode()).restore_id == longest
    assert parse_append(f"restoreId={longest}".encode()).restore_id == longest
    assert refused(parse_append, f"restoreId={longest}r".encode()) == (ProblemCode.INVALID_FIELD, "restoreId")
    assert parse_append(b"restoreId=r").fill_to == NOWHERE


def test_a_partition_that_is_decommissioned_twice() -> None:
    body = {"restoreId": "r", "partitions": [{"partition": 0, "logStart": 0, "end": 0}], "decommissioned": [1, 1]}
    assert refused(parse_finish, json.dumps(body).encode()) == (ProblemCode.INVALID_FIELD, "decommissioned")
