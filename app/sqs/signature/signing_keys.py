"""The keys that signatures are made with: one of each secret, day and region, as the secret itself signs nothing."""

import hmac
from collections import OrderedDict
from typing import NamedTuple

from app.sqs.signature.credential import Credential

SIGNING_KEYS_MAX = 1_000
"""That are remembered. One more, and the one goes that was not asked for the longest."""


class _Origin(NamedTuple):
    key_id: str
    secret: str
    scope: str


class SigningKeys:
    """To make one takes four rounds of HMAC: a client signs with the same one all day."""

    def __init__(self) -> None:
        self._known: OrderedDict[_Origin, bytes] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def of(self, credential: Credential, secret: str) -> bytes:
        return self._known.get(_origin_of(credential, secret)) or _derived(credential, secret)

    def remember(self, credential: Credential, secret: str, key: bytes) -> None:
        """For what has proved good: else strangers, who need to know but the id of a key, could push out those of
        clients by naming regions."""
        origin = _origin_of(credential, secret)
        self._known[origin] = key
        self._known.move_to_end(origin)
        if len(self._known) > SIGNING_KEYS_MAX:
            self._known.popitem(last=False)


def _origin_of(credential: Credential, secret: str) -> _Origin:
    return _Origin(credential.key_id, secret, credential.scope)


def _derived(credential: Credential, secret: str) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in (credential.date, credential.region, credential.service, credential.terminator):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
