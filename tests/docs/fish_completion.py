"""Completion for fish: a line for each verb and option, each with the verb it belongs to."""

from typing import Final

from tests.docs.surface import Option, Verb, surface

WALK: Final = r"""
# fish completion of skymem, made of its command line: python -m tests.docs.manual

function __skymem_is
    set -l typed (commandline -opc)
    set -e typed[1]
    set -l at
    while set -q typed[1]
        switch $typed[1]
            case GLOBALS
                set -e typed[1]
            case '-*'
            case '*'
                if not set -q at[1]
                    set at $typed[1]
                else if test (count $at) -eq 1; and contains -- $at[1] GROUPS
                    set -a at $typed[1]
                end
        end
        set -e typed[1]
    end
    test "$at" = "$argv[1]"
end

complete -c skymem -f
"""


def fish() -> str:
    """The script."""
    whole, *verbs = surface()
    valued = [name for one in whole.options if one.metavar for name in one.names]
    groups = [verb.name for verb in verbs if verb.verbs]
    walk = WALK.lstrip().replace("GLOBALS", " ".join(valued)).replace("GROUPS", " ".join(groups))
    lines = [line for verb in (whole, *verbs) for line in _lines(verb)]
    return "\n".join([walk, *lines, ""])


def _lines(verb: Verb) -> list[str]:
    here = f"complete -c skymem -n \"__skymem_is '{verb.name}'\""
    return [
        *(f"{here} -a {name} -d {_quoted(said)}" for name, said in verb.verbs.items()),
        *(f"{here} {_option(one)}" for one in verb.options),
        *([f"{here} -F"] if verb.takes_file else []),
    ]


def _option(one: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in one.names]
    value = ""
    if one.values:
        value = f" -x -a {_quoted(' '.join(one.values))}"
    elif one.metavar:
        value = " -r -F" if one.takes_file else " -x"
    return f"{' '.join(names)}{value} -d {_quoted(one.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
