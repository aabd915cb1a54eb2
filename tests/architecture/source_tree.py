"""The repository's own source, as the architecture tests read it: parsed, never imported."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PRODUCT_PACKAGES = ("acklog", "cluster", "storage", "app", "acklog_server")
SPARK_PACKAGES = ("acklog_spark", "pyspark_acklog")  # in the folder spark/: parts of a client, with no ports to keep to
TEXT_SUFFIXES = frozenset({".cfg", ".ini", ".json", ".md", ".py", ".sh", ".svg", ".toml", ".txt", ".yaml", ".yml"})
TEXT_NAMES = frozenset({"Makefile", ".editorconfig", ".gitignore", "run"})
_NOT_OURS = frozenset({".git", ".venv", "__pycache__", "build", "data", "dist"})
_NOT_OURS_SUFFIXES = ("_cache", ".egg-info")


@dataclass(frozen=True)
class Module:
    """One Python file. `path` is relative to the repository, with `/`."""

    path: str
    source: str

    @property
    def tree(self) -> ast.Module:
        return _parse(self.source)

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")


def product_modules() -> list[Module]:
    """What is installed on a server or with a client."""
    return [module for module in python_modules() if module.path.startswith(_prefixes(PRODUCT_PACKAGES))]


@cache
def python_modules() -> list[Module]:
    """Every Python file of the repository."""
    return [Module(path, content) for path, content in text_files() if path.endswith(".py")]


@cache
def text_files() -> list[tuple[str, str]]:
    """(path, content) of everything that a person writes."""
    return [
        (path.relative_to(REPOSITORY).as_posix(), path.read_text())
        for path in sorted(_walk(REPOSITORY))
        if path.suffix in TEXT_SUFFIXES or path.name in TEXT_NAMES
    ]


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method, nested ones included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


@cache
def _parse(source: str) -> ast.Module:
    return ast.parse(source)


def _walk(directory: Path) -> Iterator[Path]:
    for entry in directory.iterdir():
        if entry.name in _NOT_OURS or entry.name.endswith(_NOT_OURS_SUFFIXES) or entry.name == ".hypothesis":
            continue
        if entry.is_dir():
            yield from _walk(entry)
        elif entry.is_file():
            yield entry


def _prefixes(packages: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{package}/" for package in packages)
