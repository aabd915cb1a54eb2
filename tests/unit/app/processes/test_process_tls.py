"""Certificates that a process would be refused with by everybody: at its start, and while it runs."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from prometheus_client import CollectorRegistry

from app.configuration.tls_options import PeerOptions, TlsOptions
from app.processes.process_tls import HTTP, PEERS, ProcessTls
from cluster.tls.peer_identity import node_identity
from cluster.tls.tls_files import TlsFiles, TlsFilesError
from tests.support.authority import OwnAuthority
from tests.support.manual_clock import ManualClock
from tests.support.own_authority import DAY_MS, NOW_MS

_Result = TypeVar("_Result")
OWN = node_identity(4)
CERTIFICATE_DAYS = 90


async def at_once(function: Callable[[], _Result], /) -> _Result:
    return function()


@pytest.fixture
def authority(tmp_path: Path) -> OwnAuthority:
    return OwnAuthority(tmp_path / "pki")


def loaded(
    files: TlsFiles | None = None, peers: TlsFiles | None = None, *, now_ms: int = NOW_MS
) -> tuple[ProcessTls, CollectorRegistry]:
    """Raises TlsFilesError."""
    http = TlsOptions() if files is None else TlsOptions(tls_certificate_file=files.certificate, tls_key_file=files.key)
    peer_options = None
    if peers is not None:
        peer_options = PeerOptions(
            peer_certificate_file=peers.certificate, peer_key_file=peers.key, peer_ca_file=peers.authorities
        )
    tls = ProcessTls.load(http, peer_options, own=OWN, clock=ManualClock(first_wall_ms=now_ms), in_thread=at_once)
    registry = CollectorRegistry()
    for each in tls.collectors:
        registry.register(each)
    return tls, registry


def failures(registry: CollectorRegistry, use: str) -> float | None:
    return registry.get_sample_value("acklog_tls_reload_failures_total", {"use": use})


@pytest.mark.parametrize(
    ("days", "says"),
    [
        (-1, r"server\.pem is not valid before 20\d\d-"),
        (0, ""),
        (CERTIFICATE_DAYS - 1, ""),
        (CERTIFICATE_DAYS, r"server\.pem has ended, at 20\d\d-"),
    ],
)
def test_https_takes_a_certificate_within_its_time(authority: OwnAuthority, days: int, says: str) -> None:
    files = authority.issue("server", days=CERTIFICATE_DAYS)
    if not says:
        loaded(files, now_ms=NOW_MS + days * DAY_MS)
        return
    with pytest.raises(TlsFilesError, match=says):
        loaded(files, now_ms=NOW_MS + days * DAY_MS)


def test_https_does_not_ask_who_has_signed(authority: OwnAuthority) -> None:
    """Clients may trust a public authority of which the server knows nothing; the name is for them to see."""
    for stem in ("node-1", "client-orders"):
        loaded(authority.issue(stem))


async def test_https_keeps_a_good_one_before_one_that_has_ended(authority: OwnAuthority) -> None:
    files = authority.issue("server")
    tls, registry = loaded(files)
    listening = tls.listening(opening_max=1)
    assert listening is not None
    good = listening.context.context
    authority.issue("server", age_days=CERTIFICATE_DAYS + 1)
    await tls.watch.look()
    assert listening.context.context is good
    assert failures(registry, HTTP) == 1
    authority.issue("server")
    await tls.watch.look()
    assert listening.context.context is not good
    assert failures(registry, HTTP) == 1


def test_a_start_with_the_certificate_of_another_is_refused(authority: OwnAuthority) -> None:
    loaded(peers=authority.issue("node-4"))
    with pytest.raises(TlsFilesError, match="is that of node 1, and this is node 4"):
        loaded(peers=authority.issue("node-1"))
    with pytest.raises(TlsFilesError, match="certificate has expired"):
        loaded(peers=authority.issue("node-4", age_days=CERTIFICATE_DAYS + 1))


async def test_peers_keep_their_own_before_that_of_another(authority: OwnAuthority) -> None:
    files, other = authority.issue("node-4"), authority.issue("node-1")
    tls, registry = loaded(peers=files)
    shutil.copy(other.certificate, files.certificate)
    shutil.copy(other.key, files.key)
    await tls.watch.look()
    await tls.watch.look()
    assert failures(registry, PEERS) == 2
    ends_s = registry.get_sample_value("acklog_tls_certificate_not_after_timestamp_seconds", {"use": PEERS})
    assert ends_s is not None
    authority.issue("node-4")
    await tls.watch.look()
    assert failures(registry, PEERS) == 2
