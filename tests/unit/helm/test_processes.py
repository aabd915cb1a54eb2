"""What the chart has containers run is what the commands know, by their own parsers; and how they are looked after."""

import subprocess
from typing import Any

import pytest

from acklog.command.tree import build_tree
from app.configuration.environment_variables import unknown_variables
from app.configuration.etcd_options import EtcdOptions
from app.configuration.gateway_options import GATEWAY
from app.configuration.node_options import NODE, NodeOptions
from app.configuration.node_settings import load_node_settings, node_variables
from app.configuration.server_settings import SERVE, Settings
from app.configuration.setting_fields import SettingSources
from app.configuration.tls_options import PeerOptions
from app.processes.exposure import check_exposure, check_node_exposure
from app.processes.process_constants import GRACE_SECONDS
from tests.support.etcd_binary import etcd_binary
from tests.support.pod_environment import PodFacts, environment_of, expanded
from tests.support.rendered_chart import NAMESPACE, RELEASE, Chart, Document, containers, one, pod_specs
from tests.unit.helm.matrix import INSECURE, MATRIX

COMMANDS: dict[str, SettingSources] = {"node": NODE, "gateway": GATEWAY, "serve": SERVE}
DIGEST = f"sha256:{'ab' * 32}"
IPS = {"IPv4": "10.1.2.3", "IPv6": "fd00::1:2:3"}

every_values = pytest.mark.parametrize("name", MATRIX)


def facts(name: str, pod: str = "acklog-node-3") -> PodFacts:
    return PodFacts(
        name=pod,
        ip=IPS[MATRIX[name].get("ipFamily", "IPv4")],
        labels={"apps.kubernetes.io/pod-index": pod.rpartition("-")[2], "topology.kubernetes.io/zone": "zone-b"},
        secrets={("test-token", "token"): "secret"},
    )


def processes(chart: Chart, name: str) -> list[tuple[str, Document]]:
    """(command, container) of those that run for good."""
    found = []
    for _, spec in pod_specs(chart.documents(MATRIX[name])):
        for container in containers(spec):
            if container["command"] == ["acklog"]:
                [command] = container["args"]
                found.append((command, container))
    return found


@every_values
def test_settings_are_ones_that_the_commands_know(chart: Chart, name: str) -> None:
    found = processes(chart, name)
    assert {command for command, _ in found} == ({"serve"} if name.startswith("embedded") else {"node", "gateway"})
    for command, container in found:
        environment = environment_of(container, facts(name))
        sources = COMMANDS[command]
        loaded = sources.load(environment)
        for kind in sources.kinds:
            loaded.make(kind)
        known = [*sources.variables(), *(node_variables() if command != "gateway" else ())]
        assert unknown_variables(environment, known) == []
        others = {each for each in environment if not each.startswith("ACKLOG_")}
        assert others <= {"POD_NAME", "POD_IP", "TMPDIR"}
        if command != "gateway":
            load_node_settings(environment)
        if command != "node":
            check_exposure(loaded.make(Settings))
        else:
            check_node_exposure(loaded.make(NodeOptions), loaded.make(PeerOptions))


def test_a_setting_that_is_none_is_found(chart: Chart) -> None:
    container = one(chart.documents(INSECURE), "StatefulSet", "acklog-node")["spec"]["template"]["spec"]["containers"][
        0
    ]
    environment = environment_of(container, facts("cluster")) | {"ACKLOG_LISTN": "x"}
    assert [each.name for each in unknown_variables(environment, NODE.variables())] == ["ACKLOG_LISTN"]


def test_large_numbers_stay_whole(chart: Chart) -> None:
    """helm reads all numbers of values as fractions, and writes large ones as powers of ten."""
    values = {**INSECURE, "nodes": {"environment": {"ACKLOG_NODE_READ_BYTES_MAX": 1 << 30, "RATIO": 0.25}}}
    [container] = one(chart.documents(values), "StatefulSet", "acklog-node")["spec"]["template"]["spec"]["containers"]
    environment = environment_of(container, facts("cluster"))
    assert (environment["ACKLOG_NODE_READ_BYTES_MAX"], environment["RATIO"]) == (str(1 << 30), "0.25")


def options_of(chart: Chart, name: str, pod: str = "acklog-node-3") -> NodeOptions:
    [container] = [each for command, each in processes(chart, name) if command == "node"]
    return NODE.load(environment_of(container, facts(name, pod))).make(NodeOptions)


def test_a_node_has_the_number_of_its_pod(chart: Chart) -> None:
    spec = one(chart.documents(INSECURE), "StatefulSet", "acklog-node")["spec"]
    first = spec["ordinals"]["start"]
    pods = [f"acklog-node-{number}" for number in range(first, first + spec["replicas"])]
    assert [options_of(chart, "cluster", pod).id for pod in pods] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "advertise", "listen", "rack"),
    [
        ("cluster", "10.1.2.3:7000", "0.0.0.0:7000", "zone-b"),
        (
            "cluster with other places",
            "acklog-node-3.acklog-node.queues.svc.cluster.local:7000",
            "0.0.0.0:7000",
            "machine-1",
        ),
        ("cluster without racks, by IPv6", "[fd00::1:2:3]:7000", "[::]:7000", ""),
    ],
)
def test_where_a_node_is_reached(chart: Chart, name: str, advertise: str, listen: str, rack: str) -> None:
    options = options_of(chart, name)
    assert (options.advertise, options.listen, options.rack) == (advertise, listen, rack)
    assert options.http_address[1] == 7080


def test_the_names_of_nodes_are_those_of_the_headless_service(chart: Chart) -> None:
    documents = chart.documents(MATRIX["cluster with other places"])
    stateful_set = one(documents, "StatefulSet", "acklog-node")
    service = one(documents, "Service", stateful_set["spec"]["serviceName"])
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    host = options_of(chart, "cluster with other places").advertise.partition(":")[0]
    assert host == f"acklog-node-3.{service['metadata']['name']}.{NAMESPACE}.svc.cluster.local"


def test_etcd_by_tls_and_password(chart: Chart) -> None:
    for command, container in processes(chart, "cluster with an etcd by TLS"):
        options = COMMANDS[command].load(environment_of(container, facts("cluster"))).make(EtcdOptions)
        assert options.uses_tls()
        assert options.etcd_server_name == "etcd.example"
        mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
        for path in (options.etcd_ca_file, options.etcd_certificate_file, options.etcd_key_file):
            assert mounts[path.rpartition("/")[0]]["readOnly"] is True
        assert options.etcd_password_file.rpartition("/")[0] in mounts


@pytest.mark.parametrize(
    ("name", "secret", "file"),
    [
        ("cluster with tokens in a secret", "tokens", "tokens.json"),
        ("cluster with tokens of the values", "acklog-tokens", "tokens.toml"),
        ("embedded with everything", "acklog-tokens", "tokens.toml"),
    ],
)
def test_tokens_come_from_a_secret(chart: Chart, name: str, secret: str, file: str) -> None:
    documents = chart.documents(MATRIX[name])
    [(command, container)] = [each for each in processes(chart, name) if each[0] != "node"]
    settings = COMMANDS[command].load(environment_of(container, facts(name))).make(Settings)
    assert not settings.insecure
    directory, _, key = settings.tokens_file.rpartition("/")
    assert key == file
    [mount] = [each["name"] for each in container["volumeMounts"] if each["mountPath"] == directory]
    [spec] = [spec for _, spec in pod_specs(documents) if container in spec["containers"]]
    [volume] = [each for each in spec["volumes"] if each["name"] == mount]
    assert volume["secret"]["secretName"] == secret


def test_other_tokens_are_another_pod(chart: Chart) -> None:
    def mark(tokens: str) -> str:
        documents = chart.documents({"auth": {"tokensFile": tokens}})
        template = one(documents, "Deployment")["spec"]["template"]
        return str(template["metadata"]["annotations"]["checksum/tokens"])

    assert mark("one") != mark("another")


# --- life ---


@every_values
def test_a_start_may_wait_for_as_long_as_it_is_let(chart: Chart, name: str) -> None:
    """For an etcd that is away, say: a pod that is ended and begun again and again is held up longer and longer."""
    for command, container in processes(chart, name):
        probe = container["startupProbe"]
        patience_ms = 1000 * probe["periodSeconds"] * probe["failureThreshold"]
        if command != "serve":
            options = COMMANDS[command].load(environment_of(container, facts(name))).make(EtcdOptions)
            assert options.etcd_wait_ms == patience_ms == 3_600_000


@every_values
def test_nobody_is_killed_for_trouble_of_the_cluster(chart: Chart, name: str) -> None:
    """Only what the process alone answers for may end it: its event loop."""
    for _, container in processes(chart, name):
        for probe in ("startupProbe", "livenessProbe"):
            assert container[probe]["httpGet"]["path"] == "/healthz"
        alive = container["livenessProbe"]
        assert alive["periodSeconds"] * alive["failureThreshold"] >= 60


@every_values
def test_who_is_ready(chart: Chart, name: str) -> None:
    paths = {command: each["readinessProbe"]["httpGet"]["path"] for command, each in processes(chart, name)}
    assert paths.items() <= {"node": "/in-sync", "gateway": "/readyz", "serve": "/readyz"}.items()


@pytest.mark.parametrize(("stop_wait", "leave"), [(60, 10), (0, 0), (3_600, 600)])
def test_a_stop_has_the_time_that_it_may_take(chart: Chart, stop_wait: int, leave: int) -> None:
    values = {**INSECURE, "nodes": {"stopWaitSeconds": stop_wait, "leaveTimeoutSeconds": leave}}
    spec = one(chart.documents(values), "StatefulSet", "acklog-node")["spec"]["template"]["spec"]
    [container] = spec["containers"]
    hook = container["lifecycle"]["preStop"]["httpGet"]
    assert hook == {"path": f"/stoppable?waitSeconds={stop_wait}", "port": "http"}
    options = NODE.load(environment_of(container, facts("cluster"))).make(NodeOptions)
    assert options.leave_timeout_ms == 1000 * leave
    assert spec["terminationGracePeriodSeconds"] > stop_wait + leave + GRACE_SECONDS


def test_a_gateway_serves_on_until_nobody_is_sent_to_it(chart: Chart) -> None:
    deployment = one(chart.documents({**INSECURE, "gateways": {"stopDelaySeconds": 7}}), "Deployment")["spec"]
    assert deployment["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}
    spec = deployment["template"]["spec"]
    assert spec["containers"][0]["lifecycle"]["preStop"] == {"exec": {"command": ["sleep", "7"]}}
    assert spec["terminationGracePeriodSeconds"] > 7 + GRACE_SECONDS


def test_nodes_start_together_and_are_updated_one_by_one(chart: Chart) -> None:
    """A node waits for others to be in sync: started one by one, the first would wait for ever."""
    documents = chart.documents(INSECURE)
    spec = one(documents, "StatefulSet", "acklog-node")["spec"]
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "RollingUpdate"}
    for each in documents:
        if each["kind"] == "PodDisruptionBudget":
            assert each["spec"]["maxUnavailable"] == 1
    assert {each["metadata"]["name"] for each in documents if each["kind"] == "PodDisruptionBudget"} == {
        "acklog-node",
        "acklog-gateway",
        "acklog-etcd",
    }


@pytest.mark.parametrize(("image", "shown"), [({"tag": "0.2.0"}, ":0.2.0"), ({"digest": DIGEST}, f"@{DIGEST}")])
def test_nodes_can_be_upgraded_before_gateways(chart: Chart, image: dict[str, str], shown: str) -> None:
    documents = chart.documents({**INSECURE, "image": image, "gateways": {"imageTag": "0.1.0"}})
    images = {
        workload: [each["image"] for each in containers(spec)]
        for workload, spec in pod_specs(documents)
        if not workload.startswith("Pod/")
    }
    assert images == {
        "StatefulSet/acklog-node": [f"acklog{shown}"],
        "Deployment/acklog-gateway": ["acklog:0.1.0"],
        "StatefulSet/acklog-etcd": ["acklog-etcd:0.1.0"],
    }


def test_an_autoscaler_decides_alone_how_many_gateways_there_are(chart: Chart) -> None:
    documents = chart.documents(MATRIX["cluster for production"])
    assert "replicas" not in one(documents, "Deployment")["spec"]
    scaler = one(documents, "HorizontalPodAutoscaler")["spec"]
    assert (scaler["minReplicas"], scaler["maxReplicas"]) == (3, 20)
    assert scaler["scaleTargetRef"]["name"] == one(documents, "Deployment")["metadata"]["name"]


# --- etcd, and the test ---


def test_the_bundled_etcd_knows_its_options_and_itself(chart: Chart, pytestconfig: pytest.Config) -> None:
    documents = chart.documents(MATRIX["cluster for production"])
    stateful_set = one(documents, "StatefulSet", "acklog-etcd")
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    pods = [f"acklog-etcd-{number}" for number in range(stateful_set["spec"]["replicas"])]
    environments = [environment_of(container, facts("cluster", pod)) for pod in pods]
    options = {name.removeprefix("ETCD_").lower().replace("_", "-") for name in environments[0] if "ETCD_" in name}
    done = subprocess.run(
        [etcd_binary(pytestconfig), "--help"], capture_output=True, text=True, timeout=30, check=False
    )
    said = done.stdout + done.stderr
    assert [each for each in sorted(options) if f"--{each}" not in said] == []
    members = dict(each.split("=", 1) for each in environments[0]["ETCD_INITIAL_CLUSTER"].split(","))
    assert members == {each["ETCD_NAME"]: each["ETCD_INITIAL_ADVERTISE_PEER_URLS"] for each in environments}
    [node] = [each for command, each in processes(chart, "cluster for production") if command == "node"]
    asked = NODE.load(environment_of(node, facts("cluster"))).make(EtcdOptions).etcd.split(",")
    assert asked == [each["ETCD_ADVERTISE_CLIENT_URLS"] for each in environments]
    assert "livenessProbe" in container
    assert "httpGet" not in container["livenessProbe"], "without a leader /health is no, and a restart brings none"


@pytest.mark.parametrize("name", ["cluster", "cluster with tokens of the values", "embedded"])
def test_the_test_asks_commands_that_there_are(chart: Chart, name: str) -> None:
    [spec] = [spec for workload, spec in pod_specs(chart.documents(MATRIX[name])) if workload.startswith("Pod/")]
    assert spec["restartPolicy"] == "Never"
    seen = []
    for container in containers(spec):
        environment_of(container, facts(name))
        command = container["command"]
        if command[:2] == ["sh", "-c"]:
            command = command[2].partition("|")[0].split()
        if command[0] == "acklog":
            seen.append(_parsed(command[1:]))
    assert seen == ["topics create", "groups create", "send", "receive"]


def _parsed(arguments: list[str]) -> str:
    """The command that takes these arguments. Typer raises where one is not known."""
    tree: Any = build_tree()
    names = []
    with tree.make_context("acklog", list(arguments), resilient_parsing=False) as context:
        group, rest = tree, [*context._protected_args, *context.args]
        while True:
            name, command, rest = group.resolve_command(context, rest)
            names.append(name)
            if not hasattr(command, "resolve_command"):
                command.make_context(name, list(rest), parent=context)
                return " ".join(names)
            group = command


def test_without_a_token_the_test_only_asks_whether_it_is_ready(chart: Chart) -> None:
    spec = one(chart.documents(MATRIX["cluster with tokens in a secret"]), "Pod")["spec"]
    assert [each["name"] for each in containers(spec)] == ["ready"]


def test_notes_say_where_it_is(chart: Chart) -> None:
    notes = chart.notes(INSECURE)
    assert f"http://{RELEASE}.{NAMESPACE}:8080" in notes
    assert "asks for no tokens" in notes
    assert "bundled" in notes
    assert "asks for no tokens" not in chart.notes({"mode": "embedded", "auth": {"existingSecret": "tokens"}})


def test_variables_that_name_others() -> None:
    known = {"A": "1"}
    assert expanded("$(A):$(B) $$(A) $A", known) == "1:$(B) $(A) $A"
