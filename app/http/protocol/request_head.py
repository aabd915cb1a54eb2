"""A request's head as the parser has it, for whoever answers without an ASGI scope."""

from typing import NamedTuple

from starlette.types import Scope

from app.auth.client_certificate import ClientCertificate
from app.http.exchange.request import CERTIFICATE

Headers = list[tuple[bytes, bytes]]


class HttpPeer(NamedTuple):
    """What is the same for all requests of one. `client` and `server` are addresses, with their ports."""

    client: tuple[str, int] | None
    server: tuple[str, int | None] | None
    scheme: str
    certificate: ClientCertificate | None


class RequestHead(NamedTuple):
    """`path` is that of the URL, as it came; `query` is what stands behind its question mark. `headers` are all, in
    their order, with names in lower case; `by_name` has the last of each name."""

    method: bytes
    path: bytes
    query: bytes
    headers: Headers
    by_name: dict[bytes, bytes]
    connection: HttpPeer

    @property
    def authorization(self) -> str | None:
        value = self.by_name.get(b"authorization")
        return None if value is None else value.decode("latin-1")

    def scope_of(self, route: object) -> Scope:
        """What the application would have got: for what is rare, and knows a request by its scope."""
        scope: Scope = {
            "type": "http",
            "method": self.method.decode("ascii"),
            "scheme": self.connection.scheme,
            "server": self.connection.server,
            "client": self.connection.client,
            "path": self.path.decode("ascii"),
            "raw_path": self.path,
            "query_string": self.query,
            "headers": self.headers,
            "route": route,
        }
        if self.connection.certificate is not None:
            scope[CERTIFICATE] = self.connection.certificate
        return scope
