"""The token that etcd gave us for our password, and whether it still serves. Sans-IO."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """`text` is empty where etcd asks for none."""

    text: str


class TokenBox:
    """Holds the current token. Many calls may find the same token stale; only the first of them drops it."""

    def __init__(self, *, has_user: bool) -> None:
        self._current = None if has_user else Token("")

    @property
    def current(self) -> Token | None:
        """None: log in first."""
        return self._current

    def put(self, text: str) -> Token:
        self._current = Token(text)
        return self._current

    def drop(self, token: Token) -> None:
        """etcd refused it. Nothing happens when it was replaced meanwhile."""
        if self._current is token:
            self._current = None
