"""When keys are looked for, and how long those are good that are known."""

import json

from app.jwt.issuer_tokens import RETRY_AFTER_MS
from app.jwt.key_ring import NAMED_KEYS_MAX, KeyRing, KeyRingSettings
from app.jwt.key_set import KeySet, parse_key_set
from tests.support.local_issuer import ec_key, jwk_of

SETTINGS = KeyRingSettings(refresh_ms=1000, pause_ms=100, good_ms=5000, told_ms=50)


def key_set(key_id: str) -> KeySet:
    return parse_key_set(json.dumps({"keys": [jwk_of(KEY, key_id)]}).encode())


KEY = ec_key()
NONE = parse_key_set(b'{"keys": []}')
FIRST, SECOND = key_set("first"), key_set("second")


def ring_with(keys: KeySet, at_ms: int = 0) -> KeyRing:
    ring = KeyRing(SETTINGS)
    ring.began(at_ms)
    assert ring.found(keys, at_ms)
    return ring


def test_before_the_first_look() -> None:
    ring = KeyRing(SETTINGS)
    assert (ring.keys_at(0), ring.age_ms(0), ring.left_ms(0), ring.next_look_ms(0)) == (None, None, 0, 0)
    assert ring.may_look(0)


def test_keys_are_good_for_so_long_and_no_longer() -> None:
    ring = ring_with(FIRST, at_ms=10)
    assert ring.keys_at(5009) is FIRST
    assert ring.left_ms(5009) == 1
    assert ring.keys_at(5010) is None
    ring.began(6000)
    assert not ring.found(FIRST, 6000), "they are the same"
    assert ring.keys_at(6000) is FIRST
    assert ring.age_ms(6500) == 500


def test_a_failed_look_leaves_what_is_known_and_comes_again_sooner() -> None:
    ring = ring_with(FIRST)
    assert ring.next_look_ms(0) == 1000
    ring.began(1000)
    assert ring.is_looking
    ring.failed()
    assert (ring.failures, ring.is_looking) == (1, False)
    assert ring.keys_at(1001) is FIRST
    assert ring.age_ms(1001) == 1001, "of what was found"
    assert ring.next_look_ms(1001) == 99
    assert ring.next_look_ms(1100) == 0
    ring.began(1100)
    ring.found(SECOND, 1100)
    assert ring.next_look_ms(1100) == 1000


def test_the_same_keys_stay_the_same_object_and_others_are_others() -> None:
    ring = ring_with(FIRST)
    again = key_set("first")
    ring.began(1)
    assert not ring.found(again, 1)
    assert ring.keys_at(1) is FIRST, "what was found good with them stays good"
    ring.began(2)
    assert ring.found(SECOND, 2)
    assert ring.keys_at(2) is SECOND


def test_nobody_makes_it_look_more_often_than_the_pause() -> None:
    ring = ring_with(FIRST)
    assert not ring.may_look(99)
    assert ring.may_look(100)
    ring.began(100)
    assert not ring.may_look(10_000), "one is under way"
    ring.failed()
    assert not ring.may_look(199)
    assert ring.may_look(200)


def test_an_empty_set_takes_all_keys_back_at_once() -> None:
    ring = ring_with(FIRST)
    ring.began(1000)
    assert ring.found(NONE, 1000)
    assert (ring.keys_at(1000), ring.left_ms(1000), ring.age_ms(1001)) == (None, 0, 1)
    assert ring.failures == 0, "the issuer was asked, and has answered"
    assert ring.next_look_ms(1000) == 100, "as long as nobody gets in it is looked for others more often"
    ring.began(1100)
    assert not ring.found(NONE, 1100)
    ring.began(1200)
    assert ring.found(FIRST, 1200)
    assert (ring.keys_at(1200), ring.next_look_ms(1200)) == (FIRST, 1000)


def test_a_key_that_is_not_known_is_waited_for_until_a_look_has_told() -> None:
    """Whoever else had it look a moment ago: strangers must not use up the look for a new key."""
    ring = ring_with(FIRST)
    assert ring.wait_ms("new", 30) == 70, "until the next look may begin"
    assert ring.wait_ms("new", 99) == 1
    assert ring.wait_ms("new", 100) == 0, "it may begin"
    ring.began(100)
    assert ring.wait_ms("new", 110) == 0, "it is under way"
    assert ring.wait_ms("late", 110) == 0
    ring.found(FIRST, 120)
    assert ring.wait_ms("new", 121) is None
    assert ring.wait_ms("late", 121) == 79, "the look had begun before"
    assert ring.wait_ms("new", 200) == 0, "it may have come since"
    ring.began(200)
    ring.found(FIRST, 200)
    assert (ring.wait_ms("late", 201), ring.wait_ms(None, 201)) == (None, 99)


def test_a_look_that_failed_has_told_nothing() -> None:
    ring = ring_with(FIRST)
    assert ring.wait_ms("new", 50) == 50
    ring.began(100)
    ring.failed()
    assert ring.wait_ms("new", 101) == 99
    ring.began(200)
    ring.found(FIRST, 200)
    assert ring.wait_ms("new", 201) is None


def test_a_key_that_was_withdrawn_is_not_waited_for() -> None:
    ring = ring_with(FIRST)
    ring.began(1000)
    ring.found(SECOND, 1000)
    assert ring.wait_ms("first", 1001) is None
    assert ring.wait_ms("first", 1100) == 0


def test_that_there_is_none_counts_until_who_was_asked_to_come_again_has_come() -> None:
    """However soon the issuer may be asked again: else nobody would ever hear of it."""
    ring = KeyRing(KeyRingSettings(pause_ms=1))
    told_ms = KeyRingSettings().told_ms
    ring.began(0)
    ring.found(FIRST, 0)
    assert ring.wait_ms("new", 100) == 0
    ring.began(100)
    ring.found(FIRST, 100)
    assert told_ms > RETRY_AFTER_MS
    assert [ring.wait_ms("new", 100 + after_ms) for after_ms in (1, told_ms - 1, told_ms)] == [None, None, 0]
    ring.began(5_000)
    ring.found(SECOND, 5_000)
    assert ring.wait_ms("first", 5_000 + RETRY_AFTER_MS) is None, "it was withdrawn"
    assert ring.may_look(5_000 + RETRY_AFTER_MS), "and is looked for all the same"


def test_so_many_keys_that_were_named_are_remembered() -> None:
    """Of one that is forgotten it is looked for once more."""
    ring = ring_with(FIRST)
    for number in range(NAMED_KEYS_MAX + 1):
        ring.wait_ms(str(number), 50)
    ring.began(100)
    ring.found(FIRST, 100)
    assert ring.wait_ms("1", 101) is None
    assert ring.wait_ms(str(NAMED_KEYS_MAX), 101) is None
    assert ring.wait_ms("0", 101) == 99


def test_while_one_is_under_way_none_is_due() -> None:
    """Else a watch that asks again at once would keep the loop from ever ending that look."""
    ring = ring_with(FIRST)
    ring.began(1000)
    assert ring.next_look_ms(1000 + 5000) == 100
    ring.found(FIRST, 6000)
    assert ring.next_look_ms(6000) == 0
