"""What a mirror sends of a page."""

import msgspec
import pytest

from acklog.client.wire_message import wire_message
from acklog.messages import OutgoingMessage
from acklog.mirror.copied_place import copied_in, link_after
from acklog.mirror.copy_plan import CopyPlan, CopyRules, plan_copies
from acklog.mirror.mirror_path import HOPS_MAX, PATH_HEADER, headers_with, path_of
from acklog.wire.limits import HEADERS_MAX, TTL_SECONDS_MIN
from tests.unit.mirror.stored import OTHER_ID, TOPIC_ID, stored

RULES = CopyRules(frozenset({OTHER_ID}))


def plan_of(*messages: object, rules: CopyRules = RULES, copies_max: int = 10, now_ms: int = 1_000) -> CopyPlan:
    return plan_copies(list(messages), 50, rules, copies_max=copies_max, now_ms=now_ms)  # type: ignore[arg-type]


def test_a_copy_has_all_that_the_message_has_and_its_way() -> None:
    plan = plan_of(stored(7, headers={"h": "x"}, tags=["t"]))
    [copy] = plan.copies
    assert copy == OutgoingMessage(
        copy.body,
        "k",
        {"h": "x", PATH_HEADER: f"m-{TOPIC_ID}-2-1-7"},
        ["t"],
        17,
        2,
    )
    assert b'"body":{"n": 1.10}' in msgspec.json.encode(wire_message(copy))
    assert (plan.next_offset, [each.offset for each in plan.sources]) == (50, [7])


def test_bytes_stay_bytes() -> None:
    [copy] = plan_of(stored(7, json_body=msgspec.UNSET, base64_body="AAE=", content_type="application/x")).copies
    assert (copy.body, copy.content_type) == (b"\x00\x01", "application/x")


def test_a_tombstone_stays_one() -> None:
    [copy] = plan_of(stored(7, json_body=msgspec.UNSET, base64_body="")).copies
    assert wire_message(copy).body_base64 == ""


@pytest.mark.parametrize(("expires_at_ms", "ttl_s"), [(None, None), (3_500, 2.5), (1_000, TTL_SECONDS_MIN), (1, 0.001)])
def test_a_copy_ends_when_the_message_does(expires_at_ms: int | None, ttl_s: float | None) -> None:
    assert plan_of(stored(7, expires_at_ms=expires_at_ms)).copies[0].ttl_seconds == ttl_s


def test_a_copy_says_that_it_is_for_now_where_the_topic_delays() -> None:
    assert plan_of(stored(7)).copies[0].delay_seconds is None
    rules = CopyRules(frozenset(), is_delaying=True)
    assert plan_of(stored(7), rules=rules).copies[0].delay_seconds == 0


def test_what_has_been_in_the_target_is_not_copied_back() -> None:
    way = f"m-{OTHER_ID}-0-1-3 m-{TOPIC_ID}-2-1-9"
    plan = plan_of(stored(7, headers={PATH_HEADER: way}), stored(8))
    assert (plan.came_back, [each.offset for each in plan.sources], plan.next_offset) == (1, [8], 50)


def test_no_more_than_wanted_and_then_it_goes_on_there() -> None:
    plan = plan_of(stored(7), stored(9), stored(12), copies_max=2)
    assert ([each.offset for each in plan.sources], plan.next_offset) == ([7, 9], 12)


def test_what_the_target_cannot_take_ends_the_plan() -> None:
    full = {f"h{number}": "x" for number in range(HEADERS_MAX)}
    plan = plan_of(stored(7), stored(8, headers=full), stored(9))
    assert plan.refused is not None
    assert (plan.refused[0], [each.offset for each in plan.sources], plan.next_offset) == (8, [7], 8)
    del full["h0"]
    assert plan_of(stored(8, headers=full)).refused is None


def test_a_compacted_target_takes_keys_only() -> None:
    rules = CopyRules(frozenset(), needs_keys=True)
    assert plan_of(stored(7, key=None), rules=rules).refused == (
        7,
        "it has no key, and the target's topic is compacted",
    )
    assert plan_of(stored(7), rules=rules).refused is None


def test_a_way_that_is_too_long_is_refused() -> None:
    way = " ".join(f"m-{TOPIC_ID}-0-1-{number}" for number in range(HOPS_MAX))
    assert plan_of(stored(7, headers={PATH_HEADER: way})).refused is not None
    assert plan_of(stored(7, headers={PATH_HEADER: way.rpartition(" ")[0]})).refused is None


@pytest.mark.parametrize("text", ["", "x", "m-", " ", f"m-{TOPIC_ID}-0-1", "\N{SNOWMAN}" * 1000])
def test_anything_may_stand_in_the_header(text: str) -> None:
    assert path_of({PATH_HEADER: text}) == ()


def test_copies_are_known_by_the_last_step_of_their_way() -> None:
    found = copied_in(
        [
            stored(0, headers=headers_with({}, f"m-{OTHER_ID}-2-4-30")),
            stored(1),
            stored(2, headers=headers_with({}, f"m-{OTHER_ID}-1-4-31")),
            stored(3, headers=headers_with({}, f"m-{TOPIC_ID}-2-4-32")),
            stored(4, headers=headers_with(headers_with({}, f"m-{TOPIC_ID}-2-1-5"), f"m-{OTHER_ID}-2-4-33")),
        ],
        OTHER_ID,
        2,
    )
    assert found == [(30, 0, 4), (33, 4, 4)]


def test_a_link_names_what_is_before_it() -> None:
    assert link_after(TOPIC_ID, None) == f"mirror-{TOPIC_ID}-begin"
    assert link_after(TOPIC_ID, 0) == f"mirror-{TOPIC_ID}-0"
