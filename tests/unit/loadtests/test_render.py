"""Results as a file, a page, a table and pictures."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import msgspec
import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from loadtests import render
from loadtests.plan import Plan
from loadtests.plots import draw_latencies, draw_rates
from loadtests.render import BEGIN, END, with_results
from loadtests.report import make_table
from loadtests.result import Lateness, Limit, Result
from loadtests.results_file import Machine, Run, read_run, write_run

CURVE = ((0.0, 1.0), (50.0, 2.0), (99.0, 9.0))
MACHINE = Machine(
    system="Linux",
    python="3.11",
    processor="P",
    processors=2,
    memory_bytes=8 << 30,
    server_cpus=(0, 1),
    client_cpus=(1,),
)
RESULTS = [
    Result(name="bare", unit="requests/s", values=(900.0, 1000.0), wall_s=2.0, server_cpu_s=1.5, client_cpu_s=1.9),
    Result(
        name="sends",
        unit="requests/s",
        values=(450.0, 510.0),
        limits=(Limit(name="bare", values=(900.0, 1000.0)),),
        target_text="≥ 0.6 × bare",
        is_met=False,
        reached_text="0.51 × bare",
        server_resident_bytes=5 << 20,
        server_peak_bytes=7 << 20,
        errors=3,
    ),
    Result(
        name="open loop, 1,000 single sends/s: p99",
        unit="ms",
        values=(9.0, 11.0),
        limits=(Limit(name="bare, same rate", values=(3.0, 4.0)),),
        target_text="< 15 ms",
        is_met=True,
        p50_ms=2.0,
        p99_ms=9.5,
        curve=CURVE,
        limit_curves=(("bare, same rate", CURVE),),
        lateness=Lateness(p50_ms=0.1, p99_ms=6.0, max_ms=7.0),
    ),
]
RUN = Run(machine=MACHINE, plan=Plan(), date="2026-01-02", seconds=300.0, load_before=0.2, results=RESULTS)
PAGE = f"before\n{BEGIN}\nold\n{END}\nafter\n"


def test_a_file_gives_back_the_run_and_has_medians_and_ratios_for_other_readers(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    write_run(RUN, path)
    assert read_run(path) == RUN
    entry = msgspec.json.decode(path.read_bytes())["results"][1]
    assert entry["median"] == 480.0
    assert entry["ratios"] == {"bare": pytest.approx(0.505)}


def test_the_page_keeps_what_stands_round_the_results_and_can_be_written_again() -> None:
    page = with_results(PAGE, RUN)
    assert page.startswith(f"before\n{BEGIN}\n")
    assert page.endswith(f"{END}\nafter\n")
    assert "old" not in page
    assert with_results(page, RUN) == page


def test_the_page_tells_the_machine_the_medians_the_ranges_and_what_was_missed() -> None:
    page = with_results(PAGE, RUN)
    assert "2026-01-02, 2 × P, 8 GiB of memory, Linux, Python 3.11. Rounds: 3;" in page
    assert "the run took 300 s, and the load average before it was 0.2." in page
    assert "| **sends** | 480 requests/s | 450–510 | 0.51 × bare |" in page
    assert "| sends | ≥ 0.6 × bare | 0.51 × bare | **missed** |" in page
    assert "| open loop, 1,000 single sends/s: p99 | < 15 ms | 10.00 ms | met |" in page
    assert "bare: client-bound: at least this." in page
    assert "single sends/s: p99: load generator late." in page


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END}{BEGIN}", PAGE + PAGE])
def test_a_page_without_both_markers_once_is_not_touched(page: str) -> None:
    with pytest.raises(ValueError, match="once"):
        with_results(page, RUN)


def test_the_repositorys_own_page_has_the_markers() -> None:
    assert with_results((render.REPOSITORY / "docs" / "benchmarks.md").read_text(), RUN)


def make_docs(directory: Path) -> Path:
    directory.mkdir()
    (directory / "benchmarks.md").write_text(PAGE)
    return directory


def run_render(path: Path, docs: Path) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(render.main)
    result = CliRunner().invoke(app, [str(path), "--docs", str(docs)])
    return result.exit_code, result.output


def test_the_program_writes_the_page_and_both_pictures(tmp_path: Path) -> None:
    docs = make_docs(tmp_path / "docs")
    write_run(RUN, tmp_path / "results.json")
    code, _ = run_render(tmp_path / "results.json", docs)
    assert code == 0
    page = (docs / "benchmarks.md").read_text()
    for image in (render.RATES_IMAGE, render.LATENCIES_IMAGE):
        assert f"({image})" in page
        assert (docs / image).read_text().startswith("<?xml")


@pytest.mark.parametrize(("content", "text"), [(b"{}", "Object missing"), (b"", "truncated"), (None, "No such file")])
def test_the_program_refuses_what_is_no_result(tmp_path: Path, content: bytes | None, text: str) -> None:
    docs, path = make_docs(tmp_path / "docs"), tmp_path / "results.json"
    if content is not None:
        path.write_bytes(content)
    code, output = run_render(path, docs)
    assert code == 1
    assert text in output
    assert (docs / "benchmarks.md").read_text() == PAGE


def test_the_program_refuses_a_run_that_failed(tmp_path: Path) -> None:
    docs, path = make_docs(tmp_path / "docs"), tmp_path / "results.json"
    write_run(replace(RUN, failure="the server died"), path)
    code, output = run_render(path, docs)
    assert (code, "the server died" in output) == (1, True)


def test_the_same_results_give_the_same_pictures_with_their_text_in_them(tmp_path: Path) -> None:
    for number in range(2):
        draw_rates(RESULTS, tmp_path / f"rates-{number}.svg")
        draw_latencies(RESULTS, tmp_path / f"latencies-{number}.svg")
    rates, latencies = ((tmp_path / f"{name}-0.svg").read_text() for name in ("rates", "latencies"))
    assert rates == (tmp_path / "rates-1.svg").read_text()
    assert latencies == (tmp_path / "latencies-1.svg").read_text()
    for text in ("sends", "bare", "requests/s", " 480", " 950"):
        assert text in rates
    for text in ("open loop, 1,000 single sends/s", "99.9 %", "Acklog, durable", "bare, same rate"):
        assert text in latencies


def test_without_results_no_picture_is_drawn(tmp_path: Path) -> None:
    draw_rates(RESULTS[:1], tmp_path / "rates.svg")
    draw_latencies(RESULTS[:1], tmp_path / "latencies.svg")
    assert list(tmp_path.iterdir()) == []


def test_the_terminals_table_shows_targets_warnings_and_errors() -> None:
    console = Console(width=240, file=StringIO())
    with console.capture() as captured:
        console.print(make_table(RESULTS))
    text = captured.get()
    for expected in ("480 requests/s", "450–510", "0.51 × bare", "missed", "met", "client-bound", "5, 7", "late"):
        assert expected in text
