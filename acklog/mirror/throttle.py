"""How long to wait so that no more than so many bytes a second are copied. Without I/O: the time comes in."""


class Throttle:
    """`bytes_per_second` None: as fast as it goes. What was sent is paid for afterwards, so one request may be larger
    than a second's worth."""

    def __init__(self, bytes_per_second: int | None) -> None:
        self._rate = bytes_per_second
        self._free_at_s = 0.0

    def pause_s(self, size_bytes: int, now_s: float) -> float:
        """How long to wait before so much is sent."""
        if self._rate is None:
            return 0.0
        begin_s = max(self._free_at_s, now_s)
        self._free_at_s = begin_s + size_bytes / self._rate
        return begin_s - now_s
