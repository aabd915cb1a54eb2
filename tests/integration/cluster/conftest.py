"""The etcd that the clusters of this folder run."""

from pathlib import Path

import pytest

from tests.support.etcd_binary import etcd_binary


@pytest.fixture(scope="session")
def etcd_program(pytestconfig: pytest.Config) -> Path:
    return etcd_binary(pytestconfig)
