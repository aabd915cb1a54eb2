"""A page for browsers: nothing but what it loads. Links are relative, as a proxy may serve all of it under a prefix."""

from dataclasses import dataclass
from html import escape

from app.console.console_files import ConsoleFiles
from app.console.module_graph import modules_from

ICON = "icon.svg"


@dataclass(frozen=True, slots=True)
class BrowserPage:
    """`folder` is where it finds the files of a release, `start` the module that it begins with, `place` the id of the
    element that its views are drawn into, `without_scripts` what who has no JavaScript sees, in HTML."""

    title: str
    folder: str
    start: str
    place: str
    styles: tuple[str, ...]
    without_scripts: str

    def html(self, files: ConsoleFiles, **data: str) -> bytes:
        """Without any script or style of its own: the content security policy allows none. All modules are named, so
        that a browser asks for them at once, and not for one after the other as it finds them. `data` is what the views
        are told by the server."""
        folder = escape(f"{self.folder}/{files.release}/")
        styles = "".join(f'<link rel="stylesheet" href="{folder}{escape(path)}">' for path in self.styles)
        modules = "".join(
            f'<link rel="modulepreload" href="{folder}{escape(path)}">'
            for path in modules_from(self.start, files.contents)
        )
        told = "".join(f' data-{escape(name)}="{escape(value)}"' for name, value in data.items())
        return (
            '<!doctype html><html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="color-scheme" content="light dark"><title>{escape(self.title)}</title>'
            f'<link rel="icon" href="{folder}{ICON}">{styles}{modules}'
            f'<div id="{self.place}"{told}></div><script type="module" src="{folder}{self.start}"></script>'
            f"<noscript>{self.without_scripts}</noscript></html>\n"
        ).encode()

    def paths(self, files: ConsoleFiles) -> list[str]:
        """What it loads, below the folder of the release."""
        return [*modules_from(self.start, files.contents), *self.styles, ICON]
