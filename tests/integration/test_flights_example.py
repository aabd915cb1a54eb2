"""The example as it is run, on a few messages of the sample: a real server, killed on the way."""

from pathlib import Path

import pytest
from rich.console import Console

from examples.flights.input_file import SAMPLE_FILE
from examples.flights.options import Options
from examples.flights.progress import make_progress
from examples.flights.report import print_report, to_json
from examples.flights.run import DeadlineError, run

pytestmark = pytest.mark.integration


async def test_flights_survive_a_kill_and_everything_is_verified(tmp_path: Path) -> None:
    console = Console(quiet=True)
    options = Options(messages=600, kills=1, send_batch_size=40, receive_batch_size=50, sharing_consumers=2)
    with make_progress(console) as progress:
        outcome = await run(options, SAMPLE_FILE, tmp_path, progress)
    failed = [(finding.name, finding.examples) for finding in outcome.findings if not finding.is_ok]
    assert failed == []
    assert outcome.is_ok
    assert len(outcome.restarts) == 1
    assert outcome.deliveries >= 2 * 600
    print_report(console, outcome)
    assert to_json(outcome)["isOk"] is True


async def test_a_run_that_takes_too_long_ends_with_a_clear_error(tmp_path: Path) -> None:
    with (
        make_progress(Console(quiet=True)) as progress,
        pytest.raises(DeadlineError, match="not finished within 0 s: 0 of 10 sent"),
    ):
        await run(Options(messages=10, deadline_s=0.01), SAMPLE_FILE, tmp_path, progress)
