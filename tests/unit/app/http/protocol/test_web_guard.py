"""Which requests a web page may have sent, and what becomes of those."""

import pytest

from acklog.wire.problems import ProblemCode
from app.http.protocol.web_guard import WebGuard, guard_of


def on_loopback(allowed_hosts: str = "") -> WebGuard:
    guard = guard_of(listens_on="127.0.0.1", allowed_hosts=allowed_hosts, has_tokens=False)
    assert guard is not None
    return guard


def code(
    guard: WebGuard,
    *,
    method: bytes = b"GET",
    url: bytes = b"/messages?queue=q",
    host: bytes | None = b"127.0.0.1:8080",
    origin: bytes | None = None,
    fetch_site: bytes | None = None,
) -> ProblemCode | None:
    fault = guard.fault(method, url, host=host, origin=origin, fetch_site=fetch_site)
    return None if fault is None else fault.code


@pytest.mark.parametrize(
    "host",
    [
        b"127.0.0.1",
        b"127.0.0.1:8080",
        b"127.1.2.3:80",
        b"localhost:9000",
        b"LOCALHOST",
        b"acklog.localhost:8080",
        b"[::1]:8080",
        None,
    ],
)
def test_names_of_this_machine_are_served(host: bytes | None) -> None:
    assert code(on_loopback(), host=host) is None


@pytest.mark.parametrize(
    "host", [b"rebound.example", b"rebound.example:8080", b"127.0.0.1.rebound.example", b"10.0.0.7:8080", b"", b"[::2]"]
)
def test_names_that_are_made_to_point_here_are_not(host: bytes) -> None:
    guard = on_loopback()
    for url in (b"/messages", b"/docs", b"/healthz"):
        assert code(guard, host=host, url=url) is ProblemCode.HOST_NOT_ALLOWED


def test_further_names_and_all_names() -> None:
    guard = on_loopback("host.docker.internal, Queue.example.com:8080")
    assert code(guard, host=b"host.docker.internal:8080") is None
    assert code(guard, host=b"queue.example.com") is None
    assert code(guard, host=b"localhost") is None
    assert code(guard, host=b"other.example") is ProblemCode.HOST_NOT_ALLOWED
    assert code(on_loopback("*"), host=b"other.example") is None


def test_what_other_pages_send_is_refused() -> None:
    guard = on_loopback()
    for fetch_site in (b"cross-site", b"same-site", b"anything"):
        assert code(guard, fetch_site=fetch_site) is ProblemCode.ORIGIN_NOT_ALLOWED
    for origin in (b"https://elsewhere.example", b"null", b"http://localhost:3000", b"file://"):
        assert code(guard, host=b"localhost:8080", origin=origin) is ProblemCode.ORIGIN_NOT_ALLOWED


@pytest.mark.parametrize("allowed", ["", "localhost,queue.example.com"])
def test_pages_of_other_servers_of_this_machine_are_others(allowed: str) -> None:
    """Whatever listens on another port of the same address is somebody else's."""
    for name in (b"127.0.0.1", b"localhost", b"[::1]"):
        host = name + b":8080"
        assert code(on_loopback(allowed), host=host, origin=b"http://" + host) is None
        for other in (name + b":3000", name, name + b":8080.example", b"x@" + host):
            guard = on_loopback(allowed)
            assert code(guard, host=host, origin=b"http://" + other) is ProblemCode.ORIGIN_NOT_ALLOWED
        assert code(guard, host=host, origin=b"other://" + host) is ProblemCode.ORIGIN_NOT_ALLOWED


def test_a_name_that_is_served_is_an_origin_without_a_port_or_with_the_named_one() -> None:
    guard = on_loopback("queue.example.com,other.example.com:8443")
    for origin in (b"https://queue.example.com", b"https://OTHER.example.com:8443"):
        assert code(guard, origin=origin) is None
    for origin in (b"https://queue.example.com:3000", b"https://other.example.com:8444"):
        assert code(guard, origin=origin) is ProblemCode.ORIGIN_NOT_ALLOWED


def test_its_own_pages_and_the_address_bar_may() -> None:
    guard = on_loopback()
    assert code(guard, fetch_site=b"same-origin", origin=b"http://127.0.0.1:8080") is None
    assert code(guard, fetch_site=b"none") is None
    assert code(guard, origin=b"http://127.0.0.1:8080") is None
    assert code(guard, url=b"/docs", fetch_site=b"cross-site") is None


def test_behind_a_proxy_the_browser_is_believed() -> None:
    """`Host` is what the proxy calls the server, `Origin` what the page is called."""
    guard = guard_of(listens_on="0.0.0.0", allowed_hosts="", has_tokens=False)
    assert guard is not None
    page = b"https://queue.example.com"
    assert code(guard, host=b"acklog:8080", origin=page, fetch_site=b"same-origin") is None
    assert code(guard, host=b"acklog:8080", origin=page, fetch_site=b"cross-site") is ProblemCode.ORIGIN_NOT_ALLOWED
    named = guard_of(listens_on="0.0.0.0", allowed_hosts="queue.example.com,acklog", has_tokens=False)
    assert named is not None
    assert code(named, host=b"acklog:8080", origin=page) is None


def test_with_tokens_a_page_has_nothing_to_show() -> None:
    assert guard_of(listens_on="127.0.0.1", allowed_hosts="", has_tokens=True) is None


def test_the_names_that_are_remembered_are_bounded() -> None:
    guard = WebGuard(None)
    for number in range(1000):
        assert code(guard, host=b"%d.example" % number) is None
    assert len(guard._known) < 100


@pytest.mark.parametrize("method", [b"POST", b"PUT", b"DELETE", b"OPTIONS"])
def test_what_links_may_lead_to_is_read_and_nothing_is_sent_there(method: bytes) -> None:
    """A form of any page can send to `/` what SQS takes there."""
    guard = on_loopback()
    assert code(guard, method=b"GET", url=b"/", fetch_site=b"cross-site") is None
    assert code(guard, method=b"HEAD", url=b"/", fetch_site=b"cross-site") is None
    assert code(guard, method=method, url=b"/", fetch_site=b"cross-site") is ProblemCode.ORIGIN_NOT_ALLOWED
    assert code(guard, url=b"/?Action=SendMessage", fetch_site=b"cross-site") is ProblemCode.ORIGIN_NOT_ALLOWED
    assert code(guard, method=method, url=b"/", fetch_site=b"same-origin") is None
