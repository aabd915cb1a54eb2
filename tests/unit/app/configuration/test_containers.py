"""What Dockerfile and compose.yaml say fits the code: nothing here starts a container."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from app.configuration.etcd_options import EtcdOptions
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.server_settings import Settings
from tests.architecture.source_tree import REPOSITORY

COMPOSE = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]


def of_command(name: str) -> dict[str, dict[str, str]]:
    """The environments of the services that run this command of Acklog."""
    return {each: service["environment"] for each, service in SERVICES.items() if service.get("command") == [name]}


def test_nodes_know_themselves_and_etcd() -> None:
    nodes = of_command("node")
    assert len(nodes) == 3
    loaded = {name: NODE.load(environment) for name, environment in nodes.items()}
    options = {name: each.make(NodeOptions) for name, each in loaded.items()}
    assert sorted(each.id for each in options.values()) == [1, 2, 3]
    for name, each in options.items():
        assert each.advertise == f"{name}:{each.listen.rpartition(':')[2]}"
        assert str(each.http_address[1]) in SERVICES[name]["healthcheck"]["test"][-1]
        assert [volume.partition(":")[2] for volume in SERVICES[name]["volumes"]] == [each.data_dir]


def test_gateways_are_published_to_this_machine_only() -> None:
    gateways = of_command("gateway")
    assert len(gateways) == 2
    for name, environment in gateways.items():
        settings = GATEWAY.load(environment).make(Settings)
        assert (settings.host, settings.insecure) == ("0.0.0.0", True)
        [published] = SERVICES[name]["ports"]
        assert published.startswith("127.0.0.1:")
        assert published.endswith(f":{settings.port}")


def test_everybody_names_every_member_of_etcd() -> None:
    members = [name for name, service in SERVICES.items() if "command" not in service]
    assert len(members) == 3
    for environment in [*of_command("node").values(), *of_command("gateway").values()]:
        endpoints = EtcdOptions(etcd=environment["ACKLOG_ETCD"]).endpoints()
        assert list(endpoints) == [f"{member}:2379" for member in members]
    for member in members:
        told = SERVICES[member]["environment"]
        assert told["ETCD_NAME"] == member
        assert f"{member}={told['ETCD_INITIAL_ADVERTISE_PEER_URLS']}" in told["ETCD_INITIAL_CLUSTER"]


def test_every_volume_and_image_is_declared() -> None:
    used = {volume.partition(":")[0] for service in SERVICES.values() for volume in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])
    targets = {service["build"]["target"] for service in SERVICES.values()}
    dockerfile = (REPOSITORY / "Dockerfile").read_text()
    assert all(f" AS {target}\n" in dockerfile for target in targets)


def copied() -> list[str]:
    lines = (REPOSITORY / "Dockerfile").read_text().splitlines()
    return [
        source for line in lines if line.startswith("COPY ") and "--from" not in line for source in line.split()[1:-1]
    ]


@pytest.mark.parametrize("source", copied())
def test_what_an_image_copies_is_there_and_let_through(source: str) -> None:
    assert (REPOSITORY / source).exists()
    assert f"!{Path(source).parts[0]}" in (REPOSITORY / ".dockerignore").read_text().splitlines()
