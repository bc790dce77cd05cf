"""A home of a few weeks, small enough to be counted by hand, and reports of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from skymem import app
from skymem.app import Home
from skymem.jobs import runner
from skymem.jobs.compact import compact
from skymem.jobs.erase import erase
from skymem.jobs.erase_find import Sought
from skymem.jobs.forget import Wanted as Forget
from skymem.jobs.forget import forget
from skymem.jobs.restore import restore
from skymem.jobs.undo import last_runs, undo
from skymem.reporting.figures import Report
from skymem.reporting.gather import Wanted, report_of
from skymem.stores.fleeting import FleetingFiles
from skymem.stores.home import HomePaths
from skymem.stores.recall_events import note_events
from skymem.stores.status import StatusFiles
from tests.conftest import Desk, line

DAY = 86_400.0
MIDNIGHT = 1_699_920_000.0
"""The 14th of November 2023 begins."""

RULES = """
promote_threshold: 0.7
short_term_max_lines: 4
trash: {keep: 2d}
prune: {older_than: 20d, importance_below: 0.3}
"""


@dataclass
class Weeks(Desk):
    """A desk whose results are recorded, and what its tiers hold is counted each evening."""

    held: list[dict[str, int]] = field(default_factory=list)

    def at(self, day: int, hour: float = 8.0) -> None:
        self.clock = MIDNIGHT + day * DAY + hour * 3600

    def job(self, name: str = "memory_rotate_check") -> None:
        self.clock += 1
        if name == "compact":
            detail, _ = compact(self.work(), [self.agent])
        else:
            detail, _ = runner.run(self.work(), name, [self.agent])
        assert detail["ok"], detail
        detail["duration_s"] = 0.25
        StatusFiles(self.paths, self.files).write_action(name, detail, self.clock)

    def forget(self, *ids: str) -> None:
        table = {"forget": forget(Forget(ids=frozenset(ids)))}
        runner.run(self.work(), "forget", [self.agent], table=table)

    def restore(self, *ids: str) -> None:
        restore(self.work(), self.agent, ids)

    def undo(self) -> None:
        run = next(iter(last_runs(self.work().ledger(), [self.agent])))
        for one in run:
            undo(self.work(), one, [self.agent])

    def erase(self, *ids: str) -> None:
        assert erase(self.work(), self.agent, Sought(ids=ids)).complete

    def answered(self, *ids: str, took_ms: float | None = None) -> None:
        note_events(self.paths, self.files, self.agent, "q", ids, at=self.clock, took_ms=took_ms)

    def evening(self) -> None:
        """Count what each tier holds, with nothing of the report's."""
        held = {tier: len(self.raw(tier)) for tier in ("short", "long", "archive")}
        trash = self.tiers.trash.glob("*.jsonl")
        held["trash"] = sum(len(path.read_bytes().splitlines()) for path in trash)
        self.held.append(held)

    def home(self) -> Home:
        return app.open_home(str(self.paths.root))

    def report(self, since_day: int = 0, *, texts: bool = True) -> Report:
        since = MIDNIGHT + since_day * DAY
        return report_of(self.home(), Wanted(since, self.clock, texts=texts))


def weeks_in(root: Path) -> Weeks:
    app.init_home(root)
    paths = HomePaths(root)
    paths.rules.write_text(RULES)
    made = Weeks(paths, app.open_home(str(root)).rules, FleetingFiles())
    made.shelf().ensure()
    return made


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Weeks:
    """Everything that moves a memory, in eight days; nothing of it is to be changed."""
    desk = weeks_in(tmp_path_factory.mktemp("lived") / "home")
    for day, live in enumerate(_DAYS):
        desk.at(day)
        live(desk)
        desk.evening()
    return desk


def say(desk: Desk, name: str, importance: float, **more: object) -> None:
    at = {"ts": desk.clock - 60, "id": name, **more}
    desk.echo(line(f"{name} is said", importance, **at))  # type: ignore[arg-type]


def _monday(desk: Weeks) -> None:
    for name, importance in (("a", 0.9), ("b", 0.75), ("c", 0.2), ("d", 0.4)):
        say(desk, name, importance)
    desk.job()  # a and b are promoted
    desk.answered("b", took_ms=10.0)


def _tuesday(desk: Weeks) -> None:
    for name in ("e", "f", "g"):
        say(desk, name, 0.5)
    desk.job()  # c is archived: five lines, of four
    desk.answered("a", "c", took_ms=30.0)
    desk.answered("c")


def _wednesday(desk: Weeks) -> None:
    say(desk, "h", 0.8, ttl_days=1)
    desk.job()  # h is promoted
    desk.forget("b", "d")
    desk.answered("g", took_ms=20.0)


def _thursday(desk: Weeks) -> None:
    desk.restore("b")
    say(desk, "i", 0.95)
    desk.job()  # i is promoted
    desk.undo()  # and taken back


def _friday(desk: Weeks) -> None:
    desk.job("prune")  # h has expired
    desk.job("compact")  # d has been in trash for two days


def _saturday(desk: Weeks) -> None:
    desk.erase("e", "a")


def _sunday(desk: Weeks) -> None:
    lines = [one for one in desk.raw("short") if b'"f is said"' not in one]
    desk.short_term.write_bytes(b"".join(one + b"\n" for one in lines))
    desk.job()  # f was removed by hand


def _last(desk: Weeks) -> None:
    say(desk, "j", 0.1)  # no run has seen it yet


_DAYS: tuple[Callable[[Weeks], None], ...] = (
    _monday, _tuesday, _wednesday, _thursday, _friday, _saturday, _sunday, _last,
)  # fmt: skip
