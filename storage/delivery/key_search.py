"""The way by which a key-ordered group finds again what it could not remember.

One search at a time goes upwards from the lowest place where one of the keys that could go on may have something. It
serves all keys that it passes: what it shows of one is remembered as far as there is room. A key of which something was
shown and not remembered is *refused*: the search says nothing of it any more, and another one begins for it later. So
nothing is shown twice for one key, and a search is as long as what the sparsest of its keys has in between.
"""

from typing import Generic, Protocol, TypeVar


class SoughtKey(Protocol):
    @property
    def hash(self) -> int: ...
    @property
    def unknown_from(self) -> int | None: ...


_Key = TypeVar("_Key", bound=SoughtKey)


class KeySearch(Generic[_Key]):
    """Of one group. `is_showing`: what is seen now was asked for by `next`, and is shown from there on."""

    def __init__(self) -> None:
        self.is_showing = False
        self._seekers: dict[int, _Key] = {}
        self._served: dict[int, _Key] = {}  # those of them that the search under way will come by
        self._refused: set[int] = set()
        self._since: int | None = None
        self._position = 0

    def next(self) -> int | None:
        """From where on everything is to be shown; None: nobody seeks."""
        if not self._served:
            self.end()
            if not self._seekers:
                return None
            self._since = self._position = min(_unknown_from(key) for key in self._seekers.values())
            self._served = dict(self._seekers)
        self.is_showing = True
        return self._position

    def shown_until(self, offset: int) -> None:
        self.is_showing = False
        self._position = offset

    def end(self) -> None:
        """Everything was shown, or nobody seeks what this search would find."""
        self.is_showing = False
        self._since = None
        self._served = {}
        self._refused = set()

    def has_shown_all(self, key: _Key, until: int | None = None) -> bool:
        """Whether nothing of the key is between its `unknown_from` and what is shown now: with `until`, that."""
        if not self.is_showing or self._since is None or key.hash in self._refused:
            return False
        return self._since <= _unknown_from(key) and (until is None or until >= self._position)

    def refuse(self, key: _Key) -> None:
        """Something of it was shown and is not remembered."""
        self._refused.add(key.hash)
        self._served.pop(key.hash, None)

    def begin_unknown(self, key: _Key) -> None:
        """From now on there is something of the key that is not remembered."""
        if self._since is not None and _unknown_from(key) <= self._position:
            self.refuse(key)

    def join(self, key: _Key) -> None:
        """It could go on, if only something were found."""
        self._seekers[key.hash] = key
        if self._since is not None and self._since <= _unknown_from(key) and key.hash not in self._refused:
            self._served[key.hash] = key

    def leave(self, key: _Key) -> None:
        self._seekers.pop(key.hash, None)
        self._served.pop(key.hash, None)


def _unknown_from(key: SoughtKey) -> int:
    offset = key.unknown_from
    assert offset is not None, "the key has nothing that is not remembered"
    return offset
