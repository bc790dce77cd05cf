"""A report of a home in which everything is called by something that wants to be markup."""

from dataclasses import replace
from pathlib import Path

from skymem.reporting.figures import Missed, Report
from tests.conftest import line
from tests.reporting.conftest import Weeks, weeks_in

EVIL = (
    "<img src=x onerror=alert(1)>",
    "</script><script>document.title='owned'</script>",
    "]]><script>alert(1)</script>",
    "--><svg onload=alert(1)>",
    "\"><iframe src='https://example.org'></iframe>",
    "' onmouseover='alert(1)",
    "</title></style></svg></td></table><style>*{display:none}</style>",
    "<a href=javascript:alert(1)>&lt;b&gt;&amp;amp;",
    "\u202egnol\u2066\u200b\x1b[2J\x00\ufeff",
    "{{7*7}} ${7*7} <% 7*7 %>",
)


def haunted_report(root: Path) -> Report:
    """Hostile text wherever a writer, a directory or a rule of another version can put it."""
    desk = weeks_in(root)
    desk.at(0)
    for number, evil in enumerate(EVIL):
        fields = {"tags": [evil], "kind": evil, "id": f"{number}{evil}", "user_id": evil}
        desk.echo(line(f"{number} {evil}", 0.5 + number / 20, desk.clock, **fields))
    desk.job()
    desk.answered(*(f"{number}{evil}" for number, evil in enumerate(EVIL)), took_ms=4.0)
    found = desk.report()
    evil = " ".join(EVIL)
    agents = [replace(one, name=evil, problems=(evil,)) for one in found.agents]
    rules = [replace(one, job=evil, gate=evil) for one in found.rules]
    missed = _missed(desk, evil)
    return replace(
        found, home=evil, version=evil, alarms=(evil,), notes=(evil,), rules=tuple(rules),
        agents=(*agents, *agents),
        regret=replace(found.regret, missed=missed, taken=9),
        index=replace(found.index, model=evil, problems=(evil,)),
        jobs=tuple(replace(one, job=evil) for one in found.jobs),
    )  # fmt: skip


def _missed(desk: Weeks, evil: str) -> tuple[Missed, ...]:
    at = desk.clock
    return (Missed(evil, evil, evil, evil, evil, at, at, evil, 1),)
