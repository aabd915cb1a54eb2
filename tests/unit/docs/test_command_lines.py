"""Command lines of the pages are such as the command takes: there is the command, and it has the options."""

import re
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from acklog.command.tree import build_tree
from tests.architecture.source_tree import text_files
from tests.unit.docs.documents import REPOSITORY

_BLOCK = re.compile(r"^```(?:sh|console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(acklog [^`]+)`")
_COMMAND = re.compile(r"(?:^\s*(?:\$ )?|[|(;]\s*)acklog ([^|;)<>]*)")
_OPTION = re.compile(r"--?[a-zA-Z][\w-]*")
_OF_OTHERS = {"serve", "node", "gateway", "fsck", "rebuild", "demo", "export"}
"""Those come with other distributions, which say themselves what they take."""
_PAGES = [path for path, _ in text_files() if path.endswith(".md") and path != "CHANGELOG.md"]


class CommandLine(NamedTuple):
    page: str
    words: tuple[str, ...]


def command_lines(page: str) -> Iterator[CommandLine]:
    yield from command_lines_of(page, (REPOSITORY / page).read_text())


def command_lines_of(page: str, text: str) -> Iterator[CommandLine]:
    blocks = "\n".join(_BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    prose = [re.sub(r"\s+", " ", found) for found in _INLINE.findall(_BLOCK.sub("", text))]
    for line in (*blocks, *prose):
        for found in _COMMAND.findall(_without_texts(line)):
            yield CommandLine(page, tuple(shlex.split(found, comments=True)))


def _without_texts(line: str) -> str:
    """What stands in quotes is a value, whatever it looks like."""
    return re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", line).replace("'", "").replace('"', "")


def fault_of(tree: Any, words: tuple[str, ...]) -> str:
    """What of a command line there is not; "" where all is well."""
    here, rest = tree, list(words)
    with tree.make_context("acklog", ["topics", "list"]) as context:
        while rest and hasattr(here, "get_command"):
            if rest[0].startswith("-") or not re.fullmatch(r"[a-z-]+", rest[0]):
                break
            found = here.get_command(context, rest[0])
            if found is None:
                return rest[0]
            here, rest = found, rest[1:]
    known = {name for each in here.params for name in (*each.opts, *each.secondary_opts)} | {"--help", "-h"}
    for word in rest:
        if word == "--":
            break  # what follows is another command's
        option = word.partition("=")[0]
        if _OPTION.fullmatch(option) and option not in known:
            return option
    return ""


@pytest.mark.parametrize("page", _PAGES)
def test_the_command_takes_them(page: str) -> None:
    tree = build_tree()
    wrong = [
        (" ".join(line.words), fault)
        for line in command_lines(page)
        if line.words and line.words[0] not in _OF_OTHERS and (fault := fault_of(tree, line.words))
    ]
    assert wrong == []


def test_what_there_is_not_is_found() -> None:
    tree = build_tree()
    assert len([line for page in _PAGES for line in command_lines(page)]) > 150
    assert fault_of(tree, ("receive", "t", "--auto-ack")) == "--auto-ack"
    assert fault_of(tree, ("topics", "shrink", "t")) == "shrink"
    assert fault_of(tree, ("receive", "t", "--ack", "-g", "g", "--json")) == ""


_RUNBOOKS = [page for page in _PAGES if page.startswith("docs/runbooks/")]
_FIRST_HOUR = "Your first hour on call"
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_.a-z]*")


def parsed_fault_of(tree: Any, words: tuple[str, ...]) -> str:
    """Why the command would refuse the whole line, with its placeholders (TOPIC) filled; "" where it would run it."""
    if words[0] in _OF_OTHERS:
        return ""
    filled = ["1" if _PLACEHOLDER.fullmatch(word) else word for word in words]
    here = tree
    with tree.make_context("acklog", ["topics", "list"]) as context:
        while hasattr(here, "get_command"):
            found = here.get_command(context, filled[0]) if filled else None
            if found is None:
                return f"there is no command {' '.join(filled)!r}"
            here, filled = found, filled[1:]
        try:
            here.make_context(words[0], filled, parent=context)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


@pytest.mark.parametrize("page", [*_RUNBOOKS, "docs/operations.md"])
def test_what_people_paste_at_night_is_whole(page: str) -> None:
    """In runbooks, and in the first hour: no argument that must be given is missing, and none is too many."""
    text = (REPOSITORY / page).read_text()
    if page == "docs/operations.md":
        start = text.index(f"## {_FIRST_HOUR}")
        text = text[start : text.index("\n## ", start + 1)]
    tree = build_tree()
    lines = list(command_lines_of(page, text))
    wrong = [
        (" ".join(each.words), fault) for each in lines if each.words and (fault := parsed_fault_of(tree, each.words))
    ]
    assert wrong == []
    assert lines or page.startswith("docs/runbooks/")


def test_what_is_not_whole_is_found() -> None:
    tree = build_tree()
    for line in ("lag GROUP", "dlq purge", "dlq redrive", "cluster drain", "keys skip"):
        assert parsed_fault_of(tree, tuple(line.split())), line
    for line in ("lag --group GROUP", "dlq purge TOPIC", "cluster drain NODE", "dlq show TOPIC.GROUP.dlq", "doctor"):
        assert parsed_fault_of(tree, tuple(line.split())) == "", line
