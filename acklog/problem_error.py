"""Failures that a server answered with: a class for each problem code makes itself known here (`acklog.errors`)."""

from typing import Any

from acklog.acklog_error import AcklogError
from acklog.wire.problems import ProblemCode


class ProblemError(AcklogError):
    """A problem that a server answered with."""

    def __init_subclass__(cls, *, problem: ProblemCode, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.default_code, cls.default_status, cls.default_retriable = problem.name, problem.status, problem.retriable
        _CLASSES[problem.name] = cls


_CLASSES: dict[str, type[ProblemError]] = {}


def error_class(code: str) -> type[AcklogError]:
    """The class of a problem code; `AcklogError` itself for one that this version does not know."""
    return _CLASSES.get(code, AcklogError)
