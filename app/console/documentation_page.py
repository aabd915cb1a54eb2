"""The page `/docs`: every call, to read about and to try out."""

from app.console.browser_page import BrowserPage
from app.console.shared_styles import SHARED_STYLES

DOCUMENTATION_PAGE = BrowserPage(
    title="Acklog API",
    folder="docs/assets",
    start="documentation.js",
    place="documentation",
    styles=(*SHARED_STYLES, "styles/f_documentation.css"),
    without_scripts=(
        '<p>Without JavaScript: <a href="docs/plain">every call</a>, <a href="docs/errors">every error</a>, '
        '<a href="openapi.json">openapi.json</a>.</p>'
    ),
)
