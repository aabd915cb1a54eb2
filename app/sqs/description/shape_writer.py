"""`python -m app.sqs.description.shape_writer` prints `app/sqs/shapes.py`: the calls of SQS as Python's types."""

import re
import sys

from app.sqs.description.call_description import (
    CallMember,
    CallMembers,
    CollectionDescription,
    Description,
    read_description,
)

_LINE_LENGTH_MAX = 120
_SCALARS = {"string": "str", "integer": "Integer", "boolean": "bool", "blob": "bytes"}
_WORD_BEGINS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ALIASED = {"AWSAccountIds": "account_ids"}
_HEAD = '''"""The calls of SQS as types, written by `python -m app.sqs.description.shape_writer` from `calls.toml`.

`parts` says what the query protocol calls the parts of a collection.
"""

from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from app.sqs.part_names import parts

Integer = Annotated[int, Meta(ge=-(2**31), le=2**31 - 1)]
'''
_CALL = '''class CallShape(NamedTuple):
    """`result` None: the answer is empty. `right` is the caller's on the queue's topic."""

    input: type[Struct]
    result: type[Struct] | None
    right: str


'''


def shapes_source(description: Description) -> str:
    """The whole module."""
    aliases: list[str] = []
    parts = [_HEAD]
    for name in _ordered_names(description):
        if name in description.collections:
            aliases.append(_alias(name, description.collections[name]))
        else:
            parts += _flushed(aliases)
            parts.append(_struct(name, description.structures[name]))
    parts += _flushed(aliases)
    parts.append(_CALL)
    for name, call in description.calls.items():
        parts.append(_struct(f"{name}Input", call.input))
        if call.result:
            parts.append(_struct(f"{name}Result", call.result))
    return "".join(parts) + _table(description)


def _flushed(aliases: list[str]) -> list[str]:
    """Aliases that stand together, as one part."""
    part = ["\n".join(aliases) + "\n\n\n"] if aliases else []
    aliases.clear()
    return part


def _ordered_names(description: Description) -> list[str]:
    """Collections and structures, each behind those that it consists of."""
    ordered: dict[str, None] = {}

    def place(name: str) -> None:
        if name in ordered or name in _SCALARS:
            return
        if name in description.collections:
            place(_item_of(description.collections[name]))
        else:
            for member in description.structures[name].values():
                place(member.type)
        ordered[name] = None

    for name in (*description.collections, *description.structures):
        place(name)
    return list(ordered)


def _alias(name: str, collection: CollectionDescription) -> str:
    item = _SCALARS.get(_item_of(collection), _item_of(collection))
    plain = f"list[{item}]" if collection.list else f"dict[str, {item}]"
    key = f', "{collection.key}"' if collection.key else ""
    return f'{name} = Annotated[{plain}, parts("{collection.query}"{key})]'


def _struct(name: str, members: CallMembers) -> str:
    lines = [f"class {name}(Struct, kw_only=True, omit_defaults=True):"]
    lines += [_member(each, member) for each, member in members.items()]
    return "\n".join(lines) + "\n\n\n"


def _member(name: str, member: CallMember) -> str:
    type_ = _SCALARS.get(member.type, member.type)
    if member.required or member.always:
        return f'    {_python_name(name)}: {type_} = field(name="{name}")'
    return _wrapped(f"    {_python_name(name)}: {type_} | None = field", f'default=None, name="{name}"', ")")


def _wrapped(before: str, arguments: str, after: str) -> str:
    """As the formatter writes a call, on one line or on three."""
    line = f"{before}({arguments}{after}"
    return line if len(line) <= _LINE_LENGTH_MAX else f"{before}(\n        {arguments}\n    {after}"


def _item_of(collection: CollectionDescription) -> str:
    return collection.list or collection.map


def _python_name(name: str) -> str:
    """`QueueOwnerAWSAccountId` is queue_owner_aws_account_id."""
    return _ALIASED.get(name) or _WORD_BEGINS.sub("_", name).lower()


def _table(description: Description) -> str:
    lines = ["CALLS = {"]
    for name, call in description.calls.items():
        result = f"{name}Result" if call.result else "None"
        lines.append(_wrapped(f'    "{name}": CallShape', f'{name}Input, {result}, "{call.right}"', "),"))
    return "\n".join([*lines, "}", '"""By operation."""', ""])


def main() -> None:
    sys.stdout.write(shapes_source(read_description()))


if __name__ == "__main__":
    main()
