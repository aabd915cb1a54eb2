"""The page of the web console: nothing but what it loads. Links are relative, as a proxy may serve all of it under a
prefix."""

from html import escape

from app.console.console_files import ConsoleFiles

START = "main.js"


def console_page(files: ConsoleFiles) -> bytes:
    """HTML without any script or style of its own: the content security policy allows none. All modules are named, so
    that a browser asks for them at once, and not for one after the other as it finds them."""
    folder = escape(f"console/assets/{files.release}/")
    styles = "".join(f'<link rel="stylesheet" href="{folder}{escape(path)}">' for path in files.named(".css"))
    modules = "".join(f'<link rel="modulepreload" href="{folder}{escape(path)}">' for path in files.named(".js"))
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>Acklog</title>'
        f'<link rel="icon" href="{folder}icon.svg">{styles}{modules}'
        f'<div id="console"></div><script type="module" src="{folder}{START}"></script>'
        "<noscript><p>The console needs JavaScript. Without it: "
        '<a href="docs/plain">every call of the API</a>.</p></noscript></html>\n'
    ).encode()
