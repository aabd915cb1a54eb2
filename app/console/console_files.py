"""The files of the web console, as they lie in the package."""

import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable

PACKAGE, FOLDER = "app.console", "static"
SERVED = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""Suffix to media type. What lies beside them, such as licences, is for people who read the source."""


@dataclass(frozen=True, slots=True)
class ConsoleFiles:
    """`contents` by path. `release` names them all: it stands in their addresses, so that a browser may keep each file
    for ever, and after an upgrade has no old one beside new ones."""

    contents: Mapping[str, bytes] = field(repr=False)
    release: str = field(init=False)

    def __post_init__(self) -> None:
        digest = blake2b(digest_size=8)
        for path, content in sorted(self.contents.items()):
            digest.update(f"{path} {len(content)} ".encode())
            digest.update(content)
        object.__setattr__(self, "release", digest.hexdigest())

    def named(self, suffix: str) -> list[str]:
        """Paths, in order."""
        return sorted(path for path in self.contents if path.endswith(suffix))


def read_console() -> ConsoleFiles:
    """Reads them all. Raises OSError."""
    return ConsoleFiles({path: _content(path) for path in _served(files(PACKAGE) / FOLDER, "")})


def media_type_of(path: str) -> str:
    return SERVED[_suffix(path)]


def _content(path: str) -> bytes:
    content = pkgutil.get_data(PACKAGE, f"{FOLDER}/{path}")
    if content is None:
        raise FileNotFoundError(path)
    return content


def _served(folder: Traversable, prefix: str) -> Iterator[str]:
    for each in folder.iterdir():
        path = f"{prefix}{each.name}"
        if each.is_dir():
            yield from _served(each, f"{path}/")
        elif _suffix(path) in SERVED:
            yield path


def _suffix(path: str) -> str:
    name = path.rpartition("/")[2]
    return f".{name.rpartition('.')[2]}"
