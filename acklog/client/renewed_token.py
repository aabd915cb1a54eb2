"""A token that is renewed while a client lives: read from a file, or asked for by a function of the user's.

Tokens of an identity provider live for minutes, and producers and consumers for months. Whoever renews may fail for a
while: then the token of before goes on to be shown, and it is said once. Whether it is still good the server says.
"""

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from acklog.client.address import bearer_of
from acklog.errors import InvalidArgument

TOKEN_INTERVAL_MS = 1_000
TOKEN_FILE_BYTES_MAX = 64 * 1024
_logger = logging.getLogger("acklog.client")


class RenewedToken:
    """`find` gives the token of now, and may fail as it likes. `now_ms` is any clock that only goes forward."""

    def __init__(self, find: Callable[[], str], *, now_ms: Callable[[], float]) -> None:
        self._find = find
        self._now_ms = now_ms
        self._found_at_ms: float | None = None
        self._bearer = ""
        self._has_failed = False

    def bearer(self) -> str:
        """What the Authorization header says. The token is looked for once in TOKEN_INTERVAL_MS at most. Raises
        InvalidArgument where there has been none yet."""
        now_ms = self._now_ms()
        if self._found_at_ms is None or now_ms - self._found_at_ms >= TOKEN_INTERVAL_MS:
            self._look(now_ms)
        return self._bearer

    def _look(self, now_ms: float) -> None:
        try:
            self._bearer = bearer_of(self._find())
        except Exception as error:
            if not self._bearer:
                if isinstance(error, InvalidArgument):
                    raise
                raise InvalidArgument(f"the token cannot be had: {error!r}", field="token") from error
            if not self._has_failed:
                _logger.warning("the token cannot be renewed, the one before is still shown: %r", error)
            self._has_failed = True
        else:
            self._has_failed = False
        self._found_at_ms = now_ms


def renewed_token(
    token: str | Callable[[], str] | None, token_file: str | None, *, now_ms: Callable[[], float]
) -> RenewedToken | None:
    """None for a token that stays as it is. Raises InvalidArgument for a file that holds none: better now than with the
    first call."""
    if token_file is not None:
        if token is not None:
            raise InvalidArgument("token and token_file are two places for one token: give one", field="token_file")
        renewed = RenewedToken(partial(token_in_file, token_file), now_ms=now_ms)
        renewed.bearer()
        return renewed
    return RenewedToken(token, now_ms=now_ms) if callable(token) else None


def token_in_file(path: str) -> str:
    """Without the white space around it. Raises InvalidArgument."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(TOKEN_FILE_BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path} cannot be read: {error}", field="token_file") from error
    if len(content) > TOKEN_FILE_BYTES_MAX:
        raise InvalidArgument(f"{path} has more than {TOKEN_FILE_BYTES_MAX} bytes", field="token_file")
    return content.decode("latin-1").strip()
