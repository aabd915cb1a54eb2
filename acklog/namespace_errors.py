"""Problems of namespaces. Users find them in `acklog.errors`."""

# The names are those of the problem codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.problem_error import ProblemError
from acklog.wire.problems import ProblemCode


class NamespaceMismatch(ProblemError, problem=ProblemCode.NAMESPACE_MISMATCH):
    """A group and its topics are not of one namespace."""


class NamespaceNotFound(ProblemError, problem=ProblemCode.NAMESPACE_NOT_FOUND):
    """There is no such namespace."""


class NamespaceExists(ProblemError, problem=ProblemCode.NAMESPACE_EXISTS):
    """The namespace exists with other settings."""


class NamespaceNotEmpty(ProblemError, problem=ProblemCode.NAMESPACE_NOT_EMPTY):
    """The namespace has topics or groups."""


class NamespaceFull(ProblemError, problem=ProblemCode.NAMESPACE_FULL):
    """The namespace has as much as its settings allow."""


class TooManyNamespaces(ProblemError, problem=ProblemCode.TOO_MANY_NAMESPACES):
    """There are as many namespaces as may be."""
