"""The table of docs/runbooks: every alert, as the rules have it."""

import re
from pathlib import Path

import yaml

RULES = Path(__file__).resolve().parents[1] / "helm" / "acklog" / "files" / "alerts.yaml"
_TEMPLATED = re.compile(r"\{\{.*?\}\}")


def alert_rules() -> list[dict[str, object]]:
    """All rules, in their order."""
    document = yaml.safe_load(RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts_table() -> str:
    rows = ["| alert | for | severity | what has happened |", "|---|---|---|---|"]
    for rule in alert_rules():
        labels, annotations = rule["labels"], rule["annotations"]
        assert isinstance(labels, dict)
        assert isinstance(annotations, dict)
        name, text = rule["alert"], _TEMPLATED.sub("…", annotations["summary"])
        rows.append(f"| [{name}]({name}.md) | {rule.get('for', 'at once')} | {labels['severity']} | {text} |")
    return "\n".join(rows) + "\n"
