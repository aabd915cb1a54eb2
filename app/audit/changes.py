"""What is different after an act: settings by their paths, [before, after]."""

from collections.abc import Iterator, Mapping

import msgspec

from app.audit.plain_value import plain

CHANGES_MAX = 100
"""In one record; no act changes as many settings of a topic or a group."""

Settings = Mapping[str, object]
"""By path; nothing of what is not there."""


def settings_of(value: msgspec.Struct | None, *, without: frozenset[str] = frozenset()) -> Settings:
    """Of a topic, a group, a token or a namespace, as the coordination store has it."""
    return {} if value is None else dict(_leaves("", msgspec.to_builtins(_complete(value)), without))


def changes(before: Settings, after: Settings) -> dict[str, list[object]]:
    """What is not there counts as null."""
    paths = [path for path in {**before, **after} if before.get(path) != after.get(path)]
    return {path: [plain(before.get(path)), plain(after.get(path))] for path in paths[:CHANGES_MAX]}


def _complete(value: msgspec.Struct) -> dict[str, object]:
    """With its defaults, which an encoder may leave out."""
    fields = msgspec.structs.fields(value)
    members = {field.encode_name: getattr(value, field.name) for field in fields}
    return {name: _complete(each) if isinstance(each, msgspec.Struct) else each for name, each in members.items()}


def _leaves(path: str, members: Mapping[str, object], without: frozenset[str]) -> Iterator[tuple[str, object]]:
    for name, value in members.items():
        if name in without:
            continue
        if isinstance(value, Mapping):
            yield from _leaves(f"{path}{name}.", value, without)
        else:
            yield path + name, value
