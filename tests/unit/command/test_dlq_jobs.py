"""`acklog dlq jobs` where nobody has sent letters back yet."""

from typing import Any

from acklog.command.exit_codes import ExitCode
from acklog.errors import GroupNotFound
from acklog.redrives import RedriveJob
from tests.support.command_run import CommandRun, run_command


class _NoGroup:
    """A server that does not know any group."""

    def __init__(self) -> None:
        self.redrives = self

    def __call__(self, *_: object) -> "_NoGroup":
        return self

    def __enter__(self) -> "_NoGroup":
        return self

    def __exit__(self, *_: object) -> None:
        return

    def list(self, group: str) -> list[RedriveJob]:
        raise GroupNotFound(f"there is no group {group!r}")


def jobs(*options: str) -> CommandRun:
    surroundings: dict[str, Any] = {"connect": _NoGroup(), "now_ms": lambda: 10}
    return run_command("dlq", "jobs", *options, surroundings=surroundings)


def test_a_group_that_the_first_redrive_makes_has_no_jobs_before() -> None:
    ran = jobs()
    assert (ran.exit_code, ran.stderr) == (0, "acklog-dlq has no jobs.\n")
    assert jobs("--json").document == {"jobs": []}


def test_a_group_that_somebody_names_has_to_be_there() -> None:
    ran = jobs("--group", "nobody")
    assert ran.exit_code == ExitCode.NOT_FOUND
    assert "nobody" in ran.stderr
