"""The stored tokens as of one revision. Fed by events."""

from collections.abc import Iterable

import msgspec

from cluster.model import keys
from cluster.model.codec import decode
from cluster.model.stored_token import StoredToken
from cluster.ports.coordination import Changed, Event, KeyValue, key_of


class TokenState:
    """`undecodable` has the keys whose values are not understood (a newer version's): these tokens are not known, and
    let nobody in."""

    def __init__(self, items: Iterable[KeyValue] = ()) -> None:
        self.undecodable: dict[str, str] = {}
        self._by_key: dict[str, StoredToken] = {}
        self._by_id: dict[str, StoredToken] = {}
        for item in items:
            self.apply(Changed(item))

    def find(self, name: str) -> StoredToken | None:
        return self._by_key.get(keys.stored_token(name))

    def by_id(self, token_id: str) -> StoredToken | None:
        return self._by_id.get(token_id)

    def all(self) -> list[StoredToken]:
        """By name."""
        return [self._by_key[key] for key in sorted(self._by_key)]

    def __len__(self) -> int:
        return len(self._by_key)

    def apply(self, event: Event) -> bool:
        """Whether the event concerned a token."""
        key = key_of(event)
        if not key.startswith(keys.STORED_TOKENS):
            return False
        self.undecodable.pop(key, None)
        before = self._by_key.pop(key, None)
        if before is not None:
            self._by_id.pop(before.id, None)
        if isinstance(event, Changed):
            try:
                token = decode(StoredToken, event.item.value)
            except (msgspec.DecodeError, ValueError) as error:
                self.undecodable[key] = str(error)
                return True
            self._by_key[key] = self._by_id[token.id] = token
        return True
