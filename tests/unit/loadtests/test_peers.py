"""Brokers beside each other: what is counted, chosen, shown and written. None is started."""

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import typer
from typer.testing import CliRunner

from loadtests.peers import render
from loadtests.peers.__main__ import chosen
from loadtests.peers.brokers import all_peers
from loadtests.peers.comparison import PeerFigure
from loadtests.peers.peer_run import PeerRun, read_peer_run, write_peer_run
from loadtests.peers.process_tree import ProcessTimes
from loadtests.peers.render import BEGIN, END, with_peers
from loadtests.peers.scenarios import SCENARIOS, STEP_LIMIT_S
from loadtests.peers.sync_count import syncs_of
from loadtests.peers.table import SYNCS_MIN, losses_of, rows_of
from loadtests.peers.turns import scenarios_of
from loadtests.results_file import Machine

SEND, PACED = SCENARIOS[0], SCENARIOS[-2]
MACHINE = Machine(
    system="Linux", python="3.11", processor="P", processors=2, memory_bytes=8 << 30, server_cpus=(), client_cpus=(1,)
)
REPORT = """\
% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 90.00    0.900000         300      3000           fdatasync
  9.00    0.090000          90       100         2 fsync
  1.00    0.010000          10        50           sync_file_range
------ ----------- ----------- --------- --------- ----------------
100.00    1.000000         317      3150         2 total
"""


def a_run() -> PeerRun:
    run = PeerRun(
        machine=MACHINE,
        date="2026-01-01",
        rounds=3,
        names={"acklog": "Acklog", "redis": "Redis"},
        load_before=0.5,
        syncs={"acklog": 1.0, "redis": 1.0},
    )
    for ours, theirs in ((1000, 3000), (5000, 2000), (2000, 4000)):
        run.add(SEND.title, "acklog", PeerFigure(ours, 30.0))
        run.add(SEND.title, "redis", PeerFigure(theirs, 12.0))
    run.add(PACED.title, "acklog", PeerFigure(2.0, 40.0))
    run.add(PACED.title, "redis", PeerFigure(4.0, 20.0))
    return run


def test_syncs_are_counted_with_and_without_errors_beside_them() -> None:
    assert syncs_of(REPORT) == 3100


def test_a_report_of_nothing_has_no_syncs() -> None:
    assert syncs_of("") == 0


def test_cells_are_medians_with_processor_time() -> None:
    first = rows_of(a_run())[0]
    assert first == ["send, 64 connections, messages/s", "2,000 (30)", "3,000 (12)"]


def test_what_was_not_measured_is_a_dash() -> None:
    assert rows_of(a_run())[1][1:] == ["–", "–"]


@pytest.mark.parametrize(("syncs", "is_marked"), [(SYNCS_MIN, False), (SYNCS_MIN - 0.01, True)])
def test_who_does_not_sync_each_answer_is_marked(syncs: float, is_marked: bool) -> None:
    cell = rows_of(replace(a_run(), syncs={"acklog": 1.0, "redis": syncs}))[-1][2]
    assert ("not synced" in cell) == is_marked


def test_losses_name_the_best_and_not_where_we_win() -> None:
    assert losses_of(a_run()) == ["send, 64 connections (Redis is 1.5 times as good)"]


def test_nobody_loses_to_who_does_not_sync() -> None:
    assert losses_of(replace(a_run(), syncs={"acklog": 1.0, "redis": 0.2})) == []


def test_a_lower_latency_is_the_better_one() -> None:
    run = a_run()
    run.figures[PACED.title]["redis"] = [PeerFigure(1.0, 20.0)]
    assert f"{PACED.title} (Redis is 2.0 times as good)" in losses_of(run)


def test_options_bound_each_step() -> None:
    options = PACED.options(5)
    assert options[options.index("-limit") + 1] == f"{5 + STEP_LIMIT_S:g}s"
    assert options[options.index("-rate") + 1] == "1000"


def test_who_settles_nothing_only_sends() -> None:
    kafka = all_peers(Path("jars"))[-1]
    assert {scenario.what for scenario in scenarios_of(kafka)} == {"send", "paced"}
    assert scenarios_of(all_peers(None)[0]) == list(SCENARIOS)


def test_brokers_are_chosen_by_kind() -> None:
    assert [peer.kind for peer in chosen(all_peers(None), "redis,acklog")] == ["acklog", "redis"]
    with pytest.raises(typer.BadParameter, match="no broker kafka"):
        chosen(all_peers(None), "redis,kafka")


def test_processor_time_is_of_the_samples_around() -> None:
    times = ProcessTimes(1)
    times._samples = [(10, 1.0), (20, 1.5), (30, 3.0)]
    assert times.between(10, 30) == 2.0
    assert times.between(20, 99) == 1.5


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_peer_run(a_run(), tmp_path / "run.json")
    assert read_peer_run(tmp_path / "run.json") == a_run()


def test_the_page_has_the_run_between_its_markers() -> None:
    run = replace(a_run(), failures=["NATS, start or end: no program"])
    page = with_peers(f"before\n{BEGIN}\nold\n{END}\nafter\n", run)
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert "old" not in page
    for part in ("2,000 (30)", "Redis is 1.5 times as good", "NATS, start or end: no program."):
        assert part in page


def test_a_page_without_markers_or_a_run_without_figures_is_refused() -> None:
    with pytest.raises(ValueError, match="must have"):
        with_peers("nothing", a_run())
    with pytest.raises(ValueError, match="no figures"):
        with_peers(f"{BEGIN}{END}", replace(a_run(), figures={}))


def test_a_file_that_is_no_run_changes_nothing(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(render.main)
    (tmp_path / "benchmarks.md").write_text(f"{BEGIN}\n{END}")
    (tmp_path / "run.json").write_bytes(msgspec.json.encode({"rounds": 3}))
    result = CliRunner().invoke(app, [str(tmp_path / "run.json"), "--docs", str(tmp_path)])
    assert result.exit_code == 1
    assert (tmp_path / "benchmarks.md").read_text() == f"{BEGIN}\n{END}"
