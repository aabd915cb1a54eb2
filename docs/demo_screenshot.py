"""Draws `acklog demo` as a terminal shows it at its end: `python -m docs.demo_screenshot`."""

import os
import re

from docs.administration_screenshots import WIDTH, draw
from tests.support.command_run import run_command

_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")


def final_screen(written: str) -> str:
    """What stands on a terminal in the end, colours included. (Knows what rich's live display writes: lines, and going
    up to write them anew.)"""
    lines = [""]
    row = 0
    for number, letter, is_return, is_newline, text in _PIECE.findall(written):
        if is_newline:
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif letter == "A":
            row = max(0, row - int(number or 1))
        elif letter == "K" or is_return:
            lines[row] = "" if letter else lines[row]
        elif letter == "m":
            lines[row] += f"\x1b[{number}m"
        else:
            lines[row] += text
    return "\n".join(line.rstrip() for line in lines)


def main() -> None:
    """Run it, and draw it."""
    os.environ |= {"COLUMNS": str(WIDTH), "TERM": "xterm-256color", "COLORTERM": "truecolor"}  # what rich goes by
    result = run_command("demo", is_terminal=True, environment={"COLUMNS": str(WIDTH)})
    shown = [final_screen(result.stderr).rstrip("\n"), result.stdout.rstrip("\n")]
    draw("demo", [("acklog demo", "\n".join(shown))])


if __name__ == "__main__":
    main()
