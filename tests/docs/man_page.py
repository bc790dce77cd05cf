"""The man page, in the macros of `man(7)`, which every `man` reads."""

import re
import tomllib
from pathlib import Path
from typing import Final

from tests.docs.reference import CODES
from tests.docs.surface import Option, Verb, surface

PROJECT: Final = tomllib.loads(
    (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
)["project"]

DATE: Final = "2026-11-29"
"""Of this manual; a fixed one, so that it can be made again."""

VARIABLES: Final = {
    "SKYMEM_HOME": "The home, where --home does not say.",
    "SKYMEM_AGENT": "The agent, where --agent does not say.",
    "SKYMEM_BOUND_AGENT": "Binds the process to one agent, for good: it reaches no other.",
    "SKYMEM_ENGINE": "off keeps the process from using the engine, and from starting it.",
}

FILES: Final = {
    "retention_rules.yaml": "What is kept, promoted, compressed and forgotten.",
    "schedule.yaml": "What runs when.",
    "memory/AGENT/short_term.jsonl": "Where agents append, one JSON object a line.",
    "memory/AGENT/long_term.jsonl": "What was promoted.",
    "audit/ledger.jsonl": "Every operation: ids, reasons, numbers.",
    "status/": "What pollers read.",
}


def man_page() -> str:
    """All of it."""
    whole, *verbs = surface()
    parts = [
        '.\\" Made of the command line itself: python -m tests.docs.manual',
        f'.TH SKYMEM 1 {DATE} "skymem {PROJECT["version"]}"',
        ".SH NAME",
        "skymem \\- the keeper of AI agents' memory",
        ".SH SYNOPSIS",
        ".B skymem",
        "[\\fIOPTIONS\\fR] \\fIVERB\\fR [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        *_paragraphs(PROJECT["description"]),
        ".SH OPTIONS",
        *_options(whole.options),
        ".SH VERBS",
        *(line for verb in verbs if not verb.verbs for line in _verb(verb)),
        ".SH ENVIRONMENT",
        *(line for name, said in VARIABLES.items() for line in _entry(_bold(name), said)),
        ".SH FILES",
        "Below the home:",
        *(line for name, said in FILES.items() for line in _entry(_italic(name), said)),
        ".SH EXIT STATUS",
        *(line for code, said in CODES.items() for line in _entry(_bold(str(code)), said)),
        ".SH SEE ALSO",
        "The README that comes with it says more of all of this.",
    ]
    return "\n".join(parts) + "\n"


def _verb(verb: Verb) -> list[str]:
    arguments = verb.usage.removeprefix(f"skymem {verb.name}").strip()
    return [
        f'.SS "skymem {_said(verb.name)}"',
        f"{_bold(f'skymem {verb.name}')} {_italic(arguments)}".rstrip(),
        ".PP",
        *_paragraphs(verb.help),
        *(part for one, said in verb.arguments.items() for part in _entry(_italic(one), said)),
        *_options([one for one in verb.options if "--help" not in one.names]),
    ]


def _options(options: list[Option]) -> list[str]:
    lines = []
    for one in options:
        names = ", ".join(map(_bold, one.names))
        lines += _entry(f"{names} {_italic(one.metavar)}".rstrip(), one.help)
    return lines


def _entry(term: str, said: str) -> list[str]:
    return [".TP", term, *_wrapped(said)]


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for number, paragraph in enumerate(text.strip().split("\n\n")):
        lines += [*([".PP"] if number else []), *_wrapped(" ".join(paragraph.split()))]
    return lines


def _wrapped(text: str) -> list[str]:
    """A sentence a line, as roff wants it, and none too long to be looked at."""
    lines, line = [], ""
    for word in text.split():
        if line and (len(_said(f"{line} {word}")) > 78 or re.search(r"[.!?]$", line)):
            lines.append(line)
            line = ""
        line = f"{line} {word}".strip()
    return [_said(one) for one in [*lines, line] if one]


def _bold(text: str) -> str:
    return f"\\fB{_said(text)}\\fR" if text else ""


def _italic(text: str) -> str:
    return f"\\fI{_said(text)}\\fR" if text else ""


def _said(text: str) -> str:
    """Text that says to roff nothing but itself."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    text = re.sub(r"[^\x00-\x7f]", lambda found: f"\\[u{ord(found[0]):04X}]", text)
    return re.sub(r"^(?=[.'])", r"\\&", text)
