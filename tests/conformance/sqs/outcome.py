"""Whether what came back is what a step says."""

import re
from typing import Any


def differences(expected: Any, found: Any, path: str = "", *, exactly: bool = False) -> list[str]:
    """Of what `expected` names; with `exactly`, of all that was found."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{path} is {found!r:.200}, and no structure"]
        more = [f"{path}.{name} is there" for name in found if exactly and name not in expected]
        return more + [
            each
            for name, value in expected.items()
            for each in differences(value, found.get(name), f"{path}.{name}", exactly=exactly)
        ]
    if isinstance(expected, list):
        if not isinstance(found, list) or len(found) != len(expected):
            return [f"{path} is {found!r:.300}, and not {len(expected)} entries"]
        return [
            each
            for index, value in enumerate(expected)
            for each in differences(value, found[index], f"{path}.{index}", exactly=exactly)
        ]
    return [] if _is_same(expected, found) else [f"{path} is {found!r:.200}, and not {expected!r:.200}"]


def at(found: Any, path: str) -> Any:
    """None where there is nothing."""
    for step in path.split("."):
        if isinstance(found, list):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
        if found is None:
            return None
    return found


def _is_same(expected: Any, found: Any) -> bool:
    if expected == "$any":
        return isinstance(found, str) and bool(found)
    if isinstance(expected, str) and expected.startswith("re:"):
        return isinstance(found, str) and re.fullmatch(expected[3:], found, re.DOTALL) is not None
    return bool(expected == found)
