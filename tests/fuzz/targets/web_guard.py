"""Heads of requests that a web page may have sent, and the settings that say which pages may."""

from acklog.wire.problems import ProblemCode
from app.configuration.setting_error import SettingsError
from app.configuration.web_origins import web_origins
from app.http.protocol.web_guard import guard_of
from tests.fuzz.fuzz_target import FuzzTarget
from tests.fuzz.parts import joined, parts_of, text_of

_SEEDS = (
    joined(b"", b"", b"127.0.0.1:8080", b"http://127.0.0.1:8080", b"same-origin", b"/messages"),
    joined(b"queue.example.com:8443,*", b"https://shop.example", b"[::1]:8080", b"https://shop.example", b"", b"/ack"),
    joined(b"localhost", b"*", b"rebound.example", b"null", b"cross-site", b"/docs"),
    joined(b"", b"http://localhost:3000,https://[::1]:1", b"", b"file://", b"none", b"/"),
)


def _read(data: bytes) -> None:
    allowed_hosts, origins, host, origin, fetch_site, url = parts_of(data, 6)
    named = web_origins(text_of(origins))
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts=text_of(allowed_hosts), has_tokens=False, web_origins=named)
    assert guard is not None, "a server without tokens is always guarded"
    sent = guard.fault(b"POST", url, host=host or None, origin=origin or None, fetch_site=fetch_site or None)
    fault = guard.fault(b"GET", url, host=host or None, origin=origin or None, fetch_site=fetch_site or None)
    assert fault is None or sent is not None, "a page may send where it may not look"
    if fault is None:
        assert guard.fault(b"GET", url, host=host or None, origin=None, fetch_site=None) is None
        assert not origin or not fetch_site or not _is_strange(text_of(origin), text_of(fetch_site), url, named)
        return
    assert fault.code in {ProblemCode.HOST_NOT_ALLOWED, ProblemCode.ORIGIN_NOT_ALLOWED}
    assert len(fault.detail) < 600, "more than a name of 100 characters, each of them escaped"


def _is_strange(origin: str, fetch_site: str, url: bytes, named: frozenset[str]) -> bool:
    """A page of another site that nobody has named, where it could do something."""
    is_own = fetch_site.lower() in {"same-origin", "none"}
    return (
        not is_own
        and not named & {"*", origin.lower()}
        and url not in {b"/", b"/docs", b"/docs/errors", b"/docs/plain"}
    )


TARGET = FuzzTarget(_read, (SettingsError,), lambda: _SEEDS)
