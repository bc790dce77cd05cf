"""Completion for bash: a table of verbs and options, and a walk over what was typed."""

from typing import Final

from tests.docs.surface import Verb, surface

WALK: Final = r"""
# bash completion of skymem, made of its command line: python -m tests.docs.manual

_skymem() {
    local cur=${COMP_WORDS[COMP_CWORD]} awaited='' at='' word i
    local verbs options valued listed files
    COMPREPLY=()
    _skymem_at ''
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = ]]; then
            continue
        elif [[ -n $awaited && ($word != -* || ${COMP_WORDS[i - 1]} == =) ]]; then
            awaited=''
        elif [[ $word == -* ]]; then
            awaited=''
            [[ " $valued " == *" $word "* ]] && awaited=$word
        elif [[ -n $verbs && " $verbs " == *" $word "* ]]; then
            at="${at:+$at }$word"
            _skymem_at "$at"
        fi
    done
    [[ $cur == = ]] && cur=''
    if [[ -n $awaited ]]; then
        _skymem_value "$at $awaited"
        if [[ -n $listed ]]; then
            COMPREPLY=($(compgen -W "$listed" -- "$cur"))
        elif [[ " $files " == *" $awaited "* ]]; then
            _skymem_files
        fi
    elif [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$options" -- "$cur"))
    elif [[ -n $verbs ]]; then
        COMPREPLY=($(compgen -W "$verbs" -- "$cur"))
    elif [[ " $files " == *' argument '* ]]; then
        _skymem_files
    fi
}

_skymem_files() {
    local IFS=$'\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen -f -- "$cur"))
}
"""


def bash() -> str:
    """The script."""
    found = [*surface()]
    return "\n".join(
        [
            WALK.lstrip(),
            "_skymem_at() {",
            "    verbs='' options='' valued='' files=''",
            "    case $1 in",
            *(line for verb in found for line in _place(verb)),
            "    esac",
            "}",
            "",
            "_skymem_value() {",
            "    listed=''",
            "    case $1 in",
            *(line for verb in found for line in _values(verb)),
            "    esac",
            "}",
            "",
            "complete -F _skymem skymem",
            "",
        ]
    )


def _place(verb: Verb) -> list[str]:
    options = [name for one in verb.options for name in one.names]
    valued = [name for one in verb.options if one.metavar for name in one.names]
    files = [name for one in verb.options if one.takes_file for name in one.names]
    files += ["argument"] if verb.takes_file else []
    told = {"verbs": verb.verbs, "options": options, "valued": valued, "files": files}
    lines = [f"            {name}='{' '.join(words)}'" for name, words in told.items() if words]
    return [f"        '{verb.name}')", *lines, "            ;;"]


def _values(verb: Verb) -> list[str]:
    return [
        f"        '{verb.name} {name}') listed='{' '.join(one.values)}' ;;"
        for one in verb.options
        if one.values
        for name in one.names
    ]
