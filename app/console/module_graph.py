"""Which modules a page needs: those that its first one imports, and what these import. Pure."""

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^(?:import|export) [^"]*from "(\.[^"]+)";|^import "(\.[^"]+)";', re.MULTILINE)


def modules_from(start: str, contents: Mapping[str, bytes]) -> list[str]:
    """Paths, in order. Raises KeyError where a module is imported that is not there."""
    found = {start}
    waiting = [start]
    while waiting:
        path = waiting.pop()
        for imported in imports_of(path, contents[path].decode()):
            if imported not in found:
                found.add(imported)
                waiting.append(imported)
    return sorted(found)


def imports_of(path: str, text: str) -> list[str]:
    """The paths that the module at `path` names."""
    folder = posixpath.dirname(path)
    return [posixpath.normpath(posixpath.join(folder, first or second)) for first, second in _IMPORT.findall(text)]
