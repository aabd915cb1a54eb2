"""Which keys of the issuer's are known, how long they are good, and when to look for others. Sans-IO: times come in, in
milliseconds of a clock that only goes forward."""

from dataclasses import dataclass

from app.jwt.key_set import KeySet

NAMED_KEYS_MAX = 1_000
"""Keys that tokens have named and that are not known, of which it is remembered whether they were looked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRingSettings:
    refresh_ms: int = 300_000
    """How long after a look that found them the keys are looked for again."""

    pause_ms: int = 10_000
    """Least time from one look to the next, whoever wants it: strangers name keys that there are not as often as they
    like, and the issuer must not hear of it as often."""

    told_ms: int = 2_000
    """How long it counts at least that a look has found no such key, however soon the next one may begin: longer than
    whoever is asked to come again stays away, or nobody would ever be told."""

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
        self._looks = 0
        self._last_good_look = 0
        self._looks_when_named: dict[str | None, int] = {}
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
        """How long until the next look is due, 0 where it is. While one is under way none is."""
        if self._is_looking:
            return self._settings.pause_ms
        if self._began_at_ms is None:
            return 0
        interval_ms = self._settings.pause_ms
        if self._keys and not self._has_failed:
            interval_ms = max(interval_ms, self._settings.refresh_ms)
        return max(0, self._began_at_ms + interval_ms - now_ms)

    def may_look(self, now_ms: int) -> bool:
        """Whether the issuer may be asked now, out of turn."""
        return not self._is_looking and self._pause_left_ms(now_ms) == 0

    def wait_ms(self, key_id: str | None, now_ms: int) -> int | None:
        """Somebody shows a token of a key that is not known: how long until a look can tell whether there is one; 0
        where one is under way, or may begin now. None: one that began after the key was first named has told that there
        is none. (A look that strangers had it make a moment before is none for this key.)"""
        looks = self._looks_when_named.get(key_id)
        if looks is None:
            self._note_named(key_id, self._looks)
        is_told = looks is not None and looks < self._last_good_look
        if is_told and now_ms - self._found_at_ms < self._settings.told_ms:
            return None
        if self._is_looking or self.may_look(now_ms):
            return 0
        return None if is_told else self._pause_left_ms(now_ms)

    @property
    def is_looking(self) -> bool:
        return self._is_looking

    def began(self, now_ms: int) -> None:
        self._is_looking = True
        self._looks += 1
        self._began_at_ms = now_ms

    def found(self, keys: KeySet, now_ms: int) -> bool:
        """Whether they are others than before."""
        self._is_looking = False
        self._has_failed = False
        self._found_at_ms = now_ms
        self._last_good_look = self._looks
        if self._keys is not None and self._keys.is_same_as(keys):
            return False
        for withdrawn in () if self._keys is None else self._keys.keys:
            self._note_named(withdrawn.id or None, 0)
        self._keys = keys
        return True

    def failed(self) -> None:
        self._is_looking = False
        self._has_failed = True
        self.failures += 1

    def _pause_left_ms(self, now_ms: int) -> int:
        return 0 if self._began_at_ms is None else max(0, self._began_at_ms + self._settings.pause_ms - now_ms)

    def _note_named(self, key_id: str | None, looks: int) -> None:
        """Of one that is forgotten it is waited for another look."""
        self._looks_when_named.pop(key_id, None)
        if len(self._looks_when_named) >= NAMED_KEYS_MAX:
            del self._looks_when_named[next(iter(self._looks_when_named))]
        self._looks_when_named[key_id] = looks
