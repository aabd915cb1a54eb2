"""Tokens of the file that have the name of a stored one.

None is refused for it: a file that is read again may take away a token that has leaked, and a name that somebody has
chosen must not keep it from that. But who revokes the one of them may believe that nobody gets in by that name.
"""

from collections.abc import Callable

import structlog

from app.auth.tokens import TokenTable
from cluster.metadata.metadata_view import MetadataView

NAMES_MAX = 20
"""In one line of the log."""

_log = structlog.get_logger(__name__)


class Namesakes:
    """Looks whenever the file or what is stored has changed, and says in the log what is new. `on_count` is told how
    many names there are."""

    def __init__(self, tokens: TokenTable, view: MetadataView, on_count: Callable[[int], None]) -> None:
        self._tokens = tokens
        self._view = view
        self._on_count = on_count
        self._known: frozenset[str] = frozenset()
        tokens.listeners.add(self._look)
        view.subscribe_to_tokens(self._look)
        self._look()

    def _look(self) -> None:
        stored = self._view.tokens
        shared = frozenset(name for name in self._tokens.names() if stored.find(name) is not None)
        new = sorted(shared - self._known)
        if new:
            _log.warning("token_names_shared", names=new[:NAMES_MAX], count=len(new))
        self._known = shared
        self._on_count(len(shared))
