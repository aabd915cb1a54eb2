"""Style sheets that several pages share, in the order in which they are loaded."""

COLOURS, BASE = "styles/a_colours.css", "styles/b_base.css"
SHARED_STYLES = (COLOURS, BASE, "styles/c_shell.css", "styles/d_parts.css")
PLAIN_STYLES = (COLOURS, BASE, "styles/g_plain.css")
"""Of pages that need no script."""
