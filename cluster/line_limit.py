"""How often something may be logged that strangers can cause as often as they like. Sans-IO."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LineLimitSettings:
    lines_max: int = 20
    """Lines of one kind within `window_ms`; further ones are counted only."""

    window_ms: int = 60_000


class LineLimit:
    """Of one kind of line."""

    def __init__(self, settings: LineLimitSettings | None = None) -> None:
        self._settings = settings or LineLimitSettings()
        self._window_began_ms: float = 0
        self._lines = 0
        self._left_out = 0

    def admits(self, now_ms: float) -> int | None:
        """How many lines were left out before this one; None where it is left out, too."""
        if not self._lines or now_ms - self._window_began_ms >= self._settings.window_ms:
            self._window_began_ms = now_ms
            self._lines = 0
        if self._lines >= self._settings.lines_max:
            self._left_out += 1
            return None
        self._lines += 1
        left_out, self._left_out = self._left_out, 0
        return left_out
