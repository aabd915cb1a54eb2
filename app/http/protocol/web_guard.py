"""Keeps other people's web pages out of a server that asks nobody for a token.

A page in a browser on this machine reaches what listens here, although it comes from anywhere. It may send simple
requests to any address without asking (they carry `Origin` or `Sec-Fetch-Site`), and under a name of its own that it
lets point here it may read the answers, too (DNS rebinding: `Host` is that name). With tokens a page has nothing to
show, so nothing is checked then.
"""

from acklog.wire.problems import ProblemCode
from app.configuration.loopback import is_loopback
from app.configuration.web_origins import EVERY_ORIGIN
from cluster.errors import ServerError

EVERY_HOST = "*"
HARMLESS = (b"/", b"/console", b"/docs", b"/docs/errors", b"/docs/plain")
"""What a link on another page may lead to. Everything else does something, also by GET: a receive consumes. To the
first of them SQS is spoken, by forms such as any page can send."""
_OF_LINKS = frozenset({b"GET", b"HEAD"})
_OWN_PAGES = frozenset({b"same-origin", b"none"})
_SCHEMES = frozenset({b"http", b"https"})
_KNOWN_MAX = 64


class WebGuard:
    """`hosts` are the names under which the server is served, beside those of loopback; None: under any. `origins` are
    hosts, with their ports, that its pages may have where a proxy calls it otherwise. Pages of `others`, whole origins,
    may do what pages of its own may."""

    def __init__(
        self,
        hosts: frozenset[str] | None,
        origins: frozenset[bytes] = frozenset(),
        others: frozenset[bytes] = frozenset(),
    ) -> None:
        self._hosts = hosts
        self._origins = origins
        self._others = others
        self._known: set[bytes] = set()  # what Host headers said that were good

    def fault(
        self, method: bytes, url: bytes, *, host: bytes | None, origin: bytes | None, fetch_site: bytes | None
    ) -> ServerError | None:
        """Why a request with these headers is not taken; None where it is. Without `host` no browser sent it."""
        if host is not None and host not in self._known:
            if not self._is_ours(host):
                detail = (
                    f"the server is not known as {name_of(host)[:100]!r}; where it should be, "
                    "say so with --allowed-hosts (ACKLOG_ALLOWED_HOSTS)"
                )
                return ServerError(ProblemCode.HOST_NOT_ALLOWED, detail, field="Host")
            if len(self._known) < _KNOWN_MAX:
                self._known.add(host)
        if origin is None and fetch_site is None:
            return None
        is_link = url in HARMLESS and method in _OF_LINKS
        return None if is_link else self._fault_of_page(host, origin, fetch_site)

    def _fault_of_page(self, host: bytes | None, origin: bytes | None, fetch_site: bytes | None) -> ServerError | None:
        """What the browser says counts most: behind a proxy `Host` may be another than the page's."""
        if origin is not None and (origin.lower() in self._others or EVERY_ORIGIN.encode() in self._others):
            return None
        if fetch_site is not None:
            if fetch_site.lower() in _OWN_PAGES:
                return None
            return ServerError(ProblemCode.ORIGIN_NOT_ALLOWED, "a page of another site sent this", field="Origin")
        assert origin is not None, "there is one of the two"
        scheme, _, authority = origin.lower().partition(b"://")
        if scheme in _SCHEMES and authority and (authority == (host or b"").lower() or authority in self._origins):
            return None
        return ServerError(ProblemCode.ORIGIN_NOT_ALLOWED, "a page of another origin sent this", field="Origin")

    def _is_ours(self, host: bytes) -> bool:
        if self._hosts is None:
            return True
        name = name_of(host)
        return name in self._hosts or is_loopback(name) or name.endswith(".localhost")


def name_of(authority: bytes) -> str:
    """The host in `host:port` or `[address]:port`, in lower case."""
    text = authority.decode("latin-1").strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return text.partition(":")[0].removesuffix(".")


def guard_of(
    *, listens_on: str, allowed_hosts: str, has_tokens: bool, web_origins: frozenset[str] = frozenset()
) -> WebGuard | None:
    """`allowed_hosts` as in the settings: names separated by commas, `*` for all, empty for what fits `listens_on`:
    those of loopback there, elsewhere all, as nobody here can know what names lead to a public address."""
    others = frozenset(each.encode() for each in web_origins)
    authorities = [each.strip().lower().encode() for each in allowed_hosts.split(",") if each.strip()]
    named = frozenset(map(name_of, authorities))
    if not named:
        if has_tokens:
            return None
        return WebGuard(frozenset({listens_on.lower()}) if is_loopback(listens_on) else None, others=others)
    # Another server of this machine has a loopback name, too: there only the port tells whose page it is.
    origins = frozenset(each for each in authorities if not is_loopback(name_of(each)))
    return WebGuard(None if EVERY_HOST in named else named | {listens_on.lower()}, origins, others)
