"""The chart as helm renders it, as documents that tests look into and run."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.architecture.source_tree import REPOSITORY

CHART = REPOSITORY / "helm" / "acklog"
RELEASE = "acklog"
NAMESPACE = "queues"
WORKLOADS = ("StatefulSet", "Deployment")

Document = dict[str, Any]
Values = Mapping[str, Any]


class ChartRefusedError(Exception):
    """helm says that the values are not right; the text is its own."""


class Chart:
    """Rendered with one helm; what was rendered once is kept."""

    def __init__(self, helm: Path, home: Path) -> None:
        self._helm = helm
        self._home = home
        self._kept: dict[tuple[str, ...], str] = {}
        self._parsed: dict[str, list[Document]] = {}

    def documents(self, values: Values, *, kubernetes: str = "") -> list[Document]:
        """All of it, not to be changed. Raises ChartRefusedError."""
        more = ["--kube-version", kubernetes] if kubernetes else []
        text = self._run("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *more, values=values)
        if text not in self._parsed:
            self._parsed[text] = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document]
        return self._parsed[text]

    def notes(self, values: Values) -> str:
        """What is said after an installation."""
        arguments = ["--namespace", NAMESPACE, "--dry-run=client"]
        return self._run("install", RELEASE, str(CHART), *arguments, values=values).partition("NOTES:\n")[2]

    def lint(self, values: Values) -> None:
        """Raises ChartRefusedError."""
        self._run("lint", "--strict", str(CHART), values=values)

    def _run(self, *arguments: str, values: Values) -> str:
        given = json.dumps(values, sort_keys=True)
        key = (*arguments, given)
        if key not in self._kept:
            done = subprocess.run(
                [self._helm, *arguments, "--values", "-"],
                input=given,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
                env={"HOME": str(self._home), "KUBECONFIG": str(self._home / "none")},
            )
            if done.returncode != 0:
                raise ChartRefusedError(done.stdout + done.stderr)
            self._kept[key] = done.stdout
        return self._kept[key]


def one(documents: list[Document], kind: str, name: str = "") -> Document:
    """The only one of its kind, or of that name."""
    [found] = [each for each in documents if each["kind"] == kind and name in {"", each["metadata"]["name"]}]
    return found


def pod_specs(documents: list[Document]) -> Iterator[tuple[str, Document]]:
    """(kind/name, spec) of everything that makes pods."""
    for each in documents:
        name = f"{each['kind']}/{each['metadata']['name']}"
        if each["kind"] in WORKLOADS:
            yield name, each["spec"]["template"]["spec"]
        elif each["kind"] == "Pod":
            yield name, each["spec"]


def containers(spec: Document) -> list[Document]:
    """Those that prepare it, too."""
    return [*spec.get("initContainers", ()), *spec["containers"]]
