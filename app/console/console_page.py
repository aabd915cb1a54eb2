"""The page of the web console."""

from app.console.browser_page import BrowserPage
from app.console.shared_styles import SHARED_STYLES

CONSOLE_PAGE = BrowserPage(
    title="Acklog",
    folder="console/assets",
    start="main.js",
    place="console",
    styles=(*SHARED_STYLES, "styles/e_screens.css", "vendor/uplot.css"),
    without_scripts=(
        '<p>The console needs JavaScript. Without it: <a href="docs/plain">every call of the API</a>.</p>'
    ),
)
