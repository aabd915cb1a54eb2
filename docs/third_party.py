"""The table of docs/third-party.md: what an installed server consists of beside Acklog itself, and under which
licences, as each distribution's own metadata say."""

from importlib.metadata import Distribution, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "acklog-server"
ROOT_EXTRAS = ("arrow", "cluster", "tracing")
"""What the image is installed with."""
_OURS = frozenset({"acklog", "acklog-server"})
_NAME_LENGTH_MAX = 60
_CLASSIFIER = "License :: OSI Approved :: "


def third_party_table() -> str:
    rows = ["| distribution | version | licence | where it is from |", "|---|---|---|---|"]
    for name in sorted(third_parties()):
        found = distribution(name)
        rows.append(f"| {name} | {found.version} | {licence_of(found)} | {home_of(found)} |")
    return "\n".join(rows) + "\n"


def third_parties() -> frozenset[str]:
    """The names of all that the server needs, directly or not, on the machine that asks."""
    known: dict[str, frozenset[str]] = {}
    waiting = [(ROOT, frozenset(ROOT_EXTRAS))]
    while waiting:
        name, extras = waiting.pop()
        if extras <= known.get(name, frozenset()) and name in known:
            continue
        known[name] = known.get(name, frozenset()) | extras
        waiting += _needed_by(name, known[name])
    return frozenset(known) - _OURS


def _needed_by(name: str, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    needed: list[tuple[str, frozenset[str]]] = []
    for text in distribution(name).requires or ():
        each = Requirement(text)
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            needed.append((canonicalize_name(each.name), frozenset(each.extras)))
    return needed


def licence_of(found: Distribution) -> str:
    """By the licence expression (PEP 639), else by the classifiers, else by the older text, where it is a name and no
    whole licence. Raises ValueError where none says anything: somebody has to look then."""
    metadata = found.metadata
    named = [each.removeprefix(_CLASSIFIER) for each in metadata.get_all("Classifier") or () if _CLASSIFIER in each]
    text = str(metadata.get("License") or "")
    short = text if 0 < len(text) <= _NAME_LENGTH_MAX and "\n" not in text else ""
    licence = metadata.get("License-Expression") or short or ", ".join(named)
    if not licence:
        raise ValueError(f"{metadata['Name']} says nothing of its licence")
    return str(licence)


def home_of(found: Distribution) -> str:
    urls = dict(each.split(", ", 1) for each in found.metadata.get_all("Project-URL") or ())
    labels = {label.lower(): url for label, url in urls.items()}
    wanted = ("homepage", "repository", "source", "source code", "code", "github")
    return next(
        (labels[label] for label in wanted if label in labels), str(found.metadata.get("Home-page") or "")
    ).strip()
