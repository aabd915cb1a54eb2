"""Stores on a real etcd."""

from collections.abc import Callable
from typing import Any

from cluster.etcd.etcd_settings import EtcdSettings, EtcdTls
from cluster.etcd.etcd_store import EtcdStore
from cluster.ports.runtime import SteadyClock, SystemEntropy


def etcd_store(*endpoints: str, tls_now: Callable[[], EtcdTls] | None = None, **settings: Any) -> EtcdStore:
    """With the real clock; `settings` are those of `EtcdSettings`. Close it."""
    return EtcdStore(EtcdSettings(endpoints, **settings), clock=SteadyClock(), entropy=SystemEntropy(), tls=tls_now)
