"""A request as it came, before anybody has made anything of it: a signature is over just that."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """`raw_path` and `raw_query` as the client has encoded them; `headers` in their order, with names in lower case.
    The body is no part of it: it may come later."""

    method: str
    raw_path: bytes
    raw_query: bytes
    headers: Sequence[tuple[bytes, bytes]]

    def header(self, name: bytes) -> bytes | None:
        """The value; the first one where a client repeats it."""
        return next((value for each, value in self.headers if each == name), None)

    def times_of(self, name: bytes) -> int:
        return sum(each == name for each, _ in self.headers)
