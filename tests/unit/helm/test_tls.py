"""With certificates in a Secret: who has which of them, who is asked by https, and who is believed."""

import ast
from pathlib import PurePosixPath
from typing import Any

import pytest

from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.server_settings import SERVE
from app.configuration.setting_error import SettingsError
from app.configuration.setting_fields import SettingSources
from app.configuration.tls_options import PeerOptions, TlsOptions, completed, completed_peers
from app.processes.exposure import check_node_exposure
from cluster.tls.peer_tls import TlsUse
from tests.support.pod_environment import PodFacts, environment_of
from tests.support.rendered_chart import NAMESPACE, RELEASE, Chart, Document, containers, one, pod_specs
from tests.unit.helm.matrix import INSECURE, MATRIX, TLS, TLS_OF_EACH

SOURCES: dict[str, SettingSources] = {"node": NODE, "gateway": GATEWAY, "serve": SERVE}
BY_TLS = [name for name, values in MATRIX.items() if "tls" in values]
NODE_3 = PodFacts(
    name="acklog-node-3",
    ip="10.1.2.3",
    labels={"apps.kubernetes.io/pod-index": "3"},
    secrets={("test-token", "token"): "secret"},
)

every_values = pytest.mark.parametrize("name", BY_TLS)


def server_of(name: str) -> str:
    """The process that clients call, as its files are called."""
    return "server" if MATRIX[name].get("mode") == "embedded" else "gateway"


def processes(chart: Chart, values: dict[str, Any]) -> dict[str, tuple[Document, Document]]:
    """(pod, container) by the command, of those that are Acklog's and run for good."""
    return {
        container["args"][0]: (spec, container)
        for _, spec in pod_specs(chart.documents(values))
        for container in spec["containers"]
        if container["command"] == ["acklog"] and "args" in container
    }


def mounted(spec: Document, container: Document, path: str) -> dict[str, tuple[str, str]] | None:
    """Secret and key of each file that lies where `path` is; None: all that one Secret has, as it calls them."""
    [mount] = [each for each in container["volumeMounts"] if each["mountPath"] == str(PurePosixPath(path).parent)]
    assert mount["readOnly"] is True
    [volume] = [each for each in spec["volumes"] if each["name"] == mount["name"]]
    if "projected" in volume:
        sources = [each["secret"] for each in volume["projected"]["sources"]]
        found = [(item["path"], (each["name"], item["key"])) for each in sources for item in each["items"]]
        assert len(dict(found)) == len(found), "two files of one name"
        return dict(found)
    secret = volume["secret"]
    if "items" not in secret:
        assert secret["secretName"] == TLS["existingSecret"]
        return None
    return {item["path"]: (secret["secretName"], item["key"]) for item in secret["items"]}


def source_of(values: dict[str, Any], file: str, process: str) -> tuple[str, str]:
    """Where a file comes from: the one Secret, as it is called there, or cert-manager's of the process."""
    if "existingSecret" in values["tls"]:
        return TLS["existingSecret"], file
    key = {"ca.pem": "ca.crt", f"{process}.pem": "tls.crt", f"{process}-key.pem": "tls.key"}[file]
    return f"{TLS_OF_EACH['secretPrefix']}-{process}", key


@every_values
def test_each_process_has_its_own_files_where_it_looks_for_them(chart: Chart, name: str) -> None:
    found = processes(chart, MATRIX[name])
    for command, (spec, container) in found.items():
        loaded = SOURCES[command].load(environment_of(container, NODE_3))
        stem = {"node": "node-3", "gateway": "gateway", "serve": "server"}[command]
        tls = completed(loaded.make(TlsOptions), stem)
        files = mounted(spec, container, tls.tls_certificate_file)
        wanted = {tls.tls_certificate_file, tls.tls_key_file}
        if command != "serve":
            peers = completed_peers(loaded.make(PeerOptions), tls, stem)
            wanted |= {peers.peer_certificate_file, peers.peer_key_file, peers.peer_ca_file}
        names = {PurePosixPath(path).name for path in wanted} | {"ca.pem"}
        if command != "node":
            assert files == {each: source_of(MATRIX[name], each, stem) for each in names}
        elif files is not None:  # those of all nodes, as their pods are made alike
            assert files.keys() >= names
            assert files["node-3-key.pem"] == source_of(MATRIX[name], "node-3-key.pem", "node-3")


def test_more_nodes_do_not_change_the_pods_of_those_that_there_are(chart: Chart) -> None:
    def volumes(replicas: int) -> Any:
        values = {**INSECURE, "tls": TLS_OF_EACH, "nodes": {"replicas": replicas}}
        return one(chart.documents(values), "StatefulSet", "acklog-node")["spec"]["template"]["spec"]["volumes"]

    def needed(found: Any) -> dict[str, bool]:
        [pki] = [each["projected"] for each in found if each["name"] == "pki"]
        return {each["secret"]["name"]: not each["secret"]["optional"] for each in pki["sources"]}

    assert volumes(1) == volumes(10) != volumes(11) == volumes(20)
    every = needed(volumes(3))
    assert list(every) == [f"{TLS_OF_EACH['secretPrefix']}-node-{number}" for number in range(1, 11)]
    assert [secret for secret, is_needed in every.items() if is_needed] == ["acklog-tls-node-1"], "there is no other"


def test_without_a_secret_there_is_no_tls_and_nodes_say_so(chart: Chart) -> None:
    for command, (spec, container) in processes(chart, INSECURE).items():
        environment = environment_of(container, NODE_3)
        assert [each for each in environment if "TLS" in each or "PKI" in each] == []
        assert [each["name"] for each in spec["volumes"] if each["name"] == "pki"] == []
        if command == "node":
            assert environment["ACKLOG_INSECURE"] == "true"


@pytest.mark.parametrize(
    ("name", "use", "accepts_clear"),
    [
        ("cluster by TLS", TlsUse.REQUIRE, False),
        ("cluster on its way to TLS", TlsUse.ACCEPT, True),
        ("cluster that dials by TLS", TlsUse.PREFER, False),
    ],
)
def test_what_is_spoken_by_the_step_that_a_release_is_at(
    chart: Chart, name: str, use: TlsUse, accepts_clear: bool
) -> None:
    found = processes(chart, MATRIX[name])
    for command, (_, container) in found.items():
        loaded = SOURCES[command].load(environment_of(container, NODE_3))
        assert loaded.make(PeerOptions).use is use
        assert loaded.make(TlsOptions).tls_accept_clear is accepts_clear
    environment = environment_of(found["node"][1], NODE_3)
    assert ("ACKLOG_INSECURE" in environment) is use.takes_clear
    unsaid = {variable: value for variable, value in environment.items() if variable != "ACKLOG_INSECURE"}
    loaded = NODE.load(unsaid)
    if use.takes_clear:
        with pytest.raises(SettingsError):
            check_node_exposure(loaded.make(NodeOptions), loaded.make(PeerOptions))
    else:
        check_node_exposure(loaded.make(NodeOptions), loaded.make(PeerOptions))


@pytest.mark.parametrize("name", MATRIX)
def test_probes_and_hooks_ask_by_what_is_spoken(chart: Chart, name: str) -> None:
    for _, container in processes(chart, MATRIX[name]).values():
        handlers = [container[each] for each in container if each.endswith("Probe")]
        handlers += container.get("lifecycle", {}).values()
        schemes = {each["httpGet"].get("scheme", "HTTP") for each in handlers if "httpGet" in each}
        assert schemes == {"HTTPS" if "tls" in MATRIX[name] else "HTTP"}


@every_values
def test_prometheus_asks_by_https_and_for_one_name(chart: Chart, name: str) -> None:
    """That of the Service, which all certificates have beside others: pods are asked at addresses that come and go."""
    documents = chart.documents(MATRIX[name])
    fullname = MATRIX[name].get("fullnameOverride", RELEASE)
    secret, key = source_of(MATRIX[name], "ca.pem", server_of(name))
    one(documents, "Service", fullname)
    monitors = [each for each in documents if each["kind"] == "ServiceMonitor"]
    for endpoint in (each for monitor in monitors for each in monitor["spec"]["endpoints"]):
        assert endpoint["scheme"] == "https"
        assert endpoint["tlsConfig"] == {
            "ca": {"secret": {"name": secret, "key": key}},
            "serverName": fullname,
        }


def test_in_clear_prometheus_is_told_nothing_of_tls(chart: Chart) -> None:
    for each in chart.documents(MATRIX["embedded with everything"]):
        if each["kind"] == "ServiceMonitor":
            assert {"scheme", "tlsConfig"}.isdisjoint(each["spec"]["endpoints"][0])


@every_values
def test_the_test_believes_the_authority_and_has_no_key(chart: Chart, name: str) -> None:
    documents = chart.documents(MATRIX[name])
    spec = one(documents, "Pod")["spec"]
    service = one(documents, "Service", MATRIX[name].get("fullnameOverride", RELEASE))
    for container in containers(spec):
        environment = environment_of(container, NODE_3)
        assert environment["ACKLOG_URL"] == f"https://{service['metadata']['name']}:8080"
        authority = source_of(MATRIX[name], "ca.pem", server_of(name))
        assert mounted(spec, container, environment["ACKLOG_CA_FILE"]) == {"ca.pem": authority}
    [python] = [each["command"] for each in containers(spec) if each["command"][0] == "python"]
    assert f"cafile='{environment['ACKLOG_CA_FILE']}'" in python[-1]
    ast.parse(python[-1])


def test_services_say_that_it_is_https_unless_http_is_taken_too(chart: Chart) -> None:
    def protocol(name: str, service: str) -> str | None:
        [port] = one(chart.documents(MATRIX[name]), "Service", service)["spec"]["ports"]
        found: str | None = port.get("appProtocol")
        return found

    assert protocol("cluster by TLS", "acklog") == "https"
    assert protocol("embedded by TLS", "acklog") == protocol("embedded by TLS", "acklog-embedded") == "https"
    assert protocol("cluster on its way to TLS", "queue") is None
    assert protocol("cluster", "acklog") is None


def test_notes_say_how_to_call_it_and_what_is_open(chart: Chart) -> None:
    clear, tls = chart.notes(INSECURE), chart.notes(MATRIX["cluster by TLS"])
    assert "only the NetworkPolicy guards them" in clear
    assert "nothing guards them" in chart.notes({**INSECURE, "networkPolicy": {"enabled": False}})
    assert f"https://{RELEASE}.{NAMESPACE}:8080" in tls
    assert "get secret acklog-pki --output jsonpath='{.data.ca\\.pem}'" in tls
    of_each = chart.notes(MATRIX["embedded by TLS with a secret of its own"])
    assert "get secret acklog-tls-server --output jsonpath='{.data.ca\\.crt}'" in of_each
    assert "speaks in clear" not in tls
    on_its_way = chart.notes(MATRIX["cluster on its way to TLS"])
    assert "only the NetworkPolicy guards them" in on_its_way
    assert "http beside https" in on_its_way
