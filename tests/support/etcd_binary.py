"""The etcd that tests start: the one that a variable names, or what `acklog cluster up` would take. What has to be
fetched is kept in pytest's cache directory."""

import os
from pathlib import Path

import pytest

from app.local_cluster.etcd_program import EtcdMissingError, find_etcd

VARIABLE = "TESTS_ETCD"


def etcd_binary(config: pytest.Config) -> Path:
    """Skips where there is no etcd and none can be had; the reason is in the report."""
    named = os.environ.get(VARIABLE)
    pytest_cache = getattr(config, "cache", None)
    cache = Path(os.devnull) / "no cache" if pytest_cache is None else pytest_cache.mkdir("etcd")
    try:
        return find_etcd(cache, named=named)
    except (EtcdMissingError, OSError) as error:
        if named is not None:
            pytest.fail(f"{VARIABLE}: {error}")
        pytest.skip(f"no etcd: install it, or name it in {VARIABLE} ({error})")
