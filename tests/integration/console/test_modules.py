"""The console's pure modules, in the browser that they are for, beside models of them."""

import base64
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Page

from acklog.filters.message_filter import parse_filter
from acklog.wire.record import Record
from tests.integration.console.conftest import OpenPage
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.xdist_group("console")]

BRIEF = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40)


@pytest.fixture
def page(shop: ServerProcess, open_page: OpenPage) -> Page:
    return open_page(shop.base_url, "#/send").page


def call(page: Page, module: str, name: str, *given: object) -> Any:
    """What a module's function answers."""
    script = """async ([module, name, given]) => {
      const start = document.querySelector("script[type=module]").src;
      return (await import(new URL(module, start)))[name](...given);
    }"""
    return page.evaluate(script, [module, name, list(given)])


def test_events_are_the_same_however_their_text_arrives(page: Page) -> None:
    script = """async (pieces) => {
      const start = document.querySelector("script[type=module]").src;
      const { EventParser } = await import(new URL("live/event_parser.js", start));
      const parser = new EventParser();
      return pieces.flatMap((each) => parser.push(each));
    }"""
    events = [("message", "a", "{}"), ("gap", "b:c", '{"x": ": y"}'), ("end", "", "two\nlines"), ("changes", "d", "é")]
    text = ":\n\n"
    last = ""
    expected = []
    for kind, id_, data in events:
        lines = [f"event: {kind}", *([f"id: {id_}"] if id_ else []), *(f"data: {each}" for each in data.split("\n"))]
        text += "\r\n".join(lines) + "\r\n\r\n: still here\n\n"
        last = id_ or last
        expected.append({"type": kind, "id": last, "data": data})
    for size in (1, 2, 3, 7, len(text)):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert page.evaluate(script, pieces) == expected


def test_a_filter_says_what_was_typed_whatever_is_in_it(page: Page) -> None:
    @BRIEF
    @given(key=TEXTS, tag=TEXTS)
    def check(key: str, tag: str) -> None:
        text = call(page, "format/filter.js", "filterOf", {"key": key, "tag": tag, "filter": 'tag = "a" or tag = "b"'})
        assert text.endswith(' and (tag = "a" or tag = "b")')
        wanted = parse_filter(call(page, "format/filter.js", "filterOf", {"key": key, "tag": tag}))
        assert wanted.matches(Record(body=b"1", key=key, tags=[tag]))
        assert not wanted.matches(Record(body=b"1", key=f"{key}x", tags=[tag]))

    check()


def test_what_is_typed_is_what_is_sent(page: Page) -> None:
    form = {
        "topic": " orders ",
        "key": "",
        "kind": "json",
        "body": "1.10",
        "headers": "",
        "tags": "",
        "delaySeconds": "",
    }
    assert call(page, "format/envelope.js", "envelopeOf", form) == '{"queue":"orders","body":1.10}'
    text = {
        **form,
        "kind": "text",
        "body": "é\u0000",
        "headers": "a: b: c\n\n d:",
        "tags": "x,, y ",
        "delaySeconds": "0.5",
    }
    sent = json.loads(call(page, "format/envelope.js", "envelopeOf", text))
    assert base64.b64decode(sent.pop("bodyBase64")).decode() == "é\u0000"
    assert sent == {
        "queue": "orders",
        "headers": {"a": "b: c", "d": ""},
        "tags": ["x", "y"],
        "delaySeconds": 0.5,
        "contentType": "text/plain; charset=utf-8",
    }
    wrong = {**form, "topic": " ", "body": "{", "headers": "nothing", "delaySeconds": "-1"}
    assert set(call(page, "format/envelope.js", "faultsOf", wrong)) == {"topic", "body", "headers", "delaySeconds"}


def test_bytes_and_durations_for_people(page: Page) -> None:
    for value, text in (
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (5 << 40, "5 TiB"),
        (-1, "–"),
    ):
        assert call(page, "format/number.js", "bytes", value) == text
    for value, text in (
        (5, "5 ms"),
        (59_999, "59 s"),
        (3_600_000, "1 h"),
        (90_061_000, "1 d 1 h"),
        (61_000, "1 min 1 s"),
    ):
        assert call(page, "format/time.js", "duration", value) == text


def test_every_text_keeps_its_seen_characters_and_shows_the_others(page: Page) -> None:
    @BRIEF
    @given(st.text(st.sampled_from("a\n\t é日😀\u202e\u200f\u2066\ufeff\u0000\u007f\u00ad\U000e0041"), max_size=30))
    def check(text: str) -> None:
        pieces = call(page, "parts/hostile_text.js", "piecesOf", text)
        back = "".join(each if isinstance(each, str) else chr(int(each["mark"][2:], 16)) for each in pieces)
        assert back == text
        seen = "".join(each for each in pieces if isinstance(each, str))
        assert set(seen) <= set("a\n\t é日😀")

    check()


def test_a_plot_is_of_a_minute_at_least(page: Page) -> None:
    for times, shown in (
        ([], [-60, 0]),
        ([1000], [940, 1000]),
        ([1000, 1030], [970, 1030]),
        ([1000, 1200], [1000, 1200]),
    ):
        assert call(page, "live/rate_history.js", "shownOf", times) == shown


def test_a_tail_shows_the_last_and_counts_all(page: Page) -> None:
    script = """async (count) => {
      const start = document.querySelector("script[type=module]").src;
      const entries = await import(new URL("live/tail_entries.js", start));
      const { Arrivals, nothingSeen, withArrived, TAIL_SHOWN_MAX } = entries;
      const arrivals = new Arrivals();
      for (let at = 0; at < count; at += 1) arrivals.add({ message: { offset: at } });
      const shown = withArrived(withArrived(nothingSeen(), arrivals.take()), arrivals.take());
      return [shown.seen, shown.entries.length, shown.entries[0].message.offset, TAIL_SHOWN_MAX];
    }"""
    assert page.evaluate(script, 3) == [3, 3, 2, 200]
    assert page.evaluate(script, 200)[:3] == [200, 200, 199]
    assert page.evaluate(script, 201)[:3] == [201, 200, 200]
