"""Which keys of the issuer's are known, how long they are good, and when to look for others. Sans-IO: times come in, in
milliseconds of a clock that only goes forward."""

from dataclasses import dataclass

from app.jwt.key_set import KeySet


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRingSettings:
    refresh_ms: int = 300_000
    """How long after a look that found them the keys are looked for again."""

    pause_ms: int = 10_000
    """Least time from one look to the next, whoever wants it: strangers name keys that there are not as often as they
    like, and the issuer must not hear of it as often."""

    good_ms: int = 21_600_000
    """How long keys are good after the last look that found them. An issuer that answers with no key withdraws them."""


class KeyRing:
    """A look is told by `began`, and then by `found` or `failed`."""

    def __init__(self, settings: KeyRingSettings) -> None:
        self._settings = settings
        self._keys: KeySet | None = None
        self._found_at_ms = 0
        self._began_at_ms: int | None = None
        self._is_looking = False
        self._has_failed = False
        self.failures = 0

    def keys_at(self, now_ms: int) -> KeySet | None:
        """None where none are known that are good. It is the same object as long as the issuer has the same keys."""
        return self._keys if self.left_ms(now_ms) > 0 else None

    def age_ms(self, now_ms: int) -> int | None:
        """Since the last look that found them, or that there are none."""
        return None if self._keys is None else now_ms - self._found_at_ms

    def left_ms(self, now_ms: int) -> int:
        """How long the keys are good if no look finds any; of an empty set, as of none, there is nothing to be good."""
        if not self._keys:
            return 0
        return max(0, self._found_at_ms + self._settings.good_ms - now_ms)

    def next_look_ms(self, now_ms: int) -> int:
        """How long until the next look is due, 0 where it is."""
        if self._began_at_ms is None:
            return 0
        interval_ms = self._settings.pause_ms
        if self._keys and not self._has_failed:
            interval_ms = max(interval_ms, self._settings.refresh_ms)
        return max(0, self._began_at_ms + interval_ms - now_ms)

    def may_look(self, now_ms: int) -> bool:
        """Whether the issuer may be asked now, out of turn."""
        if self._is_looking:
            return False
        return self._began_at_ms is None or now_ms - self._began_at_ms >= self._settings.pause_ms

    @property
    def is_looking(self) -> bool:
        return self._is_looking

    def began(self, now_ms: int) -> None:
        self._is_looking = True
        self._began_at_ms = now_ms

    def found(self, keys: KeySet, now_ms: int) -> bool:
        """Whether they are others than before."""
        self._is_looking = False
        self._has_failed = False
        self._found_at_ms = now_ms
        if self._keys is not None and self._keys.is_same_as(keys):
            return False
        self._keys = keys
        return True

    def failed(self) -> None:
        self._is_looking = False
        self._has_failed = True
        self.failures += 1
