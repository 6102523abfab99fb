"""Print a script that makes a shell complete commands, options and roles.

In bash: eval "$(conformance completion bash)"; in zsh: eval "$(conformance completion zsh)".
"""

import argparse
import importlib

from conformance import cli
from conformance.definitions import protocols

_FUNCTION = """\
_conformance() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" words
    if [ "$COMP_CWORD" -eq 1 ]; then
        words='{commands}'
    else
        case "${{COMP_WORDS[1]}}:$word" in
{cases}
            *) words='{names}' ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ "${{#COMPREPLY[@]}}" -gt 0 ] || COMPREPLY=($(compgen -f -- "$word"))
}}
complete -o filenames -F _conformance conformance"""


def options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"))


def execute(args: argparse.Namespace) -> int:
    cases = [f"            {name}:-*) words='{_options(name)}' ;;" for name in cli.COMMANDS]
    if args.shell == "zsh":
        print("autoload -Uz compinit bashcompinit && compinit && bashcompinit")
    print(
        _FUNCTION.format(
            commands=" ".join(cli.COMMANDS),
            cases="\n".join(cases),
            names=" ".join(protocols.roles()),
        )
    )
    return 0


def _options(command: str) -> str:
    """The long options of a command."""
    parser = argparse.ArgumentParser(add_help=False)
    importlib.import_module(f"conformance.commands.{command}").options(parser)
    words = parser.format_usage().replace("[", " ").replace("]", " ").split()
    return " ".join(sorted({word for word in words if word.startswith("--")}))
