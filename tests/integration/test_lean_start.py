"""What an embedded server has loaded once it serves: nothing that nobody has asked it for."""

import re

import pytest

from tests.integration.conftest import ServerMaker
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.integration

_IMPORTED = re.compile(r"^import time: +[0-9]+ \| +[0-9]+ \| +(\S+)$", re.MULTILINE)
UNUSED = (
    "acklog.client",
    "acklog.command.program",
    "acklog_spark",
    "aiohttp",
    "app.http.api",
    "app.http.description.operations",
    "app.pki",
    "cluster.etcd.client",
    "cryptography",
    "fastapi",
    "google.protobuf",
    "grpc",
    "jwt",
    "opentelemetry",
    "pyarrow",
    "pydantic",
    "rich.console",
    "sqlalchemy",
    "tomllib",
    "typer",
)


def loaded(server: ServerProcess) -> set[str]:
    """Every module that the process has imported, in Python's own words."""
    return set(_IMPORTED.findall(server.output()))


def of(names: tuple[str, ...], modules: set[str]) -> list[str]:
    return sorted(name for name in names if any(each == name or each.startswith(f"{name}.") for each in modules))


def test_a_server_has_loaded_what_every_server_needs(make_server: ServerMaker) -> None:
    """Each of these is a twentieth of a start and more, in time, and many in memory."""
    with make_server(environment={"PYTHONPROFILEIMPORTTIME": "1"}) as server:
        server.send("orders", {"order": 1})
        [message] = server.receive("orders")
        assert server.ack(message["receipt"]).status == 200
        assert server.request("GET", "/metrics").status == 200
        assert server.request("HEAD", "/healthz").status == 200
        assert of(UNUSED, loaded(server)) == []
        assert "app.processes.server" in loaded(server)
        assert server.request("GET", "/topics").document["topics"][0]["name"] == "orders"
        assert {"app.http.api", "fastapi", "pydantic"} <= set(of(UNUSED, loaded(server)))
