"""The tour in README.md, run as it stands."""

import shutil
from pathlib import Path

import pytest

from tests.support.readme_tour import KILLS, parsed, take_the_tour, tour, with_placeholders
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.integration, pytest.mark.skipif(not shutil.which("curl"), reason="the tour uses curl")]


def test_the_tour_works_as_printed(tmp_path: Path) -> None:
    with ServerProcess(tmp_path / "data", tmp_path / "server.log") as server:
        take_the_tour(server, tmp_path)


def test_the_tour_is_whole() -> None:
    """What the README promises to show; a tour that lost its blocks would pass the test above."""
    commands = "\n".join(step.commands for step in tour())
    calls = ["/messages -d", "x-ndjson", "text/plain", "Idempotency-Key", "waitSeconds", "/extend", "/nack", "/ack"]
    calls += ["/messages/$MESSAGE", "/records", "/offsets", "kill -9"]
    assert [call for call in calls if call not in commands] == []
    assert all(step.expected for step in tour() if not KILLS.search(step.commands))


def test_placeholders() -> None:
    assert with_placeholders('"m-akna6k7shy2ya-7-1-0" at 1795256377962') == '"m-ID-7-1-0" at 0'
    assert parsed('{"a": 1}\n{"b":\n 2}\n') == [{"a": 1}, {"b": 2}]
