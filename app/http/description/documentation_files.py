"""Files of the documentation's page, as they lie in the package."""

import pkgutil

from app.http.exchange.web_file import WebFile

_CSS = "text/css; charset=utf-8"
_SCRIPT = "text/javascript; charset=utf-8"
PACKAGED = {
    "swagger-ui-bundle.js": ("swagger_ui/swagger-ui-bundle.js", _SCRIPT),
    "swagger-ui.css": ("swagger_ui/swagger-ui.css", _CSS),
    "start.js": ("web/start.js", _SCRIPT),
    "page.css": ("web/page.css", _CSS),
}
"""Name in the URL to (path in this package, media type)."""


def packaged(name: str) -> WebFile:
    """Reads a file of `PACKAGED`. Raises OSError."""
    path, media_type = PACKAGED[name]
    content = pkgutil.get_data("app.http.description", path)
    if content is None:
        raise FileNotFoundError(path)
    return WebFile(content, media_type)
