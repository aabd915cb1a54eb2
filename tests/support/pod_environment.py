"""The environment of a container, as the kubelet makes it: the downward API, and variables that name others."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_FIELD = re.compile(r"^metadata\.(?P<kind>labels|annotations)\['(?P<key>[^']+)'\]$")
_REFERENCE = re.compile(r"\$\$|\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFacts:
    """What the downward API tells a pod of itself. `secrets` by their name and key."""

    name: str
    ip: str
    namespace: str = "queues"
    host: str = "machine-1"
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def value_of(self, path: str) -> str:
        """Raises KeyError for a field that is none. A label that is not there is empty."""
        match = _FIELD.match(path)
        if match is not None:
            return dict(getattr(self, match["kind"])).get(match["key"], "")
        return {
            "metadata.name": self.name,
            "metadata.namespace": self.namespace,
            "status.podIP": self.ip,
            "spec.nodeName": self.host,
        }[path]


def environment_of(container: Mapping[str, Any], pod: PodFacts) -> dict[str, str]:
    """Raises ValueError where a variable is there twice, of which Kubernetes warns."""
    known: dict[str, str] = {}
    for each in container.get("env", ()):
        if each["name"] in known:
            raise ValueError(f"{each['name']} is there twice")
        known[each["name"]] = _value(each, pod, known)
    return known


def _value(variable: Mapping[str, Any], pod: PodFacts, known: Mapping[str, str]) -> str:
    source = variable.get("valueFrom")
    if source is None:
        return expanded(variable.get("value", ""), known)
    if "fieldRef" in source:
        return pod.value_of(source["fieldRef"]["fieldPath"])
    secret = source["secretKeyRef"]
    return pod.secrets[secret["name"], secret["key"]]


def expanded(text: str, known: Mapping[str, str]) -> str:
    """`$(NAME)` is what stands before it in the list; what is not known stays as it is; `$$` is a dollar."""

    def replacement(match: re.Match[str]) -> str:
        return "$" if match[1] is None else known.get(match[1], match[0])

    return _REFERENCE.sub(replacement, text)
