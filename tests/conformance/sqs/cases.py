"""The table of cases: what AWS documents, call by call, in the files of `cases/`.

A case has steps. A step is a call with its parameters, and says how it ends: `error` (the error's name in JSON),
`result` (a part of what comes back), `equals` (all of it), `absent`, `count` and `keys` (of places in it), and what is
kept of it under which name (`save`). "$name" stands for what is kept; "$text81" for a text of 81 characters; "re:…" is
a pattern, "$any" any text. `each` makes a case of each of its entries, which are kept by their names.
"""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

DIRECTORY = Path(__file__).parent / "cases"
_NAME = re.compile(r"\$([a-z_]+[0-9]*(?:\.[a-z]+)?|[A-Z][A-Za-z]+)")
_TEXT = re.compile(r"\$text([0-9]+)")
ALL_OF = "..."
"""A parameter of this name stands for all those of its value."""


@dataclass(frozen=True, slots=True)
class Case:
    """`kept` is what its entry of `each` says. `queues` are made before its steps, with `attributes`."""

    name: str
    source: str
    steps: list[dict[str, Any]]
    queues: list[str] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    kept: dict[str, Any] = field(default_factory=dict)


def all_cases() -> Iterator[Case]:
    for path in sorted(DIRECTORY.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["case"]:
            for each in entry.get("each", [{}]):
                name = f"{entry['name']}: {each['name']}" if each else entry["name"]
                kept = {key: value for key, value in each.items() if key != "name"}
                queues = kept.pop("queues", entry.get("queues", []))
                yield Case(name, entry["source"], entry["steps"], queues, entry.get("attributes", {}), kept)


def filled(value: Any, kept: dict[str, Any]) -> Any:
    """With what is kept in the place of names; what nobody has kept is None."""
    if isinstance(value, str):
        return _filled_text(value, kept)
    if isinstance(value, list):
        return [filled(each, kept) for each in value]
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for name, each in value.items():
            if name == ALL_OF:
                found |= filled(each, kept)
            else:
                found[filled(name, kept)] = filled(each, kept)
        return found
    return value


def _filled_text(text: str, kept: dict[str, Any]) -> Any:
    whole = _NAME.fullmatch(text)
    if text == "$any":
        return text
    if whole is not None and _TEXT.fullmatch(text) is None and (whole[1] in kept or "." not in whole[1]):
        return filled(kept.get(whole[1]), kept)
    text = _TEXT.sub(lambda match: "x" * int(match[1]), text)
    return _NAME.sub(lambda match: _text_of(match, kept), text)


def _text_of(match: re.Match[str], kept: dict[str, Any]) -> str:
    """A full stop behind a name may be a part of it, or not."""
    if match[1] in kept:
        return str(filled(kept[match[1]], kept))
    stem, stop, rest = match[1].partition(".")
    return f"{filled(kept[stem], kept)}{stop}{rest}" if stem in kept else match[0]
