"""What people see: on a terminal, without one, and never a control character that was somebody's data."""

import io
import re

import pytest

from acklog.command.output import Output, OutputStyle
from acklog.command.plain_view import plain_text
from acklog.command.printable import one_line, printable
from acklog.command.views import Cell, Column, Fields, Sentence, Table

TABLE = Table([Column("name"), Column("count", align="right")], [["a", "1"], [Cell("long name", "bad"), "1,000"]])


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def terminal_output(**style: bool) -> tuple[Output, Terminal, Terminal]:
    stdout, stderr = Terminal(), Terminal()
    return Output(stdout, stderr, OutputStyle(width=60, **style), {"TERM": "xterm"}), stdout, stderr


def test_plain_columns_are_aligned() -> None:
    assert plain_text(TABLE) == "NAME       COUNT\na              1\nlong name  1,000\n"
    assert plain_text(Fields([("a", "1"), ("long", Cell("2"))], title="t")) == "t\na     1\nlong  2\n"


def test_rich_tables() -> None:
    output, stdout, _ = terminal_output(is_coloured=False)
    output.show({}, TABLE, Fields([("a", "1")], title="title"), Sentence("said"))
    shown = stdout.getvalue()
    assert "long name   1,000" in shown
    assert "╭─ title ─" in shown
    assert "\x1b" not in shown


def test_colours_and_no_colours() -> None:
    output, stdout, _ = terminal_output()
    output.show({}, TABLE)
    assert "\x1b[" in stdout.getvalue()
    stdout = Terminal()
    Output(stdout, Terminal(), OutputStyle(), {"TERM": "dumb"}).show({}, TABLE)
    assert stdout.getvalue().startswith("NAME ")


def test_an_empty_table_is_a_remark() -> None:
    output, stdout, stderr = terminal_output()
    output.show({}, Table([Column("name")], [], empty="Nothing here."))
    assert (stdout.getvalue(), stderr.getvalue()) == ("", "Nothing here.\n")


def test_data_cannot_control_the_terminal() -> None:
    evil = "\x1b]0;title\x07\x9b2J\r\n\u2028"
    output, stdout, stderr = terminal_output(is_coloured=False)
    output.show({}, Sentence(evil), Fields([("a", evil)], title=evil), Table([Column("c")], [[evil]]))
    output.note(evil)
    for shown in (stdout.getvalue(), stderr.getvalue()):
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028]", shown) is None
    assert "\x1b" not in plain_text(Sentence(evil)) + one_line(evil) + printable(evil)
    assert printable("a\n\tb") == "a\n\tb"
    for turn in "\u202a\u202e\u2066\u2069":
        assert printable(f"a{turn}b") == one_line(f"a{turn}b") == f"a\\u{ord(turn):04x}b", "text is where it stands"
    assert one_line("\u05d0\u200f.") == "\u05d0\u200f.", "marks turn nothing that is behind them"
    assert one_line("a\n\tb") == "a\\n\\tb"


def test_markup_is_text() -> None:
    output, stdout, _ = terminal_output()
    output.show({}, Table([Column("c")], [["[red]x[/] :smile:"]]))
    assert "[red]x[/] :smile:" in stdout.getvalue()


@pytest.mark.parametrize("is_quiet", [True, False])
def test_quiet(is_quiet: bool) -> None:
    output, stdout, stderr = terminal_output(is_quiet=is_quiet)
    output.note("said")
    with output.progress("Working", total=2) as progress:
        progress.describe("Still working")
        progress.advance()
    output.complain("failed")
    assert ("said" in stderr.getvalue()) is not is_quiet
    assert ("working" in stderr.getvalue()) is not is_quiet
    assert "failed" in stderr.getvalue()
    assert stdout.getvalue() == ""


def test_a_live_view() -> None:
    output, stdout, _ = terminal_output(is_coloured=False)
    with output.live() as live:
        live.update({"n": 1}, Sentence("one"))
        live.update({"n": 2}, Sentence("two"))
    assert "two" in stdout.getvalue()
    piped = io.StringIO()
    with Output(piped, io.StringIO(), OutputStyle(is_json=True), {}).live() as live:
        live.update({"n": 1}, Sentence("one"))
        live.update({"n": 2}, Sentence("two"))
    assert piped.getvalue() == '{"n":1}\n{"n":2}\n'
    piped = io.StringIO()
    with Output(piped, io.StringIO(), OutputStyle(), {}).live() as live:
        live.update({"n": 1}, Sentence("one"))
        live.update({"n": 2}, Sentence("two"))
    assert piped.getvalue() == "one\n\ntwo\n"


def test_a_line_of_json_is_one_line() -> None:
    import msgspec

    piped = io.StringIO()
    Output(piped, io.StringIO(), OutputStyle(is_json=True), {}).show_item({"body": msgspec.Raw(b'{\n"a":\r\n1}')})
    assert piped.getvalue() == '{"body":{ "a":  1}}\n'
