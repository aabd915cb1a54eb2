"""The policy of a queue, as SQS keeps it: statements, of which AddPermission writes one and RemovePermission takes one
away. It is kept and shown, and decides nothing: who may do what is said by the rights of tokens."""

import json
import re
from collections.abc import Sequence
from typing import Any

from app.sqs.queues.redrive_policy import json_object_of
from app.sqs.sqs_error import SqsError, SqsErrorCode

STATEMENTS_MAX = 20
ACTIONS_MAX = 7
ACCOUNTS_MAX = 50
LABEL_LENGTH_MAX = 80
VERSION = "2008-10-17"
ACTIONS = frozenset(
    {
        "*",
        "SendMessage",
        "ReceiveMessage",
        "DeleteMessage",
        "ChangeMessageVisibility",
        "GetQueueAttributes",
        "GetQueueUrl",
        "ListDeadLetterSourceQueues",
        "PurgeQueue",
    }
)
_LABEL = re.compile(rf"[A-Za-z0-9_-]{{1,{LABEL_LENGTH_MAX}}}")
_ACCOUNT = re.compile(r"[0-9]{12}")


def statements_of(policy: str) -> list[Any]:
    """Raises ValueError: why it is no policy."""
    found = json_object_of(policy).get("Statement", [])
    statements = found if isinstance(found, list) else [found]
    if not all(isinstance(each, dict) for each in statements):
        raise ValueError("a statement is a JSON object.")
    if len(statements) > STATEMENTS_MAX:
        raise ValueError(f"it has more than {STATEMENTS_MAX} statements.")
    return statements


def with_permission(policy: str, label: str, accounts: Sequence[str], actions: Sequence[str], *, arn: str) -> str:
    """The policy, "" for none, with one statement more. Raises SqsError INVALID_PARAMETER_VALUE, MISSING_PARAMETER,
    OVER_LIMIT."""
    _check(label, accounts, actions)
    document = json_object_of(policy) if policy else {"Version": VERSION, "Id": f"{arn}/SQSDefaultPolicy"}
    statements = statements_of(policy) if policy else []
    if any(each.get("Sid") == label for each in statements):
        raise _invalid(label, "Label", "Already exists.")
    if len(statements) >= STATEMENTS_MAX:
        detail = f"{STATEMENTS_MAX} statements were found, maximum allowed is {STATEMENTS_MAX}."
        raise SqsError(SqsErrorCode.OVER_LIMIT, detail)
    principals = [f"arn:aws:iam::{account}:root" for account in accounts]
    names = [f"SQS:{action}" for action in actions]
    statement = {
        "Sid": label,
        "Effect": "Allow",
        "Principal": {"AWS": _alone(principals)},
        "Action": _alone(names),
        "Resource": arn,
    }
    return _text(document, [*statements, statement])


def without_permission(policy: str, label: str) -> str:
    """ "" where nothing is left of it. Raises SqsError INVALID_PARAMETER_VALUE."""
    statements = statements_of(policy) if policy else []
    left = [each for each in statements if each.get("Sid") != label]
    if len(left) == len(statements):
        raise _invalid(label, "Label", "can't find label.")
    return _text(json_object_of(policy), left) if left else ""


def _check(label: str, accounts: Sequence[str], actions: Sequence[str]) -> None:
    if not _LABEL.fullmatch(label):
        reason = f"Must be 1 to {LABEL_LENGTH_MAX} alphanumeric characters, hyphens or underscores."
        raise _invalid(label, "Label", reason)
    for values, parameter in ((accounts, "AWSAccountIds"), (actions, "Actions")):
        if not values:
            detail = f"The request must contain the parameter {parameter}."
            raise SqsError(SqsErrorCode.MISSING_PARAMETER, detail)
    if len(actions) > ACTIONS_MAX:
        detail = f"{len(actions)} Actions were found, maximum allowed is {ACTIONS_MAX}."
        raise SqsError(SqsErrorCode.OVER_LIMIT, detail)
    if len(accounts) > ACCOUNTS_MAX:
        detail = f"{len(accounts)} AWSAccountIds were found, maximum allowed is {ACCOUNTS_MAX}."
        raise SqsError(SqsErrorCode.OVER_LIMIT, detail)
    for action in actions:
        if action not in ACTIONS:
            reason = "Only the queue owner is allowed to invoke this action."
            raise _invalid(action, "ActionName", reason)
    for account in accounts:
        if not _ACCOUNT.fullmatch(account):
            raise _invalid(account, "PrincipalId", "Unable to verify.")


def _text(document: dict[str, Any], statements: list[Any]) -> str:
    text = json.dumps({**document, "Statement": statements}, separators=(",", ":"), ensure_ascii=False)
    try:
        statements_of(text)
    except ValueError as error:
        raise SqsError(SqsErrorCode.OVER_LIMIT, f"The policy would be too large: {error}") from None
    return text


def _alone(values: list[str]) -> list[str] | str:
    return values[0] if len(values) == 1 else values


def _invalid(value: str, parameter: str, reason: str) -> SqsError:
    detail = f"Value {value[:LABEL_LENGTH_MAX]} for parameter {parameter} is invalid. Reason: {reason}"
    return SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
