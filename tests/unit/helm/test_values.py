"""What the chart does not take, and that all it takes is explained."""

import json
import tomllib
from typing import Any

import pytest
import yaml

from docs import chart_readme
from tests.architecture.source_tree import REPOSITORY
from tests.support.rendered_chart import CHART, Chart, ChartRefusedError
from tests.unit.helm.matrix import ETCD_BY_TLS, INSECURE, JWT, TLS, TLS_OF_EACH

SERVED = {"auth": {"insecure": True}}
ASKS_FOR_CERTIFICATES = {"ACKLOG_TLS_CLIENT_CERTIFICATES": "required"}


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "Say how clients are known"),
        ({"auth": {"insecure": True, "existingSecret": "tokens"}}, "exactly one of"),
        ({"auth": {"tokensFile": "x", "existingSecret": "tokens"}}, "exactly one of"),
        ({**SERVED, "etcd": {"endpoints": ["https://etcd:2379"]}}, "etcd.tls.existingSecret is needed"),
        ({**SERVED, "etcd": {"endpoints": ["https://etcd:2379", "http://e:1"]}}, "all https"),
        ({**SERVED, "etcd": {"tls": {"existingSecret": "x"}}}, "needs etcd.endpoints with https"),
        ({**SERVED, "etcd": {**ETCD_BY_TLS, "passwordSecret": ""}}, "go together"),
        ({**SERVED, "etcd": {"user": "a", "passwordSecret": "b"}}, "give etcd.endpoints"),
        ({**SERVED, "gateways": {"autoscaling": {"enabled": True, "minReplicas": 11}}}, "above maxReplicas"),
        ({**SERVED, "httpRoute": {"enabled": True}}, "httpRoute.parentRefs is empty"),
        ({**SERVED, "tls": {"acceptClear": True}}, "they need tls.existingSecret"),
        ({**SERVED, "tls": {"peers": "prefer"}}, "they need tls.existingSecret"),
        ({**SERVED, "tls": {**TLS, **TLS_OF_EACH}}, "give one of the two"),
        ({**SERVED, "tls": {**TLS, "peers": "off"}}, "/tls/peers"),
        ({**SERVED, "tls": {"secret": "x"}}, "secret"),
        ({**SERVED, "nodes": {"environment": {"ACKLOG_PEER_TLS": "off"}}}, "ACKLOG_PEER_TLS"),
        ({**SERVED, "gateways": {"environment": ASKS_FOR_CERTIFICATES}}, "the kubelet has no certificate"),
        ({**SERVED, "nodes": {"environment": ASKS_FOR_CERTIFICATES}}, "the kubelet has no certificate"),
        ({"auth": {"existingSecret": "tokens", "jwt": {**JWT, "audience": []}}}, "go together"),
        ({"auth": {"existingSecret": "tokens", "jwt": {"audience": ["acklog"]}}}, "go together"),
        ({"auth": {"existingSecret": "tokens", "jwt": {**JWT, "audience": ["a,b"]}}}, "/auth/jwt/audience/0"),
        ({"auth": {"existingSecret": "tokens", "jwt": {**JWT, "keysUrl": "keys"}}}, "/auth/jwt/keysUrl"),
        ({"auth": {"existingSecret": "tokens", "jwt": {"keysUrl": "https://keys.example"}}}, "need auth.jwt.issuer"),
        ({"auth": {"existingSecret": "tokens", "jwt": {"caSecret": "x"}}}, "need auth.jwt.issuer"),
        ({"auth": {"insecure": True, "jwt": JWT}}, "needs a tokens file"),
        ({**SERVED, "encryption": {"previousMasterKeySecret": "x"}}, "need encryption.masterKeySecret"),
        ({**SERVED, "encryption": {"newTopics": True}}, "need encryption.masterKeySecret"),
        ({**SERVED, "audit": {"mode": "yes"}}, "/audit/mode"),
        ({**SERVED, "corsOrigins": ["*"]}, "corsOrigins is *"),
        ({**SERVED, "corsOrigins": ["https://shop.example/page"]}, "/corsOrigins/0"),
        ({**SERVED, "console": {"enabled": "no"}}, "/console/enabled"),
        ({**SERVED, "console": {"shown": False}}, "shown"),
        ({**SERVED, "sqs": {"account": "1234567890"}}, "/sqs/account"),
        ({**SERVED, "sqs": {"account": 123456789012}}, "/sqs/account"),
        ({**SERVED, "sqs": {"region": "a:b"}}, "/sqs/region"),
        ({**SERVED, "publicUrl": "queue.example"}, "/publicUrl"),
        ({**SERVED, "nodez": {}}, "nodez"),
        ({**SERVED, "nodes": {"replicaz": 3}}, "replicaz"),
        ({**SERVED, "etcd": {"tls": {"caFile": "x"}}}, "caFile"),
        ({**SERVED, "image": {"tag": "latest"}}, "/image/tag"),
        ({**SERVED, "etcd": {"bundled": {"image": {"tag": "latest"}}}}, "/etcd/bundled/image/tag"),
        ({**SERVED, "gateways": {"imageTag": "latest"}}, "/gateways/imageTag"),
        ({**SERVED, "image": {"repository": "acklog:1.0"}}, "/image/repository"),
        ({**SERVED, "image": {"digest": "sha256:abc"}}, "/image/digest"),
        ({**SERVED, "mode": "single"}, "/mode"),
        ({**SERVED, "nodes": {"replicas": 0}}, "/nodes/replicas"),
        ({**SERVED, "nodes": {"replicas": "3"}}, "/nodes/replicas"),
        ({**SERVED, "nodes": {"startupMinutes": 61}}, "/nodes/startupMinutes"),
        ({**SERVED, "nodes": {"resources": {"limits": None}}}, "/nodes/resources"),
        ({**SERVED, "nodes": {"environment": {"ACKLOG_ID": "7"}}}, "ACKLOG_ID"),
        ({**SERVED, "nodes": {"environment": {"not a name": "7"}}}, "not a name"),
        ({**SERVED, "nodes": {"persistence": {"size": "much"}}}, "/nodes/persistence/size"),
        ({**SERVED, "etcd": {"bundled": {"replicas": 2}}}, "/etcd/bundled/replicas"),
        ({**SERVED, "etcd": {"endpoints": ["etcd:2379"]}}, "/etcd/endpoints/0"),
        ({"auth": {"existingSecret": "tokens", "existingSecretKey": "tokens"}}, "/auth/existingSecretKey"),
    ],
)
def test_what_cannot_be_is_refused(chart: Chart, values: dict[str, Any], said: str) -> None:
    with pytest.raises(ChartRefusedError) as refused:
        chart.documents(values)
    assert said in str(refused.value)


def test_an_old_kubernetes_is_refused(chart: Chart) -> None:
    with pytest.raises(ChartRefusedError, match=r"1\.30"):
        chart.documents(INSECURE, kubernetes="v1.30.0")


def test_schema_and_values_name_the_same() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert sorted(_names(schema, schema) - {"global"}) == sorted(_paths(values))


def _names(schema: dict[str, Any], root: dict[str, Any], prefix: str = "") -> set[str]:
    """All that the schema knows, with a dot between; nothing else may be there."""
    if "$ref" in schema:
        schema = root["definitions"][schema["$ref"].rpartition("/")[2]]
    if "properties" not in schema:
        return {prefix.rstrip(".")}
    assert schema["additionalProperties"] is False, prefix
    found = set()
    for name, each in schema["properties"].items():
        if name != "ephemeral-storage":
            found |= _names(each, root, f"{prefix}{name}.")
    return found


def _paths(values: Any, prefix: str = "") -> set[str]:
    if not isinstance(values, dict) or not values:
        return {prefix.rstrip(".")}
    return set().union(*(_paths(each, f"{prefix}{name}.") for name, each in values.items()))


def test_the_readme_is_current() -> None:
    path = REPOSITORY / chart_readme.README
    assert path.read_text() == chart_readme.generated(), "run python -m docs.chart_readme"


def test_every_value_is_explained() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    rows = chart_readme.rows((CHART / "values.yaml").read_text())
    explained = {row.path for row in rows}
    assert all(row.text for row in rows), [row.path for row in rows if not row.text]
    missing = {
        path for path in _paths(values) if not any(path == each or path.startswith(f"{each}.") for each in explained)
    }
    assert missing == set()


def test_the_version_is_that_of_the_server() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == project["version"]
