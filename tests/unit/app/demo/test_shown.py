"""What is shown of a run: the timeline, bars, lines, the summary and its JSON."""

import io

import pytest

from acklog.command.plain_view import plain_text
from acklog.command.rich_view import console_for
from app.demo.display import LINE_EVERY_S, RunLineDisplay
from app.demo.findings import PromiseCheck
from app.demo.killer import VictimRestart
from app.demo.live_display import BAR_CELLS, Bar, bar_text, live_display
from app.demo.outcome import RunOutcome
from app.demo.report import document, views
from app.demo.run_journal import RunEvent, RunJournal
from app.demo.timeline import COLUMNS_MAX, MARK, Timeline
from app.demo.work import Work


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


class TestTimeline:
    def test_the_faster_the_higher(self) -> None:
        timeline = Timeline()
        for at_s, count in ((0.05, 10), (0.15, 10), (0.25, 90)):
            timeline.add(at_s, count)
        assert timeline.rates == pytest.approx([100, 0, 800])
        assert timeline.text() == "▂▁█"

    def test_what_happened_is_marked(self) -> None:
        timeline = Timeline()
        timeline.add(0.05, 10)
        timeline.mark(0.15)
        timeline.add(0.25, 20)
        assert timeline.text() == f"█{MARK}█"

    def test_a_long_run_has_no_more_columns(self) -> None:
        timeline = Timeline()
        for tenth in range(10 * COLUMNS_MAX):
            timeline.add(tenth / 10, tenth + 1)
        assert len(timeline.text()) <= COLUMNS_MAX
        assert sum(timeline.rates) * timeline.column_s == pytest.approx(10 * COLUMNS_MAX)
        timeline.add(1e6, 10 * COLUMNS_MAX)
        assert len(timeline.text()) <= COLUMNS_MAX

    def test_nothing_is_nothing(self) -> None:
        assert Timeline().text() == ""


class TestBars:
    def test_a_bar_is_as_long_as_what_is_done(self) -> None:
        assert bar_text(50, 100, []).plain == "━" * (BAR_CELLS // 2) + "─" * (BAR_CELLS // 2)

    def test_kills_are_marked_where_they_came(self) -> None:
        plain = bar_text(100, 100, [0, 50, 100]).plain
        assert [place for place, cell in enumerate(plain) if cell == MARK] == [0, BAR_CELLS // 2, BAR_CELLS - 1]
        assert len(plain) == BAR_CELLS

    def test_a_rate_is_the_latest_one_and_in_the_end_that_of_all(self) -> None:
        bar = Bar("x")
        for at_s, count in ((10.0, 0), (11.0, 100), (12.0, 300)):
            bar.observe(at_s, count, 400)
        assert bar.rate == pytest.approx(200)
        bar.observe(14.0, 400, 400)
        bar.observe(20.0, 400, 400)
        assert bar.rate == pytest.approx(100)

    def test_on_a_terminal_events_stand_above_the_bars(self) -> None:
        stream = io.StringIO()
        clock = Clock()
        with live_display(console_for(stream, is_coloured=False, width=120)) as display:
            work = Work(100, ("a",))
            journal = RunJournal(work, clock, display.tell)
            display.refresh(journal)
            work.add_sent(50)
            journal.killed("kill -9 no. 1")
            clock.now_s += 1
            work.add_sent(50)
            journal.sample()
            display.refresh(journal)
        shown = stream.getvalue()
        assert "0.00 s  kill -9 no. 1" in shown
        last = shown.rpartition("sent and durable")[2]
        assert "━" * (BAR_CELLS // 2) + MARK in last
        assert "100 %" in last
        assert "done by a" in last
        assert "read back" in last


def test_lines_say_how_far_the_work_is_every_so_often() -> None:
    lines: list[str] = []
    clock = Clock()
    display = RunLineDisplay(lines.append)
    work = Work(10, ("a",))
    journal = RunJournal(work, clock, display.tell)
    journal.note("a server is ready")
    display.refresh(journal)
    clock.now_s += LINE_EVERY_S
    work.add_sent(4)
    display.refresh(journal)
    display.refresh(journal)
    work.read_back = 3
    clock.now_s += LINE_EVERY_S
    display.refresh(journal)
    assert lines == [
        "   0.00 s  a server is ready",
        "   2.00 s  4 of 10 sent, a has done 0",
        "   4.00 s  4 of 10 sent, a has done 0, 3 read back",
    ]


def test_the_timeline_begins_with_the_work_and_ends_with_it() -> None:
    clock = Clock()
    told: list[RunEvent] = []
    work = Work(10, ())
    journal = RunJournal(work, clock, told.append)
    clock.now_s += 5
    journal.work_began()
    work.add_sent(10)
    journal.sample()
    clock.now_s += 5
    journal.sample()
    assert journal.timeline.text() == "█"
    assert told == []


def outcome(*, is_ok: bool) -> RunOutcome:
    made = RunOutcome(
        "sample.gz", 100, 2, Timeline(), sending_s=2.0, working_s=4.0, restarts=[VictimRestart(7, 1.0, 1.5)]
    )
    made.findings = [PromiseCheck("one", examined=3), PromiseCheck("two", examined=3)]
    if not is_ok:
        made.findings[1].violated("0/7 is gone")
    made.statistics.sends.add(3.0)
    return made


class TestReport:
    def test_all_promises_held(self) -> None:
        text = "".join(plain_text(view) for view in views(outcome(is_ok=True)))
        assert "promises        all 2 held" in text
        assert "100 in 2.00 s: 50/s" in text
        assert "200 in 4.00 s: 50/s" in text
        assert "ready again after 1.00 s, at work again after 1.50 s" in text

    def test_a_broken_one_is_named_with_what_was_seen(self) -> None:
        text = "".join(plain_text(view) for view in views(outcome(is_ok=False)))
        assert "1 of 2 BROKEN" in text
        assert "two: 0/7 is gone" in text

    def test_the_document_has_it_all(self) -> None:
        found = document(outcome(is_ok=False))
        assert found["isOk"] is False
        assert found["messagesPerSecond"] == {"sent": 50.0, "done": 50.0, "readBack": 0.0}
        assert found["kills"] == [
            {
                "atStep": 7,
                "readySeconds": 1.0,
                "resumedSeconds": 1.5,
                "victim": "the server",
                "waitedSeconds": None,
            }
        ]
        assert found["checks"] == [
            {"name": "one", "isOk": True, "examined": 3, "violations": 0, "examples": []},
            {"name": "two", "isOk": False, "examined": 3, "violations": 1, "examples": ["0/7 is gone"]},
        ]
        assert found["latenciesMs"] == {
            "send": {"count": 1, "p50": 3.0, "p99": 3.0, "max": 3.0},
            "receive": {"count": 0, "p50": None, "p99": None, "max": None},
            "acknowledge": {"count": 0, "p50": None, "p99": None, "max": None},
        }

    def test_without_any_finding_nothing_is_shown_to_hold(self) -> None:
        assert not RunOutcome("x", 1, 1, Timeline()).is_ok
