"""Times and states in words."""

import pytest
from msgspec import Raw
from msgspec.structs import replace

from acklog.catalog import Group, GroupSettings, Paused
from acklog.command.dead_letters import HEADER_PREFIX, Origin
from acklog.command.failures import UsageError
from acklog.command.message_state import dead_letter_topic, explain_state
from acklog.command.message_view import body_cell, body_line
from acklog.command.times import ago_text, clock_text, duration_text, future_moment, parse_moment
from acklog.command.words import counted
from acklog.messages import GroupState, StoredMessage

NOW_MS = 1_795_266_378_149


@pytest.mark.parametrize(
    ("duration_ms", "text"),
    [
        (-5, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (90_000, "1 min 30 s"),
        (3_600_000, "1 h"),
        (3_601_000, "1 h"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_durations(duration_ms: int, text: str) -> None:
    assert duration_text(duration_ms) == text


def test_ago() -> None:
    assert ago_text(NOW_MS - 90_000, NOW_MS) == "1 min 30 s ago"
    assert ago_text(NOW_MS, NOW_MS) == "now"
    assert ago_text(NOW_MS + 5_000, NOW_MS) == "in 5 s"


@pytest.mark.parametrize(
    ("text", "ago_ms"), [("15m", 900_000), ("1.5h", 5_400_000), ("2d", 172_800_000), ("10s", 10_000)]
)
def test_moments_ago(text: str, ago_ms: int) -> None:
    assert parse_moment(text, now_ms=NOW_MS, field="--from") == NOW_MS - ago_ms


def test_moments() -> None:
    assert parse_moment("1795266378149", now_ms=0, field="f") == NOW_MS
    assert parse_moment("2026-11-21T12:00:00+00:00", now_ms=0, field="f") == 1_795_262_400_000
    local = parse_moment("2026-11-21T12:00", now_ms=0, field="f")
    assert clock_text(local) == "2026-11-21 12:00:00"


@pytest.mark.parametrize("text", ["", "yesterday", "15", "15x", "-5m", "2026-13-01", "1e5s"])
def test_no_moments(text: str) -> None:
    with pytest.raises(UsageError, match="is not a time"):
        parse_moment(text, now_ms=NOW_MS, field="--from")


@pytest.mark.parametrize("text", ["tomorrow", "15m"])
def test_a_moment_to_come_is_suggested_as_one(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        future_moment(text, now_ms=NOW_MS, field="--at")
    assert "+15m" in (caught.value.hint or "")
    assert "ago" not in (caught.value.hint or "")


def test_counts() -> None:
    assert [counted(count, "letter") for count in (0, 1, 2000)] == ["0 letters", "1 letter", "2,000 letters"]


def message(**fields: object) -> StoredMessage:
    defaults = {
        "message_id": "m-1",
        "topic": "orders",
        "partition": 2,
        "offset": 7,
        "timestamp_ms": 1,
        "append_time_ms": 1,
    }
    return StoredMessage(**{**defaults, **fields})  # type: ignore[arg-type]


def test_bodies() -> None:
    assert body_line(message(json_body=Raw(b'{\n"a":1}'))) == '{ "a":1}'
    assert body_line(message(base64_body="aGk=", content_type="text/plain")) == "hi"
    assert body_line(message(base64_body="aAo=", content_type="text/plain")) == "base64:aAo="
    assert body_line(message(base64_body="/w==", content_type="a/b")) == "base64:/w=="
    assert body_cell(message(json_body=Raw(b'"' + b"a" * 300 + b'"')), characters_max=10) == '"aaaaaaaa…'


GROUP = Group("mail", "g", "shared", GroupSettings("earliest", 30_000, 3, 1_000, 600_000, 100), 1)


@pytest.mark.parametrize(
    ("state", "what", "do"),
    [
        (GroupState("mail", "waiting", 0), "nobody has received it yet, and 5 ", "acklog receive orders --group mail"),
        (GroupState("mail", "waiting", 2), "2 of 3 attempts failed", "acklog receive orders --group mail"),
        (GroupState("mail", "leased", 2, NOW_MS + 12_000, "w"), "Leased to w until ", "acklog ack --message-id m-1 "),
        (GroupState("mail", "leased", 2, NOW_MS + 12_000), "(in 12 s); attempt 2 of 3.", "acklog nack RECEIPT"),
        (GroupState("mail", "delayed", 1, NOW_MS + 9_000), "(in 9 s)", "acklog ack --message-id m-1"),
        (GroupState("mail", "deadLettering", 3), "3 of 3 attempts failed", "acklog dlq show orders.mail.dlq"),
        (GroupState("mail", "deadLettered", 0), "moved to orders.mail.dlq", "acklog dlq retry orders.mail.dlq"),
        (GroupState("mail", "done", 0), "it was acknowledged", "acklog seek mail orders --to 7 --partition 2"),
        (GroupState("mail", "parked", 0), "In the state parked", "update it"),
    ],
)
def test_every_state_is_explained(state: GroupState, what: str, do: str) -> None:
    explained = explain_state(message(), state, GROUP, ahead=5, now_ms=NOW_MS)
    assert what in explained.what
    assert do in explained.do


@pytest.mark.parametrize(
    ("expires_at_ms", "state", "what"),
    [
        (None, GroupState("mail", "deadLettered", 0), "Dead: its attempts were used up; it was moved to "),
        (NOW_MS + 1, GroupState("mail", "deadLettered", 0), "Dead: its attempts were used up; it was moved to "),
        (NOW_MS - 1, GroupState("mail", "deadLettered", 0), "used up, or its time to live was over; it was moved"),
        (NOW_MS - 1, GroupState("mail", "deadLettering", 0), "Its time to live is over; no attempt has failed."),
        (NOW_MS - 1, GroupState("mail", "deadLettering", 3), "Its attempts are used up; 3 of 3 attempts failed."),
    ],
)
def test_what_has_expired_is_not_said_to_have_used_up_its_attempts(
    expires_at_ms: int | None, state: GroupState, what: str
) -> None:
    letter = message(expires_at_ms=expires_at_ms)
    assert what in explain_state(letter, state, GROUP, ahead=0, now_ms=NOW_MS).what


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        ({"attempts": "1"}, "1 attempt of group texts failed"),
        ({"attempts": "0", "cause": "expired"}, "expired in group texts, untried"),
        ({"attempts": "2", "cause": "expired"}, "expired in group texts, after 2 attempts"),
    ],
)
def test_why_a_letter_is_dead(headers: dict[str, str], reason: str) -> None:
    named = {HEADER_PREFIX + name: value for name, value in {"topic": "codes", "group": "texts", **headers}.items()}
    assert Origin.of(message(headers=named)).reason() == reason


@pytest.mark.parametrize(
    ("paused", "is_told"),
    [(Paused(None, None, 1), True), (Paused("orders", [2], 1), True), (Paused("orders", [1], 1), False)],
)
def test_a_message_that_waits_where_the_group_is_paused(paused: Paused, is_told: bool) -> None:
    group = replace(GROUP, paused=[paused])
    explained = explain_state(message(), GroupState("mail", "waiting", 0), group, ahead=0, now_ms=NOW_MS)
    assert ("acklog groups resume mail" in explained.do) is is_told


def test_a_message_behind_a_growth_of_its_topic() -> None:
    explained = explain_state(message(), GroupState("mail", "waitingForGrowth", 0), GROUP, ahead=None, now_ms=NOW_MS)
    assert explained.what == "Waiting: it was sent after the topic's partitions changed, and the group keeps an order."
    assert explained.then == "The group gets it when it has done what was sent before, in every partition."
    assert explained.do == "See where that is: acklog groups lag mail --partitions"


@pytest.mark.parametrize(
    ("settings", "limit", "what", "option"),
    [
        ({"max_in_flight": 7}, "maxInFlight", "the group has as many messages in flight there", "--max-in-flight "),
        ({"max_in_flight_per_key": 7}, "maxInFlightPerKey", "its key 'ann' has", "--max-in-flight-per-key "),
        ({"max_in_flight_per_consumer": 7}, "maxInFlightPerConsumer", "every consumer has", "-per-consumer "),
        (
            {"fair_by_header": "tenant", "max_in_flight_per_header": 7},
            "maxInFlightPerHeader",
            "'acme' as its header tenant has",
            "--max-in-flight-per-header ",
        ),
    ],
)
def test_the_limit_that_keeps_a_message_back_is_named(
    settings: dict[str, object], limit: str, what: str, option: str
) -> None:
    group = replace(GROUP, settings=replace(GROUP.settings, **settings))
    state = GroupState("mail", "waiting", 0, limit=limit)
    explained = explain_state(message(key="ann", headers={"tenant": "acme"}), state, group, ahead=0, now_ms=NOW_MS)
    assert what in explained.what
    assert f"{limit} allows: 7." in explained.what
    assert f"acklog groups update mail {option}" in explained.do or f"{option}COUNT" in explained.do
    unknown = explain_state(message(), state, None, ahead=None, now_ms=NOW_MS)
    assert unknown.what.endswith(f"as {limit} allows.")


def test_a_limit_of_a_later_version_is_named_too() -> None:
    state = GroupState("mail", "waiting", 0, limit="maxInFlightPerRack")
    explained = explain_state(message(), state, GROUP, ahead=0, now_ms=NOW_MS)
    assert explained.what.endswith("as maxInFlightPerRack allows.")
    assert "groups update" not in explained.do


def test_a_message_behind_one_that_cannot_be_read() -> None:
    state = GroupState("mail", "waiting", 0, behind_unreadable=4)
    explained = explain_state(message(), state, GROUP, ahead=3, now_ms=NOW_MS)
    assert (
        explained.what
        == "Waiting behind offset 4 of its partition, which cannot be read: its batch is damaged on disk."
    )
    assert explained.do.endswith("acklog seek mail orders --to 5 --partition 2")


def test_a_group_that_is_gone() -> None:
    explained = explain_state(message(), GroupState("mail", "waiting", 1), None, ahead=None, now_ms=NOW_MS)
    assert explained.what == "Waiting to be received again; 1 attempt failed."


def test_where_dead_letters_go() -> None:
    assert dead_letter_topic("orders", GROUP, "mail") == "orders.mail.dlq"
    chosen = Group("mail", "g", "shared", GroupSettings("earliest", 1, 1, 1, 1, 1, "letters"), 1)
    assert dead_letter_topic("orders", chosen, "mail") == "letters"
    assert dead_letter_topic("letters", chosen, "mail") == "letters.mail.dlq"
    chosen.dead_letter_sources = ["a.*"]
    assert dead_letter_topic("orders", chosen, "mail") == "orders.mail.dlq"
    assert dead_letter_topic("a.orders", chosen, "mail") == "letters"
