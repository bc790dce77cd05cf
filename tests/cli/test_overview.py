"""What `jobs` and `status` make of what the daemon wrote."""

import json

import pytest

from skymem.app import open_home
from skymem.config.schedule_file import read_schedule
from skymem.overview import daemon_overview, jobs_overview
from skymem.stores.lock import held
from tests.cli.conftest import Shell, texts


def _beat(shell: Shell) -> None:
    beat = {
        "ts": 1.0,
        "running": [{"name": "memory_rotate_check", "since": 1.0}],
        "next_runs": {"heartbeat": 17.0},
    }
    (shell.home / "status").mkdir(exist_ok=True)
    (shell.home / "status/sky_heartbeat.json").write_text(json.dumps(beat))


def test_a_run_in_hand_is_shown_as_running_while_its_daemon_lives(shell: Shell) -> None:
    home = open_home(str(shell.home))
    schedule = read_schedule(home.paths.schedule)
    _beat(shell)
    dead = jobs_overview(schedule, {}, {}, daemon_overview(home))
    home.paths.run.mkdir(exist_ok=True)
    with held(home.paths.daemon_lock, "skymem run", deadline_seconds=1):
        live = jobs_overview(schedule, {}, {}, daemon_overview(home))

    assert [one["name"] for one in live if one["running"]] == ["memory_rotate_check"]
    assert not any(one["running"] for one in dead)
    assert {one["name"]: one["next_run"] for one in live}["heartbeat"] == 17.0


def test_the_heartbeat_tells_of_its_own_runs(shell: Shell) -> None:
    _beat(shell)
    found = {one["name"]: one for one in shell("jobs", "--json").json["jobs"]}

    assert (found["heartbeat"]["last_run"], found["heartbeat"]["result"]) == (1.0, "ok")
    assert found["memory_rotate_check"]["result"] == "never ran"


def test_a_tier_that_is_no_file_is_told_and_breaks_nothing(shell: Shell) -> None:
    (shell.home / "memory/sky/long_term.jsonl").mkdir()
    shell("remember", "x", "--importance", "0.9")

    assert shell("status").code == 0
    told = shell("doctor")
    assert told.code == 20
    assert "long_term.jsonl is no regular file" in told.out
    refused = shell("promote")
    assert refused.code == 74
    assert "long_term.jsonl" in refused.err
    assert len((shell.home / "memory/sky/short_term.jsonl").read_bytes().splitlines()) == 1


def test_a_blank_line_is_no_memory(shell: Shell) -> None:
    shell.short_term.write_bytes(b'\n{"content": "a"}\n\n \r\n{"content": "b"}\n\n')

    (sky,) = shell("status", "--json").json["agents"]
    assert sky["tiers"]["short"]["count"] == 2


def test_a_failed_run_is_an_alarm(shell: Shell) -> None:
    open_home(str(shell.home)).record("promote", {"ok": False, "error": "sky: no space"})
    found = shell("status", "--json").json

    assert found["health"] == "degraded"
    assert texts(found) == ["promote failed: sky: no space"]
    assert "no space" in shell("status").out


COMBINED = "memory_rotate_check"
FAILED = {"ok": False, "job": "promote", "error": "full", "agents": {"sky": {"ok": False}}}


def _failed(shell: Shell, name: str = "promote") -> None:
    open_home(str(shell.home)).record(name, dict(FAILED))


@pytest.mark.parametrize("words", [["promote"], ["trigger", COMBINED]])
def test_a_failure_is_no_alarm_once_a_later_run_did_its_work(
    shell: Shell, words: list[str]
) -> None:
    _failed(shell)
    assert shell.alarms()
    shell(*words)

    assert shell.alarms() == []


@pytest.mark.parametrize("words", [["rotate"], ["--agent", "hobbs", "trigger", COMBINED]])
def test_a_failure_stays_an_alarm_while_only_other_work_was_done(
    shell: Shell, words: list[str]
) -> None:
    shell("--agent", "hobbs", "remember", "x")
    _failed(shell)
    shell(*words)

    assert shell.alarms() == ["promote failed: full"]


def test_a_failure_after_a_success_is_an_alarm(shell: Shell) -> None:
    shell("trigger", "memory_rotate_check")
    _failed(shell)

    assert shell.alarms() == ["promote failed: full"]


def test_a_failure_of_an_entry_that_is_gone_is_no_alarm(shell: Shell) -> None:
    _failed(shell, "nightly")
    assert shell.alarms() == []
    (shell.home / "schedule.yaml").write_text("not: a schedule\n")

    assert shell.alarms() == ["nightly failed: full"]


def test_what_could_not_be_read_is_an_alarm_with_its_place(shell: Shell) -> None:
    with shell.short_term.open("wb") as stream:
        stream.write(b"not json\n")
    assert shell("promote", "--json").json["quarantined"] == 1
    found = shell("status", "--json").json

    (alarm,) = texts(found)
    assert alarm.startswith("sky: 1 unreadable piece(s) in memory/sky/quarantine, with why beside")
    assert "append what you mended anew" in alarm


@pytest.mark.parametrize("verb", ["status", "check", "doctor"])
def test_a_line_of_a_tier_that_can_not_be_read_is_told_with_its_place(
    shell: Shell, verb: str
) -> None:
    shell("remember", "x", "--importance", "0.9")
    shell("promote")
    long_term = shell.home / "memory/sky/long_term.jsonl"
    whole = long_term.read_bytes()
    long_term.write_bytes(whole + b"\nsecret\n")
    told = shell(verb).out

    assert "memory/sky/long_term.jsonl: line(s) 3 can't be read" in told
    assert "mend or remove them" in told
    assert "secret" not in told
    long_term.write_bytes(whole)
    assert "can't be read" not in shell(verb).out


def test_the_last_action_is_told_once(shell: Shell) -> None:
    shell("promote")

    assert shell("status").out.count("promote:") == 1


def test_what_the_last_run_did_without_is_a_note_until_one_has_it_again(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    before = rules.read_text()
    model = '{endpoint: "http://127.0.0.1:9/v1", model: tiny, key_env: MY_KEY}'
    rules.write_text(f"{before}compress: {{summarizer: {model}}}\n")
    told = "compress was degraded: summarizer: the environment variable MY_KEY is not set"
    assert shell("compress").code == 0
    found = shell("status", "--json").json
    assert (found["health"], found["notes"]) == ("healthy", [told])
    assert f"note    {told}\n" in shell("status").out

    rules.write_text(before)
    shell("compress")
    assert shell("status", "--json").json["notes"] == []


def test_the_first_sources_path_is_adopted_and_told(shell: Shell) -> None:
    flat = shell.home / "memory/short_term.jsonl"
    flat.write_text('{"ts": 1, "type": "short", "content": "old path", "importance": 0.9}\n')
    told = shell("promote", "--json")

    assert told.json["promoted"] == 1
    assert "old path" in (shell.agent_directory / "long_term.jsonl").read_text()
    assert any("adopted" in note for note in shell("status", "--json").json["notes"])


def test_a_daemon_without_a_sign_of_life_is_an_alarm(shell: Shell) -> None:
    beat = {"ts": 1.0, "running": [], "next_runs": {}, "interval_seconds": 30.0}
    (shell.home / "status").mkdir(exist_ok=True)
    (shell.home / "status/sky_heartbeat.json").write_text(json.dumps(beat))
    home = open_home(str(shell.home))
    home.paths.run.mkdir(exist_ok=True)
    assert shell("status", "--json").json["health"] == "healthy", (
        "no daemon is no daemon in trouble"
    )
    with held(home.paths.daemon_lock, "skymem run", deadline_seconds=1):
        found = shell("status", "--json").json

    assert found["health"] == "degraded"
    assert "no sign of life" in texts(found)[0]


def _engine_says(shell: Shell, **facts: object) -> None:
    (shell.home / "status").mkdir(exist_ok=True)
    (shell.home / "status/engine.json").write_text(json.dumps(facts))


INDEX: dict[str, object] = {"chunks": 10, "building": None, "problems": []}


def test_an_index_that_grows_past_what_its_vectors_explain_is_an_alarm(shell: Shell) -> None:
    _engine_says(shell, running=True, dimension=384, agents={"sky": INDEX})
    assert shell.alarms() == []

    file = shell.home / "rag/chroma_store/sky/g1/data_level0.bin"
    file.parent.mkdir(parents=True)
    with file.open("wb") as stream:
        stream.truncate(10 * 1024**3)  # sparse: as the 70 GB file of a damaged index was
    found = shell("status", "--json").json

    assert found["health"] == "degraded"
    assert "sky: its index takes 10,737,4" in texts(found)[0]
    assert "skymem index --force" in texts(found)[0]


def test_an_index_made_anew_is_shown_with_its_progress(shell: Shell) -> None:
    building = {"done": 300, "of": 1000, "per_second": 80.0, "left_s": 8.8}
    words = "sky: its index is being filled: 300 of 1,000 (80/s, 9 s left)"
    _engine_says(shell, dimension=384, agents={"sky": {**INDEX, "building": building}})
    found = shell("status", "--json").json
    assert (found["health"], found["notes"]) == ("healthy", [words])

    damaged = {**INDEX, "building": building, "problems": ["sky: index g1 was damaged"]}
    _engine_says(shell, dimension=384, agents={"sky": damaged})
    found = shell("status", "--json").json
    assert (found["health"], texts(found)) == ("degraded", ["sky: index g1 was damaged", words])


def test_an_engine_counts_as_running_only_while_its_lock_is_held(shell: Shell) -> None:
    _engine_says(shell, running=True, pid=1, model="m", dimension=384, rss_bytes=1, agents={})
    dead = shell("status", "--json").json["engine"]
    (shell.home / "rag").mkdir()
    with held(shell.home / "rag/engine.lock", "the engine", deadline_seconds=1):
        live = shell("status", "--json").json["engine"]

    assert (dead["running"], dead["pid"], dead["model"]) == (False, None, "m")
    assert (live["running"], live["pid"], live["holder"] is not None) == (True, 1, True)


def test_an_engine_without_a_model_is_an_alarm(shell: Shell) -> None:
    _engine_says(shell, problem="the engine is not available: no model")
    found = shell("status", "--json").json

    assert found["health"] == "degraded"
    assert texts(found) == ["engine: the engine is not available: no model"]
