"""What the verb promises beside its truth: the home stays as it is, what is not known is said."""

import os
from contextlib import ExitStack
from pathlib import Path

import pytest

from skymem import app
from skymem.errors import ConfigurationError, InterruptedRunError, UsageError
from skymem.jobs.compact import compact
from skymem.jobs.table import COMBINED
from skymem.simulation.comparing import Comparison
from skymem.simulation.plot import bars
from skymem.simulation.scratch import scratch_directory
from skymem.simulation.simulate import Asked, simulate
from skymem.simulation.sweep import sweep_of
from skymem.stores.lock import held
from tests.conftest import line
from tests.simulation.lived import DAY, START, UNDER_A, Deed, Life, ninety_days


@pytest.fixture(scope="module")
def short_life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """A home of six days; nothing of it is to be changed."""
    life = Life(tmp_path_factory.mktemp("short") / "home", UNDER_A)
    ninety_days(life, days=6)
    return life


@pytest.fixture
def life(tmp_path: Path) -> Life:
    made = Life(tmp_path / "home", "promote_threshold: 0.7\nshort_term_max_lines: 3\n")
    made.say("sky", line("worth it", 0.9, START, id="good"), line("hardly", 0.6, START, id="low"))
    made.job(COMBINED)
    return made


def under(life: Life, text: str, **more: object) -> list[tuple[float, Comparison]]:
    rules = life.root.parent / "other.yaml"
    rules.write_text(text)
    home = app.open_home(str(life.root))
    fields = {"since": START - DAY, "until": life.clock + DAY, **more}
    return simulate(home, Asked(rules, **fields))  # type: ignore[arg-type]


def one(life: Life, text: str, **more: object) -> Comparison:
    ((_, found),) = under(life, text, **more)
    return found


def everything(root: Path) -> dict[str, tuple[int, int, int, bytes]]:
    found = {}
    for path in sorted([root, *root.rglob("*")]):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, status.st_ctime_ns, data)
    return found


def test_nothing_in_the_home_is_touched(short_life: Life, tmp_path: Path) -> None:
    before = everything(short_life.root)
    found = one(short_life, "promote_threshold: 0.3\ntrash: {keep: 1d}\n")
    assert found.new.did["promoted"] > found.old.did["promoted"] > 0
    assert everything(short_life.root) == before


def test_it_needs_no_right_to_write(short_life: Life) -> None:
    paths = [short_life.root, *short_life.root.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    try:
        for path in reversed(paths):
            path.chmod(0o500 if path.is_dir() else 0o400)
        assert one(short_life, "{}").runs
    finally:
        for path in paths:
            path.chmod(modes[path])


def test_no_lock_of_the_home_is_waited_for(short_life: Life) -> None:
    with ExitStack() as stack:
        names = [path for path in short_life.paths.run.iterdir() if path.suffix == ".lock"]
        names += [short_life.paths.daemon_lock]
        for path in names:
            stack.enter_context(held(path, "a daemon", deadline_seconds=5.0))
        assert one(short_life, "{}").runs


@pytest.mark.parametrize("ends", ["well", "by a signal", "by a fault"])
def test_nothing_is_left_beside_the_home(
    short_life: Life, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    place = tmp_path / "scratch"
    place.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(place))
    seen: list[int] = []
    home = app.open_home(str(short_life.root))

    def stop() -> str:
        seen.extend(path.stat().st_mode & 0o777 for path in place.iterdir())
        if ends == "by a fault" and seen:
            raise MemoryError
        return "SIGTERM" if ends == "by a signal" and seen else ""

    home.stop = stop
    asked = Asked(short_life.paths.rules, START - DAY, short_life.clock)
    trouble = {"by a signal": InterruptedRunError, "by a fault": MemoryError}
    if ends in trouble:
        with pytest.raises(trouble[ends]):
            simulate(home, asked)
    else:
        simulate(home, asked)
    assert set(seen) == {0o700}
    assert not list(place.iterdir())


def test_a_disk_without_room_is_told_before_anything_is_written(tmp_path: Path) -> None:
    from skymem.errors import DiskError

    home = tmp_path / "home"
    home.mkdir()
    with pytest.raises(DiskError, match="a simulation needs"), scratch_directory(home, 1 << 60):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_what_was_recalled_and_would_not_have_been_there_is_regretted(life: Life) -> None:
    prune = "prune: {older_than: 3d, importance_below: 1.0}\nbudget: {per_run: 100%}\n"
    life.clock = START + 10 * DAY
    life.do(Deed(life.clock, "sky", "recall", ("good", "low")))
    assert one(life, prune).regrets == ()
    strict = one(life, "promote_threshold: 0.95\nshort_term_max_lines: 1\n")
    assert [(each.id, each.what) for each in strict.regrets] == [("good", "archived")]
    idle = one(life, "promote_threshold: 0.95\n")
    assert [(each.id, each.what) for each in idle.regrets] == [("good", "not_promoted")]
    life.job("prune")
    pruned = life.clock
    life.clock = START + 20 * DAY
    life.do(Deed(life.clock, "sky", "recall", ("good",)))
    (regret,) = one(life, prune).regrets
    assert (regret.id, regret.what, regret.since) == ("good", "removed", pruned)
    assert one(life, "promote_threshold: 0.5\n").regrets == ()


def test_what_is_gone_for_good_is_counted_and_on_neither_side(life: Life) -> None:
    life.do(Deed(life.clock, "sky", "forget", ("good",)))
    life.clock += 40 * DAY
    compact(life.work(), ["sky"])
    found = one(life, "promote_threshold: 0.5\n")
    assert found.gone == 1
    assert found.old.did["promoted"] == 0
    assert found.new.did["promoted"] == 1
    assert found.changed["promoted"] == {"only_old": [], "only_new": ["low"]}


def test_runs_that_are_not_recorded_come_from_the_schedule(tmp_path: Path) -> None:
    life = Life(tmp_path / "home", "promote_threshold: 0.7\n", actions=False)
    life.paths.schedule.write_text("every:\n  - name: memory_rotate_check\n    hours: 1\n")
    life.say("sky", line("low", 0.6, START, id="low"))
    life.job(COMBINED)
    life.clock = START + DAY
    life.say("sky", line("later", 0.9, START, id="later"))
    life.job(COMBINED)
    rules = "promote_threshold: 0.7\npromote: {decay: {per_day: 1.0, floor: 0.1}}\n"
    found = one(life, rules, until=life.clock)
    assert found.recorded_since > found.since
    assert found.runs == 25
    assert found.changed["promoted"]["only_new"] == ["low"]


def test_runs_at_which_nothing_can_change_are_not_run(life: Life) -> None:
    for _ in range(10):
        life.clock += 1200
        life.job(COMBINED)
    found = one(life, "promote_threshold: 0.7\n")
    assert found.runs == 11
    assert found.still >= 8
    decay = one(life, "promote_threshold: 0.7\npromote: {decay: {per_day: 1.0, floor: 0.1}}\n")
    assert decay.changed["promoted"]["only_new"] == ["low"]
    assert decay.still >= 6


def test_a_run_that_began_before_it_told_the_ledger_is_replayed(tmp_path: Path) -> None:
    life = Life(tmp_path / "home", "promote_threshold: 0.7\n")
    life.say("sky", line("low", 0.6, START, id="low"))
    home = app.open_home(str(life.root))
    home.run_job("promote")
    now = app.now()
    found = one(life, "promote_threshold: 0.5\n", since=now - DAY, until=now)
    assert (found.runs, found.changed["promoted"]["only_new"]) == (1, ["low"])


def test_an_agent_alone_is_told_of_alone(short_life: Life) -> None:
    both = one(short_life, "promote_threshold: 0.3\n")
    each = [one(short_life, "promote_threshold: 0.3\n", agent=name) for name in ("hobbs", "sky")]
    assert sum(found.new.did["promoted"] for found in each) == both.new.did["promoted"]
    assert sum(found.runs for found in each) == both.runs
    with pytest.raises(UsageError, match="no agent"):
        one(short_life, "{}", agent="nobody")


def test_a_sweep_tries_each_value(short_life: Life) -> None:
    sweep = sweep_of("promote_threshold=0.5:0.9:0.2")
    assert sweep.values == (0.5, 0.7, 0.9)
    points = under(short_life, "agents: {hobbs: {short_term_max_lines: 9}}\n", sweep=sweep)
    promoted = [found.new.did["promoted"] for _, found in points]
    assert promoted == sorted(promoted, reverse=True)
    assert promoted[0] > promoted[-1]
    assert len(list(bars(points))) == 3


@pytest.mark.parametrize(
    "text", ["x", "x=1", "x=1:2", "x=a:b:c", "x=2:1:1", "x=1:2:0", "x=0:1:0.0001", "x=1:inf:1"]
)
def test_a_sweep_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        sweep_of(text)


def test_faulty_rules_are_told_as_config_check_tells_them(short_life: Life) -> None:
    with pytest.raises(ConfigurationError, match=r"other\.yaml:1:20: promote_threshold: 7 is not"):
        one(short_life, "promote_threshold: 7\n")
    with pytest.raises(UsageError, match=r"^--sweep promote_treshold=1: unknown key"):
        under(short_life, "{}", sweep=sweep_of("promote_treshold=1:1:1"))


def test_a_home_without_a_past_says_so(tmp_path: Path, short_life: Life) -> None:
    with pytest.raises(UsageError, match="no past to replay"):
        one(Life(tmp_path / "home", "{}"), "{}")
    with pytest.raises(UsageError, match="nothing is recorded since then; the last of it is of"):
        one(short_life, "{}", since=short_life.clock + DAY, until=short_life.clock + 2 * DAY)
    assert "replayed from there" in one(short_life, "{}").notes[0]


def test_no_text_of_a_memory_is_in_what_is_told(short_life: Life) -> None:
    told = str(one(short_life, "promote_threshold: 0.3\n").as_json())
    assert "saw" not in told
    assert os.sep not in told
