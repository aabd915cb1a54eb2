"""Certificates of `acklog pki` between a node and a real etcd, each of which asks who the other is."""

from pathlib import Path

import pytest

from cluster.etcd.etcd_settings import EtcdTls
from cluster.ports.coordination import CoordinationUnavailableError, Put
from tests.integration.etcd.conftest import StoreMaker
from tests.support.etcd_process import EtcdTlsFiles, running_etcd
from tests.support.own_authority import TlsFilesOf, made_authority, pem_of, signed, subject

pytestmark = pytest.mark.integration


async def test_a_node_and_etcd_know_each_other(binary: Path, tmp_path: Path, make_store: StoreMaker) -> None:
    authority = made_authority()
    own = TlsFilesOf(tmp_path).trust(authority).hold(signed(authority, subject("etcd", "etcd-0"), hosts=("127.0.0.1",)))
    with running_etcd(binary, tls=EtcdTlsFiles(own.ca, own.certificate, own.key)) as etcd:
        node = EtcdTls(pem_of(authority), *signed(authority, subject("node", "1")))
        store = make_store(etcd.endpoint, tls=node)
        assert (await store.transact([], [Put("/a", b"1")])).revision > 0
        stranger = EtcdTls(pem_of(authority), *signed(made_authority(), subject("node", "1")))
        with pytest.raises(CoordinationUnavailableError):
            await make_store(etcd.endpoint, tls=stranger, request_timeout_ms=1_000).get("/a")
