"""The alert rules with less patience: the same thresholds, by the same queries, over seconds instead of minutes."""

import re
from pathlib import Path

import yaml

from docs.alerts_table import RULES

MINUTE_IN_TESTS_S = 1.0
_UNITS_S = {"s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\[|offset )(\d+)([smh])")
_HORIZON = re.compile(r"(\d+) \* 3600\)")


def impatient(rules: Path, *, minute_s: float = MINUTE_IN_TESTS_S) -> Path:
    """Write the rules to the file `rules`. Each duration in them, those of `for`, ranges, offsets and how far
    `predict_linear` looks ahead, is divided so that a minute becomes `minute_s`. Thresholds stay."""
    document = yaml.safe_load(RULES.read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            rule["expr"] = _shortened(rule["expr"], minute_s)
            if "for" in rule:
                rule["for"] = _divided(rule["for"][:-1], rule["for"][-1], minute_s)
    rules.write_text(yaml.safe_dump(document))
    return rules


def _shortened(expression: str, minute_s: float) -> str:
    shorter = _DURATION.sub(lambda found: found[1] + _divided(found[2], found[3], minute_s), expression)
    return _HORIZON.sub(lambda found: f"{int(found[1]) * 3600 * minute_s / 60:.0f})", shorter)


def _divided(count: str, unit: str, minute_s: float) -> str:
    return f"{int(count) * _UNITS_S[unit] * 1000 * minute_s / 60:.0f}ms"
