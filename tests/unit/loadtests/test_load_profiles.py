"""Profiles of users, and what counts as a run that failed."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from loadtests.load_profiles import (
    ERROR_RATIO_MAX,
    P95_MAX_MS,
    PROFILES,
    Profile,
    RequestStatistics,
    profile_named,
    violations,
)
from loadtests.run_load import LOCUSTFILE, locust_command, locust_environment

PROFILE = Profile(users={"WebBackend": 1}, requests=frozenset({"send one"}))
GOOD = RequestStatistics(name="send one", requests=1000, failures=0, p95_ms=10.0)


def locustfile() -> ast.Module:
    """Read and not imported: locust changes the sockets of the process."""
    return ast.parse(Path(LOCUSTFILE).read_text())


def test_profiles_name_classes_that_exist_and_use_each_of_them() -> None:
    classes = {node.name for node in locustfile().body if isinstance(node, ast.ClassDef)} - {"AcklogUser"}
    assert {name for profile in PROFILES.values() for name in profile.users} == classes


def test_every_request_of_the_users_is_expected_by_a_profile_and_has_a_threshold() -> None:
    asked = {
        str(node.args[0].value)
        for node in ast.walk(locustfile())
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "ask"
        if isinstance(node.args[0], ast.Constant)
    }
    assert asked == set(P95_MAX_MS)
    assert asked == {name for profile in PROFILES.values() for name in profile.requests}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_has_users_in_bounds(name: str) -> None:
    assert 1 <= profile_named(name).user_count <= 100


@pytest.mark.parametrize("name", ["", "web ", None])
def test_an_unknown_profile_is_refused_with_those_that_there_are(name: str | None) -> None:
    with pytest.raises(ValueError, match="web, batch, workers, dashboards, mixed"):
        profile_named(name)


def test_a_good_run_has_no_violations() -> None:
    assert violations(PROFILE, [GOOD], exceptions=0) == []


def test_failures_are_allowed_up_to_the_threshold() -> None:
    allowed = int(1000 * ERROR_RATIO_MAX)
    assert violations(PROFILE, [replace(GOOD, failures=allowed)], exceptions=0) == []
    (found,) = violations(PROFILE, [replace(GOOD, failures=allowed + 1)], exceptions=0)
    assert found == "11 of 1000 requests failed; at most 1% may"


def test_latencies_are_allowed_up_to_the_threshold() -> None:
    limit = P95_MAX_MS["send one"]
    assert violations(PROFILE, [replace(GOOD, p95_ms=limit)], exceptions=0) == []
    slow = [replace(GOOD, p95_ms=limit + 1)]
    assert violations(PROFILE, slow, exceptions=0) == ["the p95 of 'send one' is 501 ms; at most 500 ms may it be"]
    assert violations(PROFILE, slow, exceptions=0, p95_scale=2.0) == []


def test_nothing_asked_or_nothing_answered_is_a_violation() -> None:
    silent = "nobody got an answer to 'send one'"
    assert violations(PROFILE, [], exceptions=0) == [silent]
    assert silent in violations(PROFILE, [replace(GOOD, requests=3, failures=3, p95_ms=None)], exceptions=0)


def test_a_request_without_a_threshold_and_an_exception_are_violations() -> None:
    other = RequestStatistics(name="other", requests=1, failures=0, p95_ms=1.0)
    assert violations(PROFILE, [GOOD, other], exceptions=2) == [
        "2 exceptions in the users' own code",
        "'other' has no threshold; give it one in P95_MAX_MS",
    ]


def test_locust_gets_the_profile_and_none_of_its_own_settings() -> None:
    command = locust_command("web", "http://127.0.0.1:1", 5, ["--users", "3"])
    assert command[command.index("--profile") + 1] == "web"
    assert command[command.index("--run-time") + 1] == "5s"
    assert command[-2:] == ["--users", "3"]
    assert locust_environment({"LOCUST_USERS": "9", "PATH": "p"}) == {"PATH": "p"}
