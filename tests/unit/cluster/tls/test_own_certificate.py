"""Which certificates a process of a cluster takes for its own, at a start and later."""

import shutil
import ssl
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cluster.tls.current_context import CurrentContext
from cluster.tls.own_certificate import own_client_context, own_server_context
from cluster.tls.peer_identity import GATEWAY, PeerIdentity, node_identity
from cluster.tls.tls_files import TlsFiles, TlsFilesError
from tests.support.authority import OwnAuthority

Maker = Callable[[TlsFiles, PeerIdentity], ssl.SSLContext]
MAKERS = pytest.mark.parametrize("make", [own_server_context, own_client_context])


@pytest.fixture
def authority(tmp_path: Path) -> OwnAuthority:
    return OwnAuthority(tmp_path / "pki")


@MAKERS
@pytest.mark.parametrize(("stem", "own"), [("node-4", node_identity(4)), ("gateway", GATEWAY)])
def test_its_own_is_taken(authority: OwnAuthority, make: Maker, stem: str, own: PeerIdentity) -> None:
    assert make(authority.issue(stem), own) is not None


@MAKERS
@pytest.mark.parametrize(
    ("stem", "says"),
    [
        ("node-1", r"node-1\.pem is that of node 1, and this is node 4: it needs the URI acklog://node/4"),
        ("gateway", r"gateway\.pem is that of gateway, and this is node 4"),
        ("server", r"server\.pem is that of nobody in a cluster, and this is node 4"),
    ],
)
def test_that_of_another_is_not(authority: OwnAuthority, make: Maker, stem: str, says: str) -> None:
    with pytest.raises(TlsFilesError, match=says):
        make(authority.issue(stem), node_identity(4))


@MAKERS
@pytest.mark.parametrize(
    ("age_days", "says"), [(91, "certificate has expired"), (-1, "certificate is not yet valid"), (89, "")]
)
def test_its_time_counts(authority: OwnAuthority, make: Maker, age_days: int, says: str) -> None:
    files = authority.issue("node-4", age_days=age_days)
    if not says:
        make(files, node_identity(4))
        return
    with pytest.raises(TlsFilesError, match=rf"node-4\.pem .*ca\.pem: {says}"):
        make(files, node_identity(4))


@MAKERS
def test_one_of_another_authority_is_not(tmp_path: Path, authority: OwnAuthority, make: Maker) -> None:
    files = OwnAuthority(tmp_path / "other").issue("node-4")
    with pytest.raises(TlsFilesError, match="unable to get local issuer certificate"):
        make(replace(files, authorities=str(authority.ca_file)), node_identity(4))


@MAKERS
def test_one_that_calls_nobody_or_serves_nobody_is_not(authority: OwnAuthority, make: Maker) -> None:
    with pytest.raises(TlsFilesError, match=r"client-orders\.pem .*purpose"):
        make(authority.issue("client-orders"), node_identity(4))


@MAKERS
def test_while_it_runs_what_would_be_refused_elsewhere_leaves_what_there_was(
    tmp_path: Path, authority: OwnAuthority, make: Maker
) -> None:
    files = authority.issue("node-4")
    current = CurrentContext(files, partial(make, own=node_identity(4)))
    good = current.context
    other = OwnAuthority(tmp_path / "other")
    pairs = [authority.issue("node-1"), authority.issue("node-4", age_days=91), other.issue("node-4")]
    for pair in pairs:
        _put(pair, files)
        with pytest.raises(TlsFilesError):
            current.refresh()
        assert current.context is good
    authority.issue("node-4")
    assert current.refresh() is True
    assert current.context is not good


def _put(pair: TlsFiles, files: TlsFiles) -> None:
    if pair.certificate != files.certificate:
        shutil.copy(pair.certificate, files.certificate)
        shutil.copy(pair.key, files.key)
