"""`acklog completion`: the script that makes a shell complete commands, options and topic names."""

from typing import Annotated

import typer

from acklog.command.failures import UsageError, near_names
from acklog.command.session import session_of
from acklog.command.shell_completion import SCRIPTS
from acklog.command.tree import CommandTyper

command = CommandTyper(name="completion")


@command.command("completion")
def completion(
    context: typer.Context,
    shell: Annotated[
        str,
        typer.Argument(
            metavar="[bash|zsh|fish]", help="The shell; by default the one you use.", autocompletion=lambda: [*SCRIPTS]
        ),
    ] = "",
) -> None:
    """Print the completion script of a shell.

    bash: source <(acklog completion bash), in ~/.bashrc; zsh: the same in ~/.zshrc, after compinit;
    fish: acklog completion fish > ~/.config/fish/completions/acklog.fish.
    """
    session = session_of(context)
    name = shell or session.surroundings.environment.get("SHELL", "").rpartition("/")[2]
    if name not in SCRIPTS:
        raise UsageError(
            f"there is no completion for {name!r}" if name else "which shell?",
            field="SHELL",
            near=near_names(name, [*SCRIPTS]),
            hint="Give one of " + ", ".join(SCRIPTS) + ".",
        )
    if session.output.is_json:
        session.output.show({"shell": name, "script": SCRIPTS[name]})
    else:
        session.output.put_text(SCRIPTS[name])
