"""Completion for zsh: `_arguments` for each verb."""

from typing import Final

from tests.docs.surface import Option, Verb, surface

WALK: Final = r"""#compdef skymem
# zsh completion of skymem, made of its command line: python -m tests.docs.manual

_skymem() {
    local curcontext="$curcontext" at='' context state state_descr line
    local -i i=2 last=1
    typeset -A opt_args
    while ((i < CURRENT)); do
        case $words[i] in
            (GLOBALS) ((i += 1)) ;;
            (-*) ;;
            (*)
                if [[ -z $at ]]; then
                    at=$words[i] last=i
                elif [[ $at != *' '* && " GROUPS " == *" $at "* ]]; then
                    at="$at $words[i]" last=i
                fi
                ;;
        esac
        ((i += 1))
    done
    words=("${(@)words[last,-1]}")
    ((CURRENT -= last - 1))
    case $at in
"""

END: Final = r"""    esac
}

_skymem_verbs() {
    local -a verbs
    verbs=("$@")
    _describe -t verbs verb verbs
}

_skymem "$@"
"""


def zsh() -> str:
    """The script."""
    whole, *verbs = surface()
    valued = [name for one in whole.options if one.metavar for name in one.names]
    groups = [verb.name for verb in verbs if verb.verbs]
    walk = WALK.replace("GLOBALS", "|".join(valued)).replace("GROUPS", " ".join(groups))
    return walk + "".join(map(_place, (whole, *verbs))) + END


def _place(verb: Verb) -> str:
    lines = [_option(one) for one in verb.options]
    if verb.verbs:
        told = " ".join(_quoted(f"{name}:{said}") for name, said in verb.verbs.items())
        lines.append("'*: :->verbs'")
    elif verb.takes_file:
        lines.append("'*:file:_files'")
    else:
        lines.append("'*:text:()'")
    text = f"        ('{verb.name}')\n            _arguments -S -C \\\n"
    text += "".join(f"                {line} \\\n" for line in lines)
    text = text.removesuffix(" \\\n") + "\n"
    if verb.verbs:
        text += f"            [[ $state == verbs ]] && _skymem_verbs \\\n                {told}\n"
    return text + "            ;;\n"


def _option(one: Option) -> str:
    said = one.help.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    said = said.replace(":", "\\:")
    value = ""
    if one.metavar:
        what = f"({' '.join(one.values)})" if one.values else "_files" if one.takes_file else "()"
        value = f":{one.metavar.replace(':', chr(92) + ':')}:{what}"
    several = "*" if one.repeated else ""
    each = [
        _quoted(f"{several}{name}{'=' if value and name.startswith('--') else ''}[{said}]{value}")
        for name in one.names
    ]
    return " ".join(each)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
