"""Users with passwords, and TLS where both sides show a certificate."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from cluster.etcd.etcd_certificates import EtcdCertificates
from cluster.etcd.etcd_settings import EtcdTls, EtcdUser
from cluster.etcd.failures import AccessDeniedError
from cluster.ports.coordination import CoordinationUnavailableError, Put
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdProcess, EtcdTlsFiles, running_etcd
from tests.support.waiting import poll_until

pytestmark = pytest.mark.integration

PATIENCE_S = 30
USER = EtcdUser("acklog", "p4ss")
OURS, OURS_END = "L2Fja2xvZy8=", "L2Fja2xvZzA="  # /acklog/ up to /acklog0, in base64


@pytest.fixture
def guarded(etcd: EtcdProcess) -> EtcdProcess:
    """Asks for users: root, and one that may only what is below /acklog/."""
    etcd.ask("/v3/auth/user/add", {"name": "root", "password": "r00t"})
    etcd.ask("/v3/auth/role/add", {"name": "root"})
    etcd.ask("/v3/auth/user/grant", {"user": "root", "role": "root"})
    etcd.ask("/v3/auth/role/add", {"name": "acklog"})
    permission = {"permType": "READWRITE", "key": OURS, "range_end": OURS_END}
    etcd.ask("/v3/auth/role/grant", {"name": "acklog", "perm": permission})
    etcd.ask("/v3/auth/user/add", {"name": USER.name, "password": USER.password})
    etcd.ask("/v3/auth/user/grant", {"user": USER.name, "role": "acklog"})
    etcd.ask("/v3/auth/enable")
    return etcd


async def test_a_user_may_what_its_role_allows(guarded: EtcdProcess, make_store: StoreMaker) -> None:
    store = make_store(guarded.endpoint, user=USER)
    lease = await store.grant_lease(5_000)
    revision = (await store.transact([], [Put("/acklog/a", b"1", lease.lease_id)])).revision
    await store.keep_alive(lease.lease_id)
    watch = store.watch("/acklog/", revision)
    assert (await asyncio.wait_for(watch.__anext__(), PATIENCE_S)).revision == revision
    assert len((await store.list("/acklog/")).items) == 1
    with pytest.raises(AccessDeniedError):
        await store.transact([], [Put("/other", b"")])
    with pytest.raises(AccessDeniedError):
        await store.list("/")
    with pytest.raises(AccessDeniedError):
        await asyncio.wait_for(store.watch("/other/", 1).__anext__(), PATIENCE_S)
    await store.revoke_lease(lease.lease_id)


async def test_a_restart_forgets_the_tokens_and_we_log_in_again(guarded: EtcdProcess, make_store: StoreMaker) -> None:
    store = make_store(guarded.endpoint, user=USER)
    first = (await store.transact([], [Put("/acklog/a", b"1")])).revision
    watch = store.watch("/acklog/", first)
    assert (await asyncio.wait_for(watch.__anext__(), PATIENCE_S)).revision == first
    guarded.kill()
    await asyncio.to_thread(guarded.start)
    outcomes = await asyncio.gather(*(store.get("/acklog/a") for _ in range(10)))
    assert all(item is not None and item.value == b"1" for item in outcomes)
    second = (await store.transact([], [Put("/acklog/a", b"2")])).revision
    assert (await asyncio.wait_for(watch.__anext__(), PATIENCE_S)).revision == second


async def test_a_changed_role_makes_old_tokens_stale_and_nobody_notices(
    guarded: EtcdProcess, make_store: StoreMaker
) -> None:
    store = make_store(guarded.endpoint, user=USER)
    await store.transact([], [Put("/acklog/a", b"1")])
    root = guarded.ask("/v3/auth/authenticate", {"name": "root", "password": "r00t"})["token"]
    for number in range(3):
        guarded.ask("/v3/auth/role/add", {"name": f"role{number}"}, token=root)
        assert (await store.transact([], [Put("/acklog/a", b"2")])).succeeded


@pytest.mark.parametrize("user", [EtcdUser("acklog", "wrong"), EtcdUser("nobody", "p4ss"), None])
async def test_who_may_not_enter_is_told(guarded: EtcdProcess, make_store: StoreMaker, user: EtcdUser | None) -> None:
    store = make_store(guarded.endpoint, user=user)
    with pytest.raises(AccessDeniedError):
        await store.transact([], [Put("/acklog/a", b"1")])
    with pytest.raises(AccessDeniedError):
        await store.get("/acklog/a")
    with pytest.raises(AccessDeniedError):
        await asyncio.wait_for(store.watch("/acklog/", 1).__anext__(), PATIENCE_S)


# --- TLS ---


class Certificates:
    """A throw-away authority, etcd's certificate for 127.0.0.1, and ours."""

    def __init__(self, directory: Path) -> None:
        self.authority = trustme.CA()
        self.ours = self.authority.issue_cert("acklog@example.org", common_name="acklog")
        server = self.authority.issue_cert("127.0.0.1")
        self.files = EtcdTlsFiles(directory / "ca.pem", directory / "server.pem", directory / "server.key")
        self.authority.cert_pem.write_to_path(str(self.files.authority))
        server.cert_chain_pems[0].write_to_path(str(self.files.certificate))
        server.private_key_pem.write_to_path(str(self.files.private_key))

    def tls(self, client: trustme.LeafCert | None, authority: trustme.CA | None = None) -> EtcdTls:
        pem = (authority or self.authority).cert_pem.bytes()
        if client is None:
            return EtcdTls(pem)
        return EtcdTls(pem, client.cert_chain_pems[0].bytes(), client.private_key_pem.bytes())


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="module")
def secured(binary: Path, certificates: Certificates) -> Iterator[EtcdProcess]:
    with running_etcd(binary, tls=certificates.files) as etcd:
        yield etcd


async def test_both_sides_show_a_certificate(
    secured: EtcdProcess, certificates: Certificates, make_store: StoreMaker
) -> None:
    store = make_store(secured.endpoint, tls=certificates.tls(certificates.ours))
    revision = (await store.transact([], [Put("/a", b"1")])).revision
    assert (await asyncio.wait_for(store.watch("/", revision).__anext__(), PATIENCE_S)).revision == revision
    lease = await store.grant_lease(5_000)
    await store.keep_alive(lease.lease_id)


@pytest.mark.parametrize("who", ["nobody", "a stranger", "one who trusts others", "plain text"])
async def test_who_shows_none_or_trusts_others_gets_no_connection(
    secured: EtcdProcess, certificates: Certificates, make_store: StoreMaker, who: str
) -> None:
    other = trustme.CA()
    tls = {
        "nobody": certificates.tls(None),
        "a stranger": certificates.tls(other.issue_cert("acklog@example.org", common_name="acklog")),
        "one who trusts others": certificates.tls(certificates.ours, other),
        "plain text": None,
    }[who]
    store = make_store(secured.endpoint, tls=tls, request_timeout_ms=1_000)
    with pytest.raises(CoordinationUnavailableError):
        await store.get("/a")


async def test_another_authority_takes_over_while_it_is_used(
    binary: Path, tmp_path: Path, make_store: StoreMaker
) -> None:
    """Connections that are there go on; the next one is opened with what the files hold by then."""
    (tmp_path / "old").mkdir()
    (tmp_path / "new").mkdir()
    old, new = Certificates(tmp_path / "old"), Certificates(tmp_path / "new")
    found = [old.tls(old.ours)]
    ours = EtcdCertificates(found[0], lambda: found[-1])
    with running_etcd(binary, tls=old.files) as etcd:
        store = make_store(etcd.endpoint, tls=found[0], tls_now=lambda: ours.current)
        await store.transact([], [Put("/a", b"1")])
        assert ours.refresh() is False
        found.append(new.tls(new.ours))
        assert ours.refresh() is True
        assert await store.get("/a") is not None
        etcd.kill()
        for name in ("authority", "certificate", "private_key"):
            getattr(old.files, name).write_bytes(getattr(new.files, name).read_bytes())
        etcd.start()

        async def is_there() -> bool:
            with contextlib.suppress(CoordinationUnavailableError):
                return await store.get("/a") is not None
            return False

        await poll_until(is_there, seconds=PATIENCE_S, what="etcd by its new authority")


async def test_a_certificate_for_another_name_needs_that_name(
    binary: Path, certificates: Certificates, tmp_path: Path, make_store: StoreMaker
) -> None:
    named = certificates.authority.issue_cert("etcd.example.org")
    files = EtcdTlsFiles(certificates.files.authority, tmp_path / "named.pem", tmp_path / "named.key")
    named.cert_chain_pems[0].write_to_path(str(files.certificate))
    named.private_key_pem.write_to_path(str(files.private_key))
    ours = certificates.tls(certificates.ours)
    with running_etcd(binary, tls=files) as etcd:
        strict = make_store(etcd.endpoint, tls=ours, request_timeout_ms=1_000)
        with pytest.raises(CoordinationUnavailableError):
            await strict.get("/a")
        told = EtcdTls(ours.certificate_authority, ours.certificate, ours.private_key, "etcd.example.org")
        assert await make_store(etcd.endpoint, tls=told).get("/a") is None
