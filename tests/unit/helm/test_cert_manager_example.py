"""The example for cert-manager asks for what the chart mounts, and for whom processes take each other."""

from typing import Any

import yaml

from acklog.wire.certificate_end import WARN_DAYS
from cluster.tls.peer_identity import PeerIdentity, PeerKind, identity_in, node_identity
from tests.architecture.source_tree import REPOSITORY
from tests.support.rendered_chart import NAMESPACE, Chart, one
from tests.unit.helm.matrix import INSECURE

EXAMPLE = list(yaml.safe_load_all((REPOSITORY / "helm" / "examples" / "cert-manager.yaml").read_text()))
PREFIX = "acklog"
PROCESSES = {"gateway": PeerIdentity(PeerKind.GATEWAY), **{f"node-{each}": node_identity(each) for each in (1, 2, 3)}}


def spec_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = one(EXAMPLE, "Certificate", name)["spec"]
    return found


def hours(duration: str) -> int:
    return int(duration.removesuffix("h"))


def test_each_process_is_who_it_says(chart: Chart) -> None:
    service = one(chart.documents({**INSECURE, "tls": {"secretPrefix": PREFIX}}), "Service", PREFIX)
    for process, identity in PROCESSES.items():
        spec = spec_of(f"{PREFIX}-{process}")
        assert spec["secretName"] == f"{PREFIX}-{process}"
        assert identity_in({"subjectAltName": [("URI", uri) for uri in spec["uris"]]}) == identity
        assert service["metadata"]["name"] in spec["dnsNames"], "as Prometheus expects of every pod"
        assert {"server auth", "client auth"} <= set(spec["usages"]), "all dial and are dialled"
        assert spec["privateKey"]["rotationPolicy"] == "Always"
        assert hours(spec["renewBefore"]) > WARN_DAYS * 24, "before anybody is told"


def test_all_are_signed_by_one_authority_that_outlives_them() -> None:
    authority = spec_of(f"{PREFIX}-ca")
    assert authority["isCA"] is True
    issuer = one(EXAMPLE, "Issuer", PREFIX)
    assert issuer["spec"]["ca"]["secretName"] == authority["secretName"]
    for process in PROCESSES:
        spec = spec_of(f"{PREFIX}-{process}")
        assert spec["issuerRef"] == {"name": PREFIX, "kind": "Issuer"}
        assert hours(spec["duration"]) * 10 < hours(authority["duration"])
    assert {each["metadata"]["namespace"] for each in EXAMPLE} == {NAMESPACE}


def test_the_secrets_are_those_that_the_chart_mounts(chart: Chart) -> None:
    documents = chart.documents({**INSECURE, "tls": {"secretPrefix": PREFIX}})
    spec = one(documents, "StatefulSet", "acklog-node")["spec"]["template"]["spec"]
    [projected] = [each["projected"] for each in spec["volumes"] if "projected" in each]
    mounted = {each["secret"]["name"] for each in projected["sources"]}
    spec = one(documents, "Deployment")["spec"]["template"]["spec"]
    mounted |= {each["secret"]["secretName"] for each in spec["volumes"] if "secret" in each}
    assert {spec_of(f"{PREFIX}-{process}")["secretName"] for process in PROCESSES} <= mounted
