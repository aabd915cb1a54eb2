"""Whatever values: what the chart renders is valid, and what somebody who lets others' pods in asks of them."""

import json
from functools import cache
from typing import Any

import jsonschema
import pytest
import yaml
from kubernetes_validate import utils as schemas
from referencing import Registry, Resource

from docs.alerts_table import RULES
from docs.dashboards import dashboard_files
from tests.support.rendered_chart import NAMESPACE, Chart, Document, containers, one, pod_specs
from tests.unit.helm.matrix import INSECURE, MATRIX

OLDEST, NEWEST = "1.31", "1.37"
"""Of Kubernetes: the oldest one that Chart.yaml allows, and the newest one whose schemas there are."""
OF_OTHERS = {
    "ServiceMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
}
"""Kinds that Kubernetes itself does not have. Their fields are looked at below, one by one."""

every_values = pytest.mark.parametrize("name", MATRIX)


@cache
def _validator(kubernetes: str, kind: str, api_version: str) -> Any:
    version = next(each for each in schemas.all_versions() if each.startswith(f"{kubernetes}."))
    group, _, number = api_version.rpartition("/")
    file = f"{kind.lower()}-{group.partition('.')[0]}-{number}" if group else f"{kind.lower()}-{number}"
    directory = f"kubernetes-json-schema/v{version}-local-strict"
    schema = schemas.schema_contents(f"{directory}/{file}.json", version)
    return jsonschema.validators.Draft202012Validator(schema, registry=_registry(directory, version))


@cache
def _registry(directory: str, version: str) -> Any:
    definitions = schemas.schema_contents(f"{directory}/_definitions.json", version)
    return Registry().with_resource("_definitions.json", Resource.from_contents(definitions)).crawl()


@cache
def _faults_of(text: str, kubernetes: str) -> tuple[str, ...]:
    """Most of what is rendered is the same for several values."""
    document = json.loads(text)
    validator = _validator(kubernetes, document["kind"], document["apiVersion"])
    return tuple(f"{each.json_path}: {each.message}" for each in validator.iter_errors(document))


def faults(document: Document, kubernetes: str) -> list[str]:
    return list(_faults_of(json.dumps(document, sort_keys=True), kubernetes))


@pytest.mark.parametrize(
    "name", ["cluster", "cluster with an etcd by TLS", "cluster by TLS", "embedded with everything", "embedded by TLS"]
)
def test_helm_finds_nothing_wrong(chart: Chart, name: str) -> None:
    chart.lint(MATRIX[name])


@every_values
def test_every_manifest_is_valid(chart: Chart, name: str) -> None:
    for document in chart.documents(MATRIX[name]):
        if OF_OTHERS.get(document["kind"]) == document["apiVersion"]:
            continue
        for kubernetes in (OLDEST, NEWEST):
            assert faults(document, kubernetes) == [], (document["kind"], document["metadata"]["name"], kubernetes)


def test_what_is_not_valid_is_found(chart: Chart) -> None:
    broken = json.loads(json.dumps(one(chart.documents(INSECURE), "StatefulSet", "acklog-node")))
    broken["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    broken["spec"]["replicas"] = "three"
    assert len(faults(broken, NEWEST)) == 2


def test_the_oldest_kubernetes_is_the_one_that_is_checked(chart: Chart) -> None:
    assert chart.documents(INSECURE, kubernetes=f"v{OLDEST}.0")
    assert NEWEST in {each.rpartition(".")[0] for each in schemas.all_versions()}


@every_values
def test_names_are_unique_and_short(chart: Chart, name: str) -> None:
    documents = chart.documents(MATRIX[name])
    names = [(each["kind"], each["metadata"]["name"]) for each in documents]
    assert len(set(names)) == len(names)
    assert [each for each in names if len(each[1]) > 52] == [], "a StatefulSet's pods have longer names"


@every_values
def test_every_document_says_whose_it_is(chart: Chart, name: str) -> None:
    for document in chart.documents(MATRIX[name]):
        labels = document["metadata"]["labels"]
        assert labels["app.kubernetes.io/instance"] == "acklog", document["metadata"]["name"]
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert MATRIX[name].get("commonLabels", {}).items() <= labels.items()


@every_values
def test_images_have_a_version(chart: Chart, name: str) -> None:
    for workload, spec in pod_specs(chart.documents(MATRIX[name])):
        for container in containers(spec):
            _, _, tag = container["image"].rpartition("/")[2].partition(":")
            assert tag not in {"", "latest"}, workload


@every_values
def test_every_container_has_requests_and_limits(chart: Chart, name: str) -> None:
    for workload, spec in pod_specs(chart.documents(MATRIX[name])):
        for container in containers(spec):
            for kind in ("requests", "limits"):
                assert {"cpu", "memory"} <= container["resources"][kind].keys(), (workload, kind)
        for volume in spec.get("volumes", ()):
            assert "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""}), (workload, volume["name"])


@every_values
def test_pods_keep_to_the_restricted_profile(chart: Chart, name: str) -> None:
    """Of the Pod Security Standards, and a root file system that is only read."""
    for workload, spec in pod_specs(chart.documents(MATRIX[name])):
        pod = spec["securityContext"]
        assert pod["runAsNonRoot"] is True, workload
        assert pod["runAsUser"] > 0
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        assert spec["enableServiceLinks"] is False
        assert not spec.get("hostNetwork")
        for container in containers(spec):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }, workload
        kinds = {kind for volume in spec.get("volumes", ()) for kind in volume if kind != "name"}
        assert kinds <= {"emptyDir", "secret", "projected"}, workload


@every_values
def test_what_is_mounted_is_there(chart: Chart, name: str) -> None:
    documents = chart.documents(MATRIX[name])
    templates = {
        f"{each['kind']}/{each['metadata']['name']}": each["spec"].get("volumeClaimTemplates", ())
        for each in documents
        if "spec" in each
    }
    for workload, spec in pod_specs(documents):
        volumes = {each["name"] for each in spec.get("volumes", ())}
        volumes |= {each["metadata"]["name"] for each in templates[workload]}
        mounted = [each["name"] for container in containers(spec) for each in container.get("volumeMounts", ())]
        assert set(mounted) == volumes, workload


@every_values
def test_selectors_choose_the_pods_of_one_kind(chart: Chart, name: str) -> None:
    documents = chart.documents(MATRIX[name])
    workloads = {each["metadata"]["name"]: each for each in documents if each["kind"] in {"StatefulSet", "Deployment"}}
    for workload in workloads.values():
        labels = workload["spec"]["template"]["metadata"]["labels"]
        assert workload["spec"]["selector"]["matchLabels"].items() <= labels.items()
        assert "app.kubernetes.io/version" not in labels, "a new chart alone would restart everything"
    for document in documents:
        selector = _selector_of(document)
        if selector is not None:
            chosen = [
                each
                for each in workloads.values()
                if selector.items() <= each["spec"]["template"]["metadata"]["labels"].items()
            ]
            assert len(chosen) == 1, (document["kind"], document["metadata"]["name"])


def _selector_of(document: Document) -> dict[str, str] | None:
    match document["kind"]:
        case "Service":
            return dict(document["spec"]["selector"])
        case "PodDisruptionBudget":
            return dict(document["spec"]["selector"]["matchLabels"])
        case "NetworkPolicy":
            return dict(document["spec"]["podSelector"]["matchLabels"])
    return None


@every_values
def test_ports_that_are_named_are_there(chart: Chart, name: str) -> None:
    documents = chart.documents(MATRIX[name])
    for workload, spec in pod_specs(documents):
        for container in containers(spec):
            named = {each["name"] for each in container.get("ports", ())}
            probes = [container[each] for each in container if each.endswith("Probe")]
            handlers = [*probes, *container.get("lifecycle", {}).values()]
            for handler in handlers:
                asked = [handler[kind]["port"] for kind in ("httpGet", "tcpSocket") if kind in handler]
                assert named.issuperset(asked), workload
    for document in documents:
        if document["kind"] == "Service":
            selector = document["spec"]["selector"]
            [spec] = [
                each["spec"]["template"]
                for each in documents
                if each["kind"] in {"StatefulSet", "Deployment"}
                and selector.items() <= each["spec"]["template"]["metadata"]["labels"].items()
            ]
            named = {port["name"] for each in containers(spec["spec"]) for port in each["ports"]}
            assert {each["targetPort"] for each in document["spec"]["ports"]} <= named


def test_nodes_and_etcd_are_reached_by_their_own_only(chart: Chart) -> None:
    documents = chart.documents(INSECURE)
    node = one(documents, "NetworkPolicy", "acklog-node")["spec"]["ingress"]
    [rpc] = [each for each in node if each["ports"] == [{"port": "node"}]]
    assert _components(rpc) == {"node", "gateway"}
    etcd = one(documents, "NetworkPolicy", "acklog-etcd")["spec"]["ingress"]
    assert [_components(each) for each in etcd] == [{"node", "gateway"}, {"etcd"}]


def _components(rule: Document) -> set[str]:
    return {each["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for each in rule["from"]}


def test_egress_goes_to_the_ports_of_etcd(chart: Chart) -> None:
    policy = one(chart.documents(MATRIX["cluster with an etcd by TLS"]), "NetworkPolicy", "acklog-node")
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    ports = [[port["port"] for port in rule["ports"]] for rule in policy["spec"]["egress"]]
    assert ports == [[53, 53], [7000], [2379, 12379]]


def test_a_policy_for_clients_lets_the_test_in(chart: Chart) -> None:
    policy = one(chart.documents(MATRIX["cluster behind an ingress"]), "NetworkPolicy", "acklog-gateway")
    [rule] = policy["spec"]["ingress"]
    test = one(chart.documents(MATRIX["cluster behind an ingress"]), "Pod")["metadata"]["labels"]
    selectors = [each["podSelector"]["matchLabels"] for each in rule["from"] if "podSelector" in each]
    assert any(each.items() <= test.items() for each in selectors)
    assert {"namespaceSelector": {"matchLabels": {"name": "ingress"}}} in rule["from"]


def test_prometheus_finds_what_answers_metrics(chart: Chart) -> None:
    for name, expected in (
        ("cluster with tokens of the values", {"acklog-node": False, "acklog-gateway": True}),
        ("embedded with everything", {"acklog-embedded": True}),
    ):
        documents = chart.documents(MATRIX[name])
        monitors = {each["metadata"]["name"]: each for each in documents if each["kind"] == "ServiceMonitor"}
        assert monitors.keys() == expected.keys()
        for monitor_name, has_token in expected.items():
            spec = monitors[monitor_name]["spec"]
            assert spec["namespaceSelector"] == {"matchNames": [NAMESPACE]}
            [endpoint] = spec["endpoints"]
            assert (endpoint["port"], endpoint["path"]) == ("http", "/metrics")
            assert ("authorization" in endpoint) is has_token, "nodes ask for none"
            assert len(_services_of(documents, spec["selector"])) == 1, "or all would be scraped twice"


def test_rules_and_dashboards_are_those_of_the_repository(chart: Chart) -> None:
    """Their braces are Prometheus' and Grafana's, and none of helm's business."""
    documents = chart.documents(MATRIX["cluster with an etcd by TLS"])
    rule = one(documents, "PrometheusRule")
    assert rule["spec"] == yaml.safe_load(RULES.read_text())
    assert rule["metadata"]["labels"]["release"] == "prometheus"
    found = {
        f"helm/acklog/files/dashboards/{name.removeprefix('acklog-')}": content
        for document in documents
        if document["kind"] == "ConfigMap" and document["metadata"]["labels"].get("grafana_dashboard") == "1"
        for name, content in document["data"].items()
    }
    assert {name: json.loads(content) for name, content in found.items()} == {
        name: json.loads(content) for name, content in dashboard_files().items()
    }


def _services_of(documents: list[Document], selector: Document) -> list[str]:
    absent = {each["key"] for each in selector.get("matchExpressions", ()) if each["operator"] == "DoesNotExist"}
    return [
        each["metadata"]["name"]
        for each in documents
        if each["kind"] == "Service"
        and selector["matchLabels"].items() <= each["metadata"]["labels"].items()
        and absent.isdisjoint(each["metadata"]["labels"])
    ]


def test_a_route_leads_to_the_gateways(chart: Chart) -> None:
    documents = chart.documents(MATRIX["cluster behind a gateway"])
    spec = one(documents, "HTTPRoute")["spec"]
    assert spec["parentRefs"] == [{"name": "public", "namespace": "gateways"}]
    assert spec["hostnames"] == ["queue.example"]
    [rule] = spec["rules"]
    assert rule["timeouts"] == {"request": "0s"}, "long polls take as long as they take"
    [backend] = rule["backendRefs"]
    service = one(documents, "Service", backend["name"])
    assert backend["port"] in [each["port"] for each in service["spec"]["ports"]]


def test_an_ingress_leads_to_the_gateways(chart: Chart) -> None:
    documents = chart.documents(MATRIX["cluster behind an ingress"])
    rules = one(documents, "Ingress")["spec"]["rules"]
    assert [each["host"] for each in rules] == ["queue.example", "*.queues.example"]
    backends = {path["backend"]["service"]["name"] for rule in rules for path in rule["http"]["paths"]}
    assert backends == {one(documents, "Service", "acklog")["metadata"]["name"]}
    [anybody] = one(chart.documents(MATRIX["embedded with everything"]), "Ingress")["spec"]["rules"]
    assert "host" not in anybody
