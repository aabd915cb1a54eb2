"""The console's files as they lie in the repository: that all can be served, and what they may not do."""

import re
from hashlib import sha256

import pytest

from app.console.browser_page import BrowserPage
from app.console.console_files import SERVED, ConsoleFiles, media_type_of, read_console
from app.console.console_page import CONSOLE_PAGE
from app.console.documentation_page import DOCUMENTATION_PAGE
from app.console.module_graph import imports_of, modules_from
from app.console.shared_styles import PLAIN_STYLES
from tests.architecture.source_tree import REPOSITORY

STATIC = REPOSITORY / "app" / "console" / "static"
VENDORED = STATIC / "vendor"
DIGESTS = {
    "htm.js": "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4",
    "preact.js": "225d7a773766e6fb2cfcc45274fe41d2059f5782f3f2c4569aa5132a2d3a2902",
    "preact_hooks.js": "5c65ab263688d0805862fd0807c779af02c2799c44fda0873dfcb870d0da70a0",
    "uplot.css": "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    "uplot.js": "8301d1a4fcc08355d4ff7e8c87cc4a4e13cc4da93ba50a20816005488c0c5f6e",
}
MODULE_LINES_MAX = 300
STYLE_LINES_MAX = 300
OURS = [path for path in sorted(STATIC.rglob("*")) if path.suffix in SERVED and VENDORED not in path.parents]
FORBIDDEN = {
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write": "makes HTML of text",
    r"DOMParser|createContextualFragment|srcdoc": "makes HTML of text",
    r"dangerouslySetInnerHTML": "makes HTML of text",
    r"\beval\(|new Function\(|setTimeout\(\s*[\"'`]": "makes code of text",
    r"\bstyle=\"|setAttribute\(\s*\"style\"": "the content security policy allows no such style",
    r"https?://(?!www\.w3\.org/)": "nothing comes from, or goes to, another host",
    r"document\.cookie|indexedDB": "a token is kept in the tab's session and nowhere else",
}


PAGES = (CONSOLE_PAGE, DOCUMENTATION_PAGE)


def test_every_file_is_of_a_page_and_every_page_has_its_files() -> None:
    found = read_console()
    used = {*PLAIN_STYLES}.union(*(page.paths(found) for page in PAGES))
    assert sorted(used) == sorted(found.contents)


def test_no_import_is_overlooked() -> None:
    """Of ours: however it is written, it is one of those that a page names; and none is made at run time."""
    found = read_console()
    for path in OURS:
        if path.suffix != ".js":
            continue
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        said = re.findall(r'(?:^import|\bfrom)\s*"(\.[^"]+)"', text, re.MULTILINE)
        name = path.relative_to(STATIC).as_posix()
        assert len(said) == len(imports_of(name, found.contents[name].decode())), name
        assert "import(" not in text, name


def test_a_module_needs_what_it_imports_and_what_that_imports() -> None:
    contents = {
        "a.js": b'import { b } from "./in/b.js";\nimport {\n  x,\n  y,\n} from "./x.js";\n',
        "in/b.js": b'export { c } from "../c.js";\nimport "./d.js";\n',
        "in/d.js": b'import { b } from "./b.js";\n// import { z } from "./z.js";\n',
        "c.js": b"",
        "x.js": b"",
        "z.js": b"",
    }
    assert modules_from("a.js", contents) == ["a.js", "c.js", "in/b.js", "in/d.js", "x.js"]
    assert modules_from("z.js", contents) == ["z.js"]
    with pytest.raises(KeyError):
        modules_from("a.js", {"a.js": contents["a.js"]})


def test_modules_are_short_and_say_what_they_are() -> None:
    for path in OURS:
        text = path.read_text()
        lines = text.count("\n")
        assert lines <= (MODULE_LINES_MAX if path.suffix == ".js" else STYLE_LINES_MAX), path
        assert path.suffix == ".svg" or text.startswith(("/** ", "/* ")), path


@pytest.mark.parametrize(("pattern", "why"), FORBIDDEN.items())
def test_what_a_message_says_is_never_more_than_text(pattern: str, why: str) -> None:
    found = [path.name for path in OURS if re.search(pattern, path.read_text())]
    assert found == [], why


def test_what_others_have_made_is_as_its_readme_says() -> None:
    found = {path.name for path in VENDORED.iterdir() if path.suffix in SERVED}
    assert {name: sha256((VENDORED / name).read_bytes()).hexdigest() for name in found} == DIGESTS
    for name in ("preact", "htm", "uplot"):
        assert (VENDORED / f"{name}.LICENSE").read_text().strip()


def test_a_release_is_named_by_all_that_is_in_it() -> None:
    one = ConsoleFiles({"a.js": b"1", "b.js": b"2"})
    assert re.fullmatch(r"[0-9a-f]{16}", one.release)
    assert one.release == ConsoleFiles({"b.js": b"2", "a.js": b"1"}).release
    others = [{"a.js": b"1"}, {"a.js": b"1", "b.js": b"3"}, {"a.js": b"12", "b.js": b""}, {"a.js": b"1", "c.js": b"2"}]
    assert one.release not in {ConsoleFiles(each).release for each in others}


def test_licences_are_not_served() -> None:
    found = read_console()
    assert all(page.start in found.contents for page in PAGES)
    assert all(media_type_of(path) for path in found.contents)
    assert not any(path.endswith(("LICENSE", ".md")) for path in found.contents)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.place)
def test_a_page_names_its_modules_and_styles_by_their_release(page: BrowserPage) -> None:
    found = read_console()
    text = page.html(found, told='"<b>').decode()
    for path in page.paths(found):
        kind = {"js": "modulepreload", "css": "stylesheet", "svg": "icon"}[path.rpartition(".")[2]]
        assert f'<link rel="{kind}" href="{page.folder}/{found.release}/{path}">' in text
    assert f'<div id="{page.place}" data-told="&quot;&lt;b&gt;"></div>' in text
    assert "<script>" not in text
    assert "style=" not in text
