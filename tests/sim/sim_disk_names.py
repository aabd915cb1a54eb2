"""The names on a simulated disk: which are durable, which a power loss may undo, each on its own.

A change of names that is not yet durable in every directory it concerns may survive or be undone independently of all
others, and independently of the files' bytes. A rename stays atomic: the file is found under one of its two names.
"""

import errno
import os
import random
from dataclasses import dataclass, field

from tests.sim.sim_disk_content import FileContent


@dataclass(eq=False, slots=True)
class Node:
    """A file or a directory, wherever it is linked. `serial` is the order of creation."""

    serial: int
    content: FileContent | None  # None: a directory
    current: dict[str, "Node"] = field(default_factory=dict)
    durable: dict[str, "Node"] = field(default_factory=dict)
    durable_place: "Place | None" = None

    @property
    def is_directory(self) -> bool:
        return self.content is None


@dataclass(frozen=True, slots=True)
class Place:
    directory: Node
    name: str


@dataclass(frozen=True, slots=True)
class NameChange:
    """`node` left `source` (None: it was created) and came to `target` (None: it was removed)."""

    node: Node
    source: Place | None
    target: Place | None

    def concerns(self, directory: Node) -> bool:
        return any(place is not None and place.directory is directory for place in (self.source, self.target))


class NameTree:
    def __init__(self) -> None:
        self._serial = 0
        self.root = self._new_node(None)
        self._unsynced: list[NameChange] = []

    # --- looking up ---

    def find(self, path: str) -> Node | None:
        node = self.root
        for part in path_parts(path):
            if not node.is_directory:
                return None
            child = node.current.get(part)
            if child is None:
                return None
            node = child
        return node

    def file(self, path: str) -> Node:
        node = self.find(path)
        if node is None:
            raise missing(path)
        if node.is_directory:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return node

    def directory(self, path: str) -> Node:
        node = self.find(path)
        if node is None:
            raise missing(path)
        if not node.is_directory:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
        return node

    def files(self) -> dict[str, Node]:
        """Every file by its path, sorted."""
        found: dict[str, Node] = {}
        _collect(self.root, "", found)
        return found

    def file_nodes(self) -> list[Node]:
        """Every file, in no order: a disk with an end asks at every write what is used."""
        found: list[Node] = []
        directories = [self.root]
        for directory in directories:
            for child in directory.current.values():
                (found if child.content is not None else directories).append(child)
        return found

    # --- changes ---

    def create_file(self, path: str) -> Node:
        place = self._place(path)
        if place.name in place.directory.current:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        node = self._new_node(FileContent())
        self._change(NameChange(node, None, place))
        return node

    def make_directory(self, path: str) -> None:
        node = self.root
        for part in path_parts(path):
            child = node.current.get(part)
            if child is None:
                child = self._new_node(None)
                self._change(NameChange(child, None, Place(node, part)))
            elif not child.is_directory:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
            node = child

    def rename(self, source: str, target: str) -> None:
        node = self.find(source)
        if node is None:
            raise missing(source)
        target_place = self._place(target)
        replaced = target_place.directory.current.get(target_place.name)
        if replaced is node:
            return
        if replaced is not None:
            if replaced.is_directory and not node.is_directory:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
            if node.is_directory and not replaced.is_directory:
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), target)
            if replaced.current:
                raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), target)
        self._change(NameChange(node, self._place(source), target_place))

    def remove_file(self, path: str) -> None:
        self._change(NameChange(self.file(path), self._place(path), None))

    def remove_directory(self, path: str) -> None:
        node = self.directory(path)
        if node.current:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), path)
        self._change(NameChange(node, self._place(path), None))

    # --- durability ---

    def sync_directory(self, directory: Node) -> None:
        waiting = self._unsynced
        self._unsynced = []
        for change in waiting:
            if change.concerns(directory):
                self._make_durable(change)
            else:
                self._unsynced.append(change)

    def fail_sync_directory(self, directory: Node, rng: random.Random) -> None:
        """Some of the directory's changes became durable; the others stay what they were: not synced."""
        waiting = self._unsynced
        self._unsynced = []
        for change in waiting:
            if change.concerns(directory) and rng.random() < 0.5:
                self._make_durable(change)
            else:
                self._unsynced.append(change)

    def lose_power(self, rng: random.Random) -> None:
        keep = rng.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        waiting = self._unsynced
        self._unsynced = []
        for change in waiting:
            if rng.random() < keep:
                self._make_durable(change)
        _restore(self.root)

    # --- inside ---

    def _new_node(self, content: FileContent | None) -> Node:
        self._serial += 1
        return Node(self._serial, content)

    def _place(self, path: str) -> Place:
        parts = path_parts(path)
        if not parts:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        return Place(self.directory("/".join(parts[:-1])), parts[-1])

    def _change(self, change: NameChange) -> None:
        if change.source is not None:
            del change.source.directory.current[change.source.name]
        if change.target is not None:
            change.target.directory.current[change.target.name] = change.node
        self._unsynced.append(change)

    def _make_durable(self, change: NameChange) -> None:
        """The node is durable where this change put it, and nowhere else; its earlier changes no longer matter."""
        node = change.node
        if node.durable_place is not None:
            del node.durable_place.directory.durable[node.durable_place.name]
        node.durable_place = change.target
        if change.target is not None:
            replaced = change.target.directory.durable.get(change.target.name)
            if replaced is not None:
                replaced.durable_place = None
            change.target.directory.durable[change.target.name] = node
        self._unsynced = [other for other in self._unsynced if other.node is not node]


def path_parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith("/") or ".." in parts:
        raise ValueError(f"{path!r} leaves the data directory")
    return parts


def missing(path: str) -> FileNotFoundError:
    return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)


def _restore(directory: Node) -> None:
    directory.current = dict(directory.durable)
    for child in directory.current.values():
        if child.is_directory:
            _restore(child)


def _collect(directory: Node, prefix: str, found: dict[str, Node]) -> None:
    for name in sorted(directory.current):
        child = directory.current[name]
        if child.is_directory:
            _collect(child, f"{prefix}{name}/", found)
        else:
            found[prefix + name] = child
