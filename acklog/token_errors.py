"""Problems of stored tokens. Users find them in `acklog.errors`."""

# The names are those of the problem codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.problem_error import ProblemError
from acklog.wire.problems import ProblemCode


class TokenNotFound(ProblemError, problem=ProblemCode.TOKEN_NOT_FOUND):
    """There is no such stored token."""


class TokenExists(ProblemError, problem=ProblemCode.TOKEN_EXISTS):
    """There is a stored token of this name."""


class TokenOver(ProblemError, problem=ProblemCode.TOKEN_OVER):
    """The token has expired, and no secret of it would let anybody in."""


class TokenRotating(ProblemError, problem=ProblemCode.TOKEN_ROTATING):
    """Two secrets of the token are good already."""


class TooManyTokens(ProblemError, problem=ProblemCode.TOO_MANY_TOKENS):
    """There are as many stored tokens as may be."""
