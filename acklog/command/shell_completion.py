"""Completion: the scripts for shells, and what answers them.

A script calls `acklog` with `_ACKLOG_COMPLETE` set and the words typed so far; Typer finds out what can follow.
"""

import sys
from collections.abc import Mapping
from typing import NoReturn

BASH = """\
_acklog_completion() {
    local IFS=$'\\n'
    COMPREPLY=( $( env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD="$COMP_CWORD" \\
                   _ACKLOG_COMPLETE=complete_bash acklog 2>/dev/null ) )
    return 0
}
complete -o default -F _acklog_completion acklog
"""

ZSH = """\
#compdef acklog
_acklog_completion() {
    eval "$(env _TYPER_COMPLETE_ARGS="${words[1,$CURRENT]}" _ACKLOG_COMPLETE=complete_zsh acklog 2>/dev/null)"
}
compdef _acklog_completion acklog
"""

FISH = """\
function __acklog_complete
    env _ACKLOG_COMPLETE=complete_fish _TYPER_COMPLETE_FISH_ACTION=$argv[1] \\
        _TYPER_COMPLETE_ARGS=(commandline -cp) acklog 2>/dev/null
end
complete --command acklog --no-files --arguments "(__acklog_complete get-args)" \\
    --condition "__acklog_complete is-args"
"""

SCRIPTS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def complete(environment: Mapping[str, str]) -> NoReturn:
    """Answer a script, and end the process. A shell that asks for something else gets nothing."""
    from typer._completion_classes import completion_init

    from acklog.command.tree import build_tree

    if not environment["_ACKLOG_COMPLETE"].startswith("complete_"):
        sys.exit(1)
    completion_init()
    try:
        build_tree().main(args=[], prog_name="acklog", complete_var="_ACKLOG_COMPLETE")
    except Exception:
        sys.exit(1)
    sys.exit(0)
