"""The example for KEDA asks what there is to ask."""

from urllib.parse import urlsplit

import yaml

from app.http.parsing.groups import parse_demand
from tests.architecture.source_tree import REPOSITORY
from tests.support.rendered_chart import NAMESPACE, Chart, one
from tests.unit.helm.matrix import INSECURE


def test_the_example_asks_what_there_is(chart: Chart) -> None:
    documents = list(yaml.safe_load_all((REPOSITORY / "helm" / "examples" / "keda-scaledobject.yaml").read_text()))
    scaled = one(documents, "ScaledObject")["spec"]
    [trigger] = scaled["triggers"]
    metadata = trigger["metadata"]
    url = urlsplit(metadata["url"])
    query = parse_demand(url.query.encode())
    assert (query.topics, query.target_s) == (["orders"], 30)
    openapi = yaml.load((REPOSITORY / "openapi.yaml").read_text(), yaml.CSafeLoader)
    answer = openapi["paths"]["/groups/{group}/demand"]["get"]["responses"]["200"]["content"]["application/json"]
    schema = openapi["components"]["schemas"][answer["schema"]["$ref"].rpartition("/")[2]]
    assert metadata["valueLocation"] in schema["properties"]
    assert url.path == "/groups/billing/demand"
    service = one(chart.documents(INSECURE), "Service", "acklog")
    assert url.netloc == f"{service['metadata']['name']}.{NAMESPACE}:{service['spec']['ports'][0]['port']}"
    authentication = one(documents, "TriggerAuthentication", trigger["authenticationRef"]["name"])
    [reference] = authentication["spec"]["secretTargetRef"]
    assert reference["key"] in one(documents, "Secret", reference["name"])["stringData"]
