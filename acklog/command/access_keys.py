"""Access keys for clients of SQS, at random, as they stand in a gateway's tokens file."""

from collections.abc import Callable
from dataclasses import dataclass, field

_ID_START = "ACKL"
_ID_RANDOM = 16
_SECRET = 40
_OF_IDS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_OF_SECRETS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
"""No `/` and no `+`, which URLs of brokers have to encode."""


@dataclass(frozen=True, slots=True)
class NewAccessKey:
    id: str
    secret: str = field(repr=False)

    @classmethod
    def made(cls, choose: Callable[[str], str]) -> "NewAccessKey":
        """`choose` one character of a text, so that nobody guesses which: the secret has 238 bits of it."""
        return cls(
            _ID_START + "".join(choose(_OF_IDS) for _ in range(_ID_RANDOM)),
            "".join(choose(_OF_SECRETS) for _ in range(_SECRET)),
        )

    def toml(self) -> str:
        """To be pasted below the entry of its token."""
        return f'[[tokens.accessKeys]]\nid = "{self.id}"\nsecret = "{self.secret}"\n'
