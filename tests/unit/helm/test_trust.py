"""An issuer of tokens, the audit log, pages of other origins, and master keys: who is told of them, and who not."""

from typing import Any

import pytest

from app.configuration.gateway_options import GATEWAY
from app.configuration.jwt_options import JwtOptions
from app.configuration.master_key_options import MasterKeyOptions
from app.configuration.node_options import NODE
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_fields import SettingSources
from tests.support.pod_environment import PodFacts, environment_of
from tests.support.rendered_chart import Chart, Document, one, pod_specs
from tests.unit.helm.matrix import INSECURE, MATRIX

SOURCES: dict[str, SettingSources] = {"node": NODE, "gateway": GATEWAY, "serve": SERVE}
CLUSTER, EMBEDDED = "cluster with an issuer and a master key", "embedded with an issuer and a master key"
POD = PodFacts(name="acklog-node-3", ip="10.1.2.3", labels={"apps.kubernetes.io/pod-index": "3"})
TOLD_TO_CALLED = ("ACKLOG_JWT_", "ACKLOG_AUDIT", "ACKLOG_CORS_", "ACKLOG_ENCRYPT_")


def processes(chart: Chart, values: dict[str, Any]) -> dict[str, tuple[Document, Document]]:
    """(pod, container) by the command."""
    return {
        container["args"][0]: (spec, container)
        for _, spec in pod_specs(chart.documents(values))
        for container in spec["containers"]
        if container["command"] == ["acklog"] and "args" in container
    }


def settings_of(chart: Chart, name: str, command: str, kind: type) -> Any:
    _, container = processes(chart, MATRIX[name])[command]
    return SOURCES[command].load(environment_of(container, POD)).make(kind)


def secret_of(spec: Document, container: Document, path: str) -> tuple[str, str]:
    """The Secret and its key whose content is the file, and that there is no other beside it."""
    directory, _, name = path.rpartition("/")
    [mount] = [each for each in container["volumeMounts"] if each["mountPath"] == directory]
    assert mount["readOnly"] is True
    [secret] = [each["secret"] for each in spec["volumes"] if each["name"] == mount["name"]]
    [item] = secret["items"]
    assert item["path"] == name
    return secret["secretName"], item["key"]


@pytest.mark.parametrize(("name", "command"), [(CLUSTER, "gateway"), (EMBEDDED, "serve")])
def test_who_is_called_knows_the_issuer(chart: Chart, name: str, command: str) -> None:
    options = settings_of(chart, name, command, JwtOptions)
    assert options.jwt_issuer == "https://login.example/realms/shop"
    assert options.audiences == ("acklog", "queues")
    assert options.jwt_keys_url == ("https://keys.example:8443/jwks" if command == "serve" else "")


def test_the_issuers_authorities_come_from_a_secret(chart: Chart) -> None:
    options = settings_of(chart, CLUSTER, "gateway", JwtOptions)
    assert secret_of(*processes(chart, MATRIX[CLUSTER])["gateway"], options.jwt_ca_file) == ("login-ca", "ca.crt")
    assert settings_of(chart, EMBEDDED, "serve", JwtOptions).jwt_ca_file == ""


def test_what_is_recorded_and_which_pages_may_call(chart: Chart) -> None:
    clustered, alone = settings_of(chart, CLUSTER, "gateway", Settings), settings_of(chart, EMBEDDED, "serve", Settings)
    assert (clustered.audit, alone.audit) == ("required", "off")
    assert clustered.cors_origins == "https://shop.example,http://localhost:3000"
    assert alone.cors_origins == "*"
    assert (clustered.encrypt_topics, alone.encrypt_topics) == (True, False)


@pytest.mark.parametrize(
    ("name", "command", "key", "before"),
    [
        (CLUSTER, "node", ("master", "master.key"), ("master-before", "master.key")),
        (EMBEDDED, "serve", ("master", "of-2031"), None),
    ],
)
def test_who_stores_has_the_master_keys(
    chart: Chart, name: str, command: str, key: tuple[str, str], before: tuple[str, str] | None
) -> None:
    spec, container = processes(chart, MATRIX[name])[command]
    options = settings_of(chart, name, command, MasterKeyOptions)
    assert secret_of(spec, container, options.master_key_file) == key
    if before is None:
        assert options.previous_master_key_file == ""
    else:
        assert secret_of(spec, container, options.previous_master_key_file) == before


def test_gateways_have_no_master_key_and_nodes_know_nothing_of_callers(chart: Chart) -> None:
    found = processes(chart, MATRIX[CLUSTER])
    gateway, container = found["gateway"]
    assert [each for each in environment_of(container, POD) if "MASTER_KEY" in each] == []
    assert [each["name"] for each in gateway["volumes"] if "master" in each["name"]] == []
    node, container = found["node"]
    assert [each for each in environment_of(container, POD) if each.startswith(TOLD_TO_CALLED)] == []
    assert [each["name"] for each in node["volumes"] if each["name"] in {"issuer", "tokens"}] == []


def test_without_values_nobody_is_told_anything(chart: Chart) -> None:
    for spec, container in processes(chart, INSECURE).values():
        environment = environment_of(container, POD)
        assert [each for each in environment if "MASTER" in each or each.startswith(TOLD_TO_CALLED)] == []
        assert {"issuer", "master-key", "previous-master-key"}.isdisjoint(each["name"] for each in spec["volumes"])


@pytest.mark.parametrize(
    ("name", "called", "ports"), [(CLUSTER, "gateway", {443}), (EMBEDDED, "embedded", {443, 8443})]
)
def test_the_issuer_may_be_called_by_who_asks_it(chart: Chart, name: str, called: str, ports: set[int]) -> None:
    documents = chart.documents(MATRIX[name])
    policies = {each["metadata"]["name"]: each for each in documents if each["kind"] == "NetworkPolicy"}
    open_to_all = [each for each in policies[f"acklog-{called}"]["spec"]["egress"] if "to" not in each]
    assert {port["port"] for each in open_to_all for port in each["ports"]} == {53, *ports}
    if called == "gateway":
        of_nodes = [each for each in policies["acklog-node"]["spec"]["egress"] if "to" not in each]
        assert {port["port"] for each in of_nodes for port in each["ports"]} == {53}
    one(chart.documents(MATRIX["embedded with everything"]), "NetworkPolicy")
