"""Access keys: a name and a secret that requests are signed with, as clients of SQS do. They stand at a token, and what
they may do is what the token may.

To check a signature takes the secret itself, so that a digest of it is of no use here.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated

import msgspec

from app.auth.principal import Principal

ACCESS_KEYS_PER_TOKEN_MAX = 10
"""Two are enough to go from one to the next; more are for clients that are to be told apart."""

ACCESS_KEY_ID_PATTERN = r"\A[A-Za-z0-9_]{16,128}\Z"
ACCESS_KEY_SECRET_PATTERN = r"\A[!-~]{16,128}\Z"

_ID = re.compile(ACCESS_KEY_ID_PATTERN)


class AccessKeyEntry(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """As it stands in the tokens file."""

    id: Annotated[str, msgspec.Meta(pattern=ACCESS_KEY_ID_PATTERN)]
    secret: Annotated[str, msgspec.Meta(pattern=ACCESS_KEY_SECRET_PATTERN)]


AccessKeyEntries = Annotated[list[AccessKeyEntry], msgspec.Meta(min_length=1, max_length=ACCESS_KEYS_PER_TOKEN_MAX)]


@dataclass(frozen=True, slots=True)
class AccessKey:
    """`id` is no secret: every request shows it. `holder` is the token's."""

    id: str
    secret: str = field(repr=False)
    holder: Principal


def is_access_key_id(text: str) -> bool:
    return _ID.match(text) is not None
