"""The locustfile works with today's server, and its thresholds decide the exit code."""

import subprocess
import sys

import pytest

from loadtests.run_load import REPOSITORY

pytestmark = [pytest.mark.integration, pytest.mark.slow]  # what else runs at the same time decides how they end

SECONDS_MAX = 120


def run_load(profile: str, seconds: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own, as locust changes the sockets of the one that imports it."""
    command = [sys.executable, "-m", "loadtests.run_load", "--profile", profile, "--seconds", str(seconds)]
    return subprocess.run(
        [*command, "--", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )


def test_all_users_get_along_with_the_server() -> None:
    """With thresholds for a machine that runs other tests at the same time."""
    done = run_load("mixed", 6, "--p95-scale", "5")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "profile mixed: every threshold kept" in done.stderr


def test_a_missed_threshold_is_named_and_fails_the_run() -> None:
    done = run_load("batch", 3, "--p95-scale", "0.0001")
    assert done.returncode == 1
    assert "missed: the p95 of 'send batch' is" in done.stderr


def test_an_unknown_profile_is_refused_before_anything_starts() -> None:
    done = run_load("wrb", 1)
    assert done.returncode == 2
    assert "dashboards" in done.stderr
