"""How fast a backup reads: no faster than it was told."""

from collections.abc import Callable


class BackupPace:
    """`now_ms` never jumps; `pause` waits so many seconds."""

    def __init__(
        self, bytes_per_second: int | None, *, now_ms: Callable[[], float], pause: Callable[[float], None]
    ) -> None:
        self._bytes_per_second = bytes_per_second
        self._now_ms = now_ms
        self._pause = pause
        self._free_at_ms = now_ms()

    def spend(self, size_bytes: int) -> None:
        """Wait until so much more fits. What was not used is not saved up."""
        if self._bytes_per_second is None:
            return
        now_ms = self._now_ms()
        self._free_at_ms = max(self._free_at_ms, now_ms) + size_bytes * 1000 / self._bytes_per_second
        if self._free_at_ms > now_ms:
            self._pause((self._free_at_ms - now_ms) / 1000)
