"""What Dockerfile and the compose files say fits the code: nothing here starts a container."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser

from app.configuration.etcd_options import EtcdOptions
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.server_settings import Settings
from app.configuration.setting_error import SettingsError
from app.configuration.tls_options import PeerOptions
from app.processes.exposure import check_node_exposure
from app.processes.process_constants import GRACE_SECONDS
from tests.architecture.source_tree import REPOSITORY

COMPOSE_FILES = ("compose.yaml", "compose.etcd-tls.yaml")
COMPOSE = yaml.safe_load((REPOSITORY / "compose.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
PEM = b"-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n"


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
        assert [volume.partition(":")[2] for volume in SERVICES[name]["volumes"]] == [each.data_dir]


def test_nodes_say_that_their_network_is_nobody_elses() -> None:
    for environment in of_command("node").values():
        loaded = NODE.load(environment)
        check_node_exposure(loaded.make(NodeOptions), loaded.make(PeerOptions))
        unsaid = {name: value for name, value in environment.items() if name != "ACKLOG_INSECURE"}
        with pytest.raises(SettingsError, match="reachable from other machines"):
            check_node_exposure(NODE.load(unsaid).make(NodeOptions), PeerOptions())


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


@pytest.mark.parametrize("name", COMPOSE_FILES)
def test_a_compose_file_is_one(name: str) -> None:
    """By the specification's own terms: a name that it does not know is refused."""
    document = yaml.safe_load((REPOSITORY / name).read_text())
    PyCompose.from_yaml(yaml.safe_dump(document)).validate()


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_confined_watched_and_waited_for(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["healthcheck"]["test"][0] == "CMD"
    for each, told in service.get("depends_on", {}).items():
        assert told == {"condition": "service_healthy"}
        assert "healthcheck" in SERVICES[each]


@pytest.mark.parametrize("name", [*of_command("node"), *of_command("gateway")])
def test_a_container_has_the_time_that_a_stop_takes_at_most(name: str) -> None:
    leave_seconds = NodeOptions(id=1).leave_timeout_ms / 1000
    assert int(SERVICES[name]["stop_grace_period"].removesuffix("s")) > leave_seconds + GRACE_SECONDS


def test_with_the_second_file_everybody_speaks_tls_to_etcd() -> None:
    services = yaml.safe_load((REPOSITORY / "compose.etcd-tls.yaml").read_text())["services"]
    assert set(services) == set(SERVICES)
    for name, service in services.items():
        told = {**SERVICES[name]["environment"], **service["environment"]}
        if "ETCD_NAME" in told:
            urls = {variable: told[variable] for variable in told if variable.endswith("_URLS")}
            in_the_clear = {variable for variable, url in urls.items() if not url.startswith("https://")}
            assert in_the_clear == {"ETCD_LISTEN_METRICS_URLS"}
            assert "http://" not in told["ETCD_INITIAL_CLUSTER"]
        else:
            sources = NODE if SERVICES[name]["command"] == ["node"] else GATEWAY
            settings = sources.load(told).make(EtcdOptions).settings(lambda path: PEM)
            assert settings.tls is not None
            assert all(url.startswith("https://") for url in told["ACKLOG_ETCD"].split(","))


# --- the image -------------------------------------------------------------------------------------------------------


def instructions() -> list[tuple[str, str]]:
    parser = DockerfileParser(fileobj=io.BytesIO((REPOSITORY / "Dockerfile").read_bytes()))
    return [(each["instruction"], each["value"]) for each in parser.structure if each["instruction"] != "COMMENT"]


def of_the_last_stage() -> dict[str, str]:
    """What the image says of itself, by instruction; of several the last."""
    every = instructions()
    last = max(number for number, (instruction, _) in enumerate(every) if instruction == "FROM")
    return dict(every[last:])


def copied() -> list[str]:
    copies = [value for instruction, value in instructions() if instruction == "COPY" and "--from" not in value]
    return [source for value in copies for source in value.split()[:-1]]


@pytest.mark.parametrize("source", copied())
def test_what_an_image_copies_is_there_and_let_through(source: str) -> None:
    assert (REPOSITORY / source).exists()
    assert f"!{Path(source).parts[0]}" in (REPOSITORY / ".dockerignore").read_text().splitlines()


def test_bases_are_of_exact_versions() -> None:
    arguments = dict(value.split("=", 1) for instruction, value in instructions() if instruction == "ARG")
    bases = [value.split()[0] for instruction, value in instructions() if instruction == "FROM"]
    for base in bases:
        _, _, version = arguments[base.removeprefix("${").removesuffix("}")].partition(":")
        assert version.split("-")[0].count(".") >= 1, base


def test_the_image_runs_as_nobody_in_particular_and_is_stopped_and_asked_in_order() -> None:
    image = of_the_last_stage()
    user, _, group = image["USER"].partition(":")
    assert user.isdigit()
    assert group.isdigit()
    assert int(user) > 0
    assert image["VOLUME"] == image["WORKDIR"] == "/var/lib/acklog"
    assert image["STOPSIGNAL"] == "SIGTERM"
    assert json.loads(image["ENTRYPOINT"]) == ["acklog"]
    options, _, command = image["HEALTHCHECK"].partition(" CMD ")
    assert json.loads(command) == ["acklog", "health"]
    assert "--start-period=" in options
    assert {str(Settings().port), "7000", str(NodeOptions(id=1).http_address[1])} == set(image["EXPOSE"].split())
    labels = ("title", "description", "licenses", "version", "revision", "created")
    assert all(f"org.opencontainers.image.{label}=" in image["LABEL"] for label in labels)
