"""A request as it came, before anybody has made anything of it: a signature is over just that."""

from collections.abc import Sequence


class ReceivedRequest:
    """`raw_path` and `raw_query` as the client has encoded them; `headers` in their order, with names in lower case,
    which are `names`. The body is no part of it: it may come later."""

    __slots__ = ("headers", "method", "names", "raw_path", "raw_query")

    def __init__(self, method: str, raw_path: bytes, raw_query: bytes, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self.method = method
        self.raw_path = raw_path
        self.raw_query = raw_query
        self.headers = headers
        self.names = [name for name, _ in headers]

    def header(self, name: bytes) -> bytes | None:
        """The value; the first one where a client repeats it."""
        return self.headers[self.names.index(name)][1] if name in self.names else None

    def times_of(self, name: bytes) -> int:
        return self.names.count(name)
