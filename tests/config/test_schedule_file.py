"""`schedule.yaml` says what runs when, or every line that does not is named at once."""

from datetime import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.schedule_file import examine_schedule, read_schedule
from skymem.errors import ConfigurationError
from skymem.model.schedule import (
    KNOWN_JOBS,
    Cron,
    Daily,
    Every,
    Schedule,
    ScheduleEntry,
    Trigger,
)

SHIPPED = Path(__file__).parents[2] / "schedule.yaml"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "schedule.yaml"


def complaints(path: Path, text: str) -> list[str]:
    """What `read_schedule` says of a file with this text, line by line."""
    path.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        read_schedule(path)
    assert caught.value.exit_code == 78
    return str(caught.value).splitlines()


def schedule_of(path: Path, text: str) -> Schedule:
    path.write_text(text)
    return read_schedule(path)


def entry(*lines: str) -> str:
    """A file with one entry, `rotate`, whose further keys stand on lines 3 and following."""
    return "\n".join(["every:", "  - name: rotate", *(f"    {line}" for line in lines), ""])


def test_the_shipped_file_runs_every_job() -> None:
    """But `share` and `train`, which nobody needs who has no rules or no history for it."""
    schedule = read_schedule(SHIPPED)
    assert schedule.timezone == "UTC"
    assert schedule.entries == (
        ScheduleEntry("memory_rotate_check", "memory_rotate_check", Every(600.0)),
        ScheduleEntry("index", "index", Every(300.0)),
        ScheduleEntry("heartbeat", "heartbeat", Every(30.0)),
        ScheduleEntry("compress", "compress", Daily(time(3, 30))),
        ScheduleEntry("merge", "merge", Cron("0 4 * * sun")),
        ScheduleEntry("prune", "prune", Daily(time(4, 30)), 600.0),
        ScheduleEntry("compact", "compact", Cron("30 5 * * sun")),
    )
    apart = {"promote", "rotate", "share", "train"}
    assert {each.job for each in schedule.entries} == {*KNOWN_JOBS} - apart


def test_the_source_documents_own_schedule_is_read(path: Path) -> None:
    schedule = schedule_of(path, 'every:\n  - name: "memory_rotate_check"\n    minutes: 10\n')
    [only] = schedule.entries
    assert only == ScheduleEntry("memory_rotate_check", "memory_rotate_check", Every(600.0))


@pytest.mark.parametrize(
    ("line", "trigger"),
    [
        pytest.param("seconds: 30", Every(30.0), id="seconds"),
        pytest.param("minutes: 10", Every(600.0), id="minutes"),
        pytest.param("minutes: 0.5", Every(30.0), id="half a minute"),
        pytest.param("hours: 6", Every(21_600.0), id="hours"),
        pytest.param("days: 366", Every(31_622_400.0), id="the longest"),
        pytest.param('daily: "06:45"', Daily(time(6, 45)), id="daily, quoted"),
        pytest.param("daily: 22:30", Daily(time(22, 30)), id="daily, not quoted"),
        pytest.param("daily: 6:45", Daily(time(6, 45)), id="daily, one digit"),
        pytest.param("daily: 00:00", Daily(time(0, 0)), id="midnight"),
        pytest.param('cron: "*/5 * * * *"', Cron("*/5 * * * *"), id="cron"),
        pytest.param("cron: 0 3 * * mon-fri", Cron("0 3 * * mon-fri"), id="cron, not quoted"),
        pytest.param('cron: "0  3 29 2 *"', Cron("0 3 29 2 *"), id="cron of leap years"),
        pytest.param('cron: "@daily"', Cron("@daily"), id="cron by name"),
    ],
)
def test_each_trigger_is_read(line: str, trigger: Trigger, path: Path) -> None:
    [only] = schedule_of(path, entry(line)).entries
    assert only.trigger == trigger


def test_every_other_key_is_read(path: Path) -> None:
    lines = ("job: promote", "hours: 1", "jitter: 5m", "timeout: 90s", "enabled: false")
    schedule = schedule_of(path, "timezone: Europe/Berlin\n" + entry(*lines))
    assert schedule.timezone == "Europe/Berlin"
    assert schedule.entries == (
        ScheduleEntry("rotate", "promote", Every(3600.0), 300.0, 90.0, enabled=False),
    )


def test_an_empty_list_runs_nothing(path: Path) -> None:
    assert schedule_of(path, "every: []\n") == Schedule()


@pytest.mark.parametrize("job", KNOWN_JOBS)
def test_every_job_may_run(job: str, path: Path) -> None:
    [only] = schedule_of(path, f"every: [{{name: mine, job: {job}, hours: 1}}]").entries
    assert (only.name, only.job) == ("mine", job)


@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        pytest.param(
            ['cron: "0 3 31 2 *"'],
            '3:11: cron: "0 3 31 2 *" never fires: no month has that day',
            id="31 February",
        ),
        pytest.param(
            ["minutes: 0"],
            "3:14: minutes: 0 never fires (use a number above 0)",
            id="interval of nothing",
        ),
        pytest.param(
            ["hours: -1"],
            "3:12: hours: -1 never fires (use a number above 0)",
            id="negative interval",
        ),
        pytest.param(
            ["seconds: 0.001"], "3:14: seconds: 0.001 is less than a second", id="too often"
        ),
        pytest.param(["days: 367"], "3:11: days: 367 is more than 366 days", id="too rarely"),
        pytest.param(
            ["hours: .inf"], "3:12: hours: .inf is not a finite number", id="infinite interval"
        ),
        pytest.param(["hours: .nan"], "3:12: hours: .nan is not a finite number", id="NaN"),
        pytest.param(
            ["minutes: true"],
            '3:14: minutes: "true" is not a number (such as minutes: 10)',
            id="true is no number",
        ),
        pytest.param(
            ["minutes: 5m"],
            '3:14: minutes: "5m" is not a number (such as minutes: 10)',
            id="unit twice",
        ),
        pytest.param(
            ["daily: 24:00"],
            '3:12: daily: "24:00" is no time of day (00:00 to 23:59, such as 06:45)',
            id="no such hour",
        ),
        pytest.param(
            ["daily: 7"],
            '3:12: daily: "7" is no time of day (00:00 to 23:59, such as 06:45)',
            id="hour alone",
        ),
        pytest.param(
            ['cron: "* * * *"'],
            "3:11: cron: '* * * *' has 4 fields; cron needs 5: minute hour day month weekday",
            id="four fields",
        ),
        pytest.param(
            ["cron: */5 * * * *"],
            '3:11: YAML keeps * at the start for itself (put quotes around it: "*/5 * * * *")',
            id="cron without quotes",
        ),
        pytest.param(
            [],
            "2:5: the entry does not say when it runs (give it one of seconds, minutes, hours, "
            "days, daily, cron)",
            id="no trigger",
        ),
        pytest.param(
            ["minutes: 5", 'daily: "06:45"'],
            "4:5: daily: the entry runs by minutes already (keep one of them)",
            id="two triggers",
        ),
        pytest.param(
            ["interval: 5m", "minutes: 5"],
            '3:5: unknown key "interval" (did you mean "minutes"?)',
            id="the word of other schedulers",
        ),
        pytest.param(
            ["minutes: 5", "timezone: UTC"],
            '4:5: "timezone" does not belong here (it goes at the top level of schedule.yaml)',
            id="top key in an entry",
        ),
        pytest.param(
            ["minutes: 5", "promote_threshold: 1"],
            '4:5: "promote_threshold" does not belong here (it goes at the top level of '
            "retention_rules.yaml)",
            id="key of the other file",
        ),
        pytest.param(
            ["minutes: 5", "jitter: 30"],
            '4:13: jitter: "30" has no unit (is it "30s", "30m", "30h" or "30d"?)',
            id="jitter without unit",
        ),
        pytest.param(
            ["minutes: 5", "jitter: 5m"],
            "4:13: jitter must be shorter than the 5m between two runs",
            id="jitter of the whole interval",
        ),
        pytest.param(
            ['cron: "*/10 * * * *"', "jitter: 1h"],
            "4:13: jitter must be shorter than the 10m between two runs",
            id="jitter past the next cron run",
        ),
        pytest.param(
            ["daily: 06:45", "jitter: 1d"],
            "4:13: jitter must be shorter than the 1d between two runs",
            id="jitter past the next day",
        ),
        pytest.param(
            ["minutes: 5", "timeout: 0s"],
            "4:14: timeout: 0s is not in 1s to 366d",
            id="no time to run",
        ),
        pytest.param(
            ["minutes: 5", "enabled: no"],
            '4:14: enabled: "no" is not a truth value (write false)',
            id="no is no truth value",
        ),
        pytest.param(
            ["minutes: 5", "enabled: 1"],
            '4:14: enabled: "1" is not a truth value (write true or false)',
            id="1 is no truth value",
        ),
        pytest.param(
            ["minutes: 5", "job: rotat"],
            '4:10: job: "rotat" is no job (did you mean "rotate"?)',
            id="typing error in the job",
        ),
        pytest.param(
            ["minutes: 5", "minutes: 6"],
            '4:5: duplicate key "minutes" (first on line 3, again here)',
            id="key twice",
        ),
    ],
)
def test_each_fault_of_an_entry_is_told_with_its_place_and_the_way_out(
    lines: list[str], complaint: str, path: Path
) -> None:
    assert complaints(path, entry(*lines)) == [f"schedule.yaml:{complaint}"]


@pytest.mark.parametrize(
    "key",
    ["name", "job", "minutes", "daily", "cron", "jitter", "timeout", "enabled"],
)
def test_a_key_with_nothing_behind_it_is_never_read_as_the_default(key: str, path: Path) -> None:
    others = {"name": "rotate", "minutes": "5", "job": "rotate"} | {key: ""}
    if key in ("daily", "cron"):
        del others["minutes"]
    pairs = ", ".join(f"{name}: {value}" for name, value in others.items())
    [complaint] = complaints(path, f"every: [{{{pairs}}}]\n")
    assert f"{key} has no value (such as {key}: " in complaint


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("every:\n", "1:1: every has no value", id="no list"),
        pytest.param("timezone: UTC\n", '1:1: the list "every" is missing', id="list missing"),
        pytest.param("every: 5m\n", '1:8: every must be a list, not "5m"', id="interval"),
        pytest.param("every: {name: x}\n", "1:8: every must be a list, not a map", id="mapping"),
        pytest.param("every: [promote]\n", "1:9: an entry needs keys", id="bare name"),
        pytest.param("every: [null]\n", "1:9: an entry needs keys", id="empty entry"),
        pytest.param("every: [{minutes: 5}]\n", "1:9: the entry has no name", id="no name"),
        pytest.param(
            "every: [{name: nightly, minutes: 5}]\n",
            '1:16: "nightly" is no job, so the entry needs job: as well',
            id="name of no job",
        ),
        pytest.param("minutes: 5\nevery: []\n", '1:1: "minutes" does not belong', id="level"),
        pytest.param("- name: promote\n", "1:1: the file is a list at the top", id="list at top"),
        pytest.param("timezone:\nevery: []\n", "1:1: timezone has no value", id="no zone"),
    ],
)
def test_each_fault_of_the_file_is_told_with_its_place(
    text: str, complaint: str, path: Path
) -> None:
    [found] = complaints(path, text)
    assert found.startswith(f"schedule.yaml:{complaint}")


@pytest.mark.parametrize(
    "name", ["a b", "a/b", "..", ".hidden", "-x", "é", '"a\\n"', '"a\\0"', "x" * 65, '""']
)
def test_a_name_that_could_not_name_a_file_is_refused(name: str, path: Path) -> None:
    text = f"every:\n  - job: rotate\n    name: {name}\n    minutes: 5\n"
    [complaint] = complaints(path, text)
    assert complaint.startswith("schedule.yaml:3:11: name: ")
    assert "use 1 to 64 of" in complaint


def test_a_name_that_stands_twice_is_told_with_both_lines(path: Path) -> None:
    text = "every:\n  - name: rotate\n    hours: 1\n  - name: rotate\n    hours: 2\n"
    assert complaints(path, text) == [
        'schedule.yaml:4:11: the name "rotate" stands twice (first on line 2)'
    ]


def test_all_faults_of_a_file_are_told_at_once_in_its_order(path: Path) -> None:
    text = entry("minutes: 0", "enabled: no", "retries: 3") + "timezone: Mars\n"
    found = complaints(path, text)
    assert [line.split(":")[1] for line in found] == ["3", "4", "5", "6"]


def test_a_file_saved_by_half_is_a_schedule_or_a_complaint_but_never_a_crash(path: Path) -> None:
    whole = SHIPPED.read_text()
    for length in range(len(whole)):
        path.write_text(whole[:length])
        reading = examine_schedule(path)
        assert reading.complaints.found or reading.schedule.entries


KEYS = ("name", "job", "minutes", "daily", "cron", "jitter", "timeout", "enabled", "every", "x")
VALUES = ("", "rotate", "heartbeat", "5", "0", "5m", "06:45", '"@daily"', "true", "[1]", "*a")
LINES = st.tuples(st.sampled_from(("  ", "- ")), st.sampled_from(KEYS), st.sampled_from(VALUES))
FILES = st.lists(LINES.map(lambda line: f"{line[0]}{line[1]}: {line[2]}")).map("\n".join)


@given(st.one_of(st.binary(), st.text().map(str.encode), FILES.map(lambda text: "every:\n" + text)))
def test_any_file_at_all_gives_a_schedule_or_complaints_with_their_places(
    tmp_path_factory: pytest.TempPathFactory, content: bytes | str
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_schedule.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    reading = examine_schedule(path)
    for problem in reading.complaints.found:
        assert str(problem).startswith(f"any_schedule.yaml:{problem.line}:{problem.column}: ")
        assert str(problem).isprintable()
        assert problem.line >= 1
    if not reading.complaints.found:
        assert all(each.job in KNOWN_JOBS for each in reading.schedule.entries)
