"""Results of a cluster and of failovers: what is computed of them, as files, as tables, and in the page."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import msgspec
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from loadtests import render_cluster
from loadtests.cluster_plan import ClusterPlan, FailoverPlan
from loadtests.cluster_report import make_cluster_tables
from loadtests.cluster_results import ClusterResult, ClusterRun, read_cluster_run, write_cluster_run
from loadtests.failover_report import event_line, make_failover_table
from loadtests.failover_results import (
    FAILURES_LISTED_MAX,
    Event,
    EventKind,
    FailoverRun,
    counted,
    read_failover_run,
    write_failover_run,
)
from loadtests.process_costs import Cost
from loadtests.render_cluster import CLUSTER, FAILOVER
from loadtests.result import Limit, Result
from loadtests.results_file import Machine

MACHINE = Machine(
    system="Linux", python="3.11", processor="P", processors=2, memory_bytes=8 << 30, server_cpus=(), client_cpus=()
)
RESULTS = [
    ClusterResult(
        result=Result(
            name="open loop, 500 single sends/s: p99",
            unit="ms",
            values=(12.0, 8.0, 14.0),
            limits=(Limit(name="embedded server", values=(4.0, 4.0, 4.0)),),
            target_text="< 10 ms",
            is_met=False,
            p99_ms=13.0,
        ),
        costs=(
            Cost(role="gateway", processes=1, cpu_s=1.0, wall_s=10.0, messages=5000.0),
            Cost(role="nodes", processes=3, cpu_s=4.0, wall_s=10.0, messages=5000.0),
        ),
        embedded_cpu_us=120.0,
    ),
    ClusterResult(
        result=Result(name="to one partition", unit="messages/s", values=(900.0, 1000.0, 800.0), errors=7),
        costs=(Cost(role="leader node", processes=1, cpu_s=1.0, wall_s=10.0, messages=10_000.0),),
    ),
]
RUN = ClusterRun(
    machine=MACHINE,
    plan=ClusterPlan(),
    date="2026-01-02",
    seconds=300.0,
    load_before=0.2,
    etcd_storage="tmpfs",
    results=RESULTS,
)
KILL = Event(
    kind=EventKind.KILL,
    node=2,
    was_controller=True,
    partitions_led=3,
    waits_s=(0.2, 0.4, 6.0),
    failures={"503 UNAVAILABLE": 1234},
    ready_s=1.5,
    in_sync_s=2.5,
    steady_answers=1000,
    steady_p99_ms=700.0,
)
STOP = replace(KILL, kind=EventKind.STOP, was_controller=False, waits_s=(0.1, 0.3), failures={})
FAILOVERS = FailoverRun(
    machine=MACHINE,
    plan=FailoverPlan(),
    date="2026-01-02",
    seconds=120.0,
    load_before=0.2,
    etcd_storage="tmpfs",
    created_s=4.5,
    events=[KILL, STOP],
)
PAGE = f"before\n{CLUSTER.begin}\nold\n{CLUSTER.end}\nbetween\n{FAILOVER.begin}\n{FAILOVER.end}\nafter\n"


def test_a_cost_is_per_message_and_nothing_without_messages() -> None:
    cost = RESULTS[0].costs[1]
    assert cost.cpu_us_per_message == pytest.approx(800.0)
    assert replace(cost, messages=0.0).cpu_us_per_message is None


def test_both_parts_of_the_aim_have_to_be_met() -> None:
    assert (KILL.median_s, KILL.worst_s, KILL.is_met) == (0.4, 6.0, False)
    assert STOP.is_met
    assert not replace(STOP, waits_s=(1.1, 1.2)).is_met


def test_failures_are_counted_and_the_list_of_them_is_bounded() -> None:
    assert counted(["a", "b", "a"]) == {"a": 2, "b": 1}
    assert len(counted([str(number) for number in range(100)])) == FAILURES_LISTED_MAX


def test_the_files_give_back_the_runs_and_have_what_is_computed_for_other_readers(tmp_path: Path) -> None:
    write_cluster_run(RUN, tmp_path / "cluster.json")
    write_failover_run(FAILOVERS, tmp_path / "failover.json")
    assert read_cluster_run(tmp_path / "cluster.json") == RUN
    assert read_failover_run(tmp_path / "failover.json") == FAILOVERS
    entry = msgspec.json.decode((tmp_path / "cluster.json").read_bytes())["results"][0]
    assert entry["median"] == 12.0
    assert entry["ratios"] == {"embedded server": 3.0}
    assert entry["cpu_us_per_message"] == {"gateway": pytest.approx(200.0), "nodes": pytest.approx(800.0)}
    event = msgspec.json.decode((tmp_path / "failover.json").read_bytes())["events"][0]
    assert (event["median_s"], event["worst_s"], event["is_met"]) == (0.4, 6.0, False)


def printed(*tables: object) -> str:
    console = Console(width=240, file=StringIO())
    with console.capture() as captured:
        for table in tables:
            console.print(table)
    return captured.get()


def test_the_terminal_shows_rates_targets_errors_costs_and_where_etcd_stores() -> None:
    text = printed(*make_cluster_tables(RESULTS, etcd_storage="tmpfs"))
    for expected in ("12.00 ms", "8.00–14.00", "3.00 × embedded server", "missed", "tmpfs", "800.0", "120.0", "100.0"):
        assert expected in text
    assert make_cluster_tables([], etcd_storage="tmpfs") == []


def test_the_terminal_shows_failovers() -> None:
    text = printed(make_failover_table([KILL, STOP], etcd_storage="ext4"))
    for expected in ("kill -9 of node 2, the controller", "SIGTERM of node 2", "6.00", "1,234 × 503", "ext4", "missed"):
        assert expected in text
    assert "0.40 s (median), 6.00 s (worst); in sync 2.5 s" in event_line(KILL)


def run_render(docs: Path, *arguments: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(render_cluster.main)
    result = CliRunner().invoke(app, [*arguments, "--docs", str(docs)])
    return result.exit_code, result.output


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    directory = tmp_path / "docs"
    directory.mkdir()
    (directory / "benchmarks.md").write_text(PAGE)
    write_cluster_run(RUN, tmp_path / "cluster.json")
    write_failover_run(FAILOVERS, tmp_path / "failover.json")
    return directory


def test_the_page_gets_both_and_can_be_written_again(docs: Path, tmp_path: Path) -> None:
    arguments = ["--cluster", str(tmp_path / "cluster.json"), "--failover", str(tmp_path / "failover.json")]
    assert run_render(docs, *arguments)[0] == 0
    page = (docs / "benchmarks.md").read_text()
    assert "old" not in page
    assert "3 nodes, 1 gateway, etcd's data on tmpfs." in page
    assert "| open loop, 500 single sends/s: p99 | 12.00 ms | 8.00–14.00 | 3.00 × embedded server |" in page
    assert "| open loop, 500 single sends/s: p99 | < 10 ms | 12.00 ms | **missed** |" in page
    assert "| measured | gateway | nodes | leader node | embedded server |" in page
    assert "| to one partition |  |  | 100.0 |  |" in page
    assert "1,000 partitions on 3 nodes, etcd's data on tmpfs; every partition had taken a write 4.5 s after" in page
    assert "| kill -9 of node 2, the controller | 3 | 0.40 | 6.00 | 1,234 × 503 UNAVAILABLE |" in page
    assert page.startswith("before\n")
    assert "\nbetween\n" in page
    assert page.endswith("\nafter\n")
    assert run_render(docs, *arguments)[0] == 0
    assert (docs / "benchmarks.md").read_text() == page


def test_one_of_the_two_leaves_the_others_part_alone(docs: Path, tmp_path: Path) -> None:
    assert run_render(docs, "--failover", str(tmp_path / "failover.json"))[0] == 0
    assert "\nold\n" in (docs / "benchmarks.md").read_text()


def test_nothing_to_write_is_said(docs: Path) -> None:
    code, output = run_render(docs)
    assert (code, "--cluster" in output) == (2, True)


def test_a_run_that_failed_is_refused(docs: Path, tmp_path: Path) -> None:
    write_cluster_run(replace(RUN, failure="the server died"), tmp_path / "cluster.json")
    code, output = run_render(docs, "--cluster", str(tmp_path / "cluster.json"))
    assert (code, "the server died" in output) == (1, True)
    assert (docs / "benchmarks.md").read_text() == PAGE


@pytest.mark.parametrize("page", ["", CLUSTER.begin, f"{CLUSTER.end}{CLUSTER.begin}", PAGE + PAGE])
def test_a_page_without_both_markers_once_is_not_touched(page: str) -> None:
    with pytest.raises(ValueError, match="once"):
        CLUSTER.replaced(page, "new")


def test_the_repositorys_own_page_has_the_markers() -> None:
    page = (render_cluster.REPOSITORY / "docs" / "benchmarks.md").read_text()
    assert FAILOVER.replaced(CLUSTER.replaced(page, "a"), "b")
