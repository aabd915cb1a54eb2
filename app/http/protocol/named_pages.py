"""Pages of other origins that may read the answers which the protocol gives by itself (`cross_origin` sees to those of
the application)."""

from collections.abc import Iterable

from app.configuration.web_origins import EVERY_ORIGIN

Headers = list[tuple[bytes, bytes]]


class NamedPages:
    """Of `origins`, as `--cors-origins` names them (`*`: any)."""

    def __init__(self, origins: Iterable[str] = ()) -> None:
        self._origins = frozenset(origins)

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._origins)

    def may_read(self, request_headers: Headers | None) -> dict[str, str]:
        """What an answer says to the browser of whoever sent these headers."""
        if not self._origins:
            return {}
        if EVERY_ORIGIN in self._origins:
            return {"Access-Control-Allow-Origin": EVERY_ORIGIN, "Access-Control-Expose-Headers": "*"}
        origins = [value.decode("latin-1") for name, value in request_headers or () if name == b"origin"]
        if origins and origins[0] in self._origins:
            return {
                "Access-Control-Allow-Origin": origins[0],
                "Access-Control-Expose-Headers": "*",
                "Vary": "Origin",
            }
        return {"Vary": "Origin"}
