"""The table of docs/sqs.md: every call of SQS, as its description says it."""

from app.sqs.description.call_description import read_description
from app.sqs.protocol.sqs_route import ROUTES


def sqs_calls_table() -> str:
    rows = ["| call | what it does | right | recorded as an act |", "|---|---|---|---|"]
    for name, call in read_description().calls.items():
        is_act = "yes" if ROUTES[name].needed.is_administrative else ""
        rows.append(f"| `{name}` | {call.about} | `{call.right}` | {is_act} |")
    return "\n".join(rows) + "\n"
