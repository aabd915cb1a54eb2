"""What scripts go by: the exit code of each problem that a server can answer with."""

import pytest

from acklog.acklog_error import AcklogError
from acklog.command.exit_codes import ExitCode
from acklog.command.failures import explain
from acklog.wire.problems import ProblemCode

NEVER_THE_COMMANDS = {ProblemCode.NOT_FOUND, ProblemCode.ORIGIN_NOT_ALLOWED}
"""It asks for paths that there are, and is no page."""


def codes_of(*statuses: int) -> list[str]:
    return [each.name for each in ProblemCode if each.status in statuses and each not in NEVER_THE_COMMANDS]


def exit_code(code: str) -> ExitCode:
    shown = explain(AcklogError("It is so.", code=code))
    assert shown is not None
    return shown.exit_code


@pytest.mark.parametrize("code", codes_of(404))
def test_what_is_not_there(code: str) -> None:
    assert exit_code(code) is ExitCode.NOT_FOUND


@pytest.mark.parametrize("code", codes_of(401, 403))
def test_who_may_not(code: str) -> None:
    assert exit_code(code) is ExitCode.NOT_ALLOWED
