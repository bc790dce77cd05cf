"""What each verb prints under --json: one document with the keys that scripts rely on."""

import json

import pytest

from tests.cli.conftest import Shell

DETAIL = {
    "ok", "job", "started", "duration_s", "eligible", "acted", "skipped", "quarantined",
    "remaining", "threshold", "rag_pending", "degraded", "agents",
}  # fmt: skip
ROTATE = DETAIL | {"rotated", "archived", "archive"}

KEYS = [
    pytest.param(["init"], {"home", "created"}, id="init"),
    pytest.param(["run", "--once"], {"jobs"}, id="run --once"),
    pytest.param(["run", "--dry-run"], {"jobs", "dry_run"}, id="run --dry-run"),
    pytest.param(["promote"], DETAIL | {"promoted"}, id="promote"),
    pytest.param(
        ["promote", "--dry-run"], DETAIL | {"promoted", "dry_run"}, id="promote --dry-run"
    ),
    pytest.param(["rotate"], ROTATE, id="rotate"),
    pytest.param(
        ["trigger", "memory_rotate_check"],
        DETAIL | {"promoted", "rotated", "archived", "archives", "steps"},
        id="trigger",
    ),
    pytest.param(["jobs"], {"jobs"}, id="jobs"),
    pytest.param(
        ["status"],
        {"home", "health", "daemon", "engine", "agents", "jobs", "alarms", "violations"},
        id="status",
    ),
    pytest.param(["remember", "x"], {"id"}, id="remember"),
    pytest.param(["agents", "list"], {"agents"}, id="agents list"),
    pytest.param(["agents", "violations"], {"violations", "count"}, id="agents violations"),
    pytest.param(["share"], DETAIL - {"threshold"} | {"shared", "withdrawn"}, id="share"),
    pytest.param(["config", "check"], {"problems"}, id="config check"),
    pytest.param(["config", "show"], {"rules", "schedule"}, id="config show"),
    pytest.param(["config", "explain", "line_max"], {"key", "default"}, id="config explain"),
    pytest.param(["doctor"], {"problems"}, id="doctor"),
    pytest.param(["check"], {"health", "reasons", "alarms"}, id="check"),
    pytest.param(["alarms"], {"health", "alarms"}, id="alarms"),
    pytest.param(["alarms", "--explain", "flood"], {"alarms"}, id="alarms --explain"),
    pytest.param(["metrics"], {"metrics"}, id="metrics"),
    pytest.param(["pause", "memory_rotate_check"], {"jobs"}, id="pause"),
    pytest.param(["resume", "memory_rotate_check"], {"jobs"}, id="resume"),
]


@pytest.mark.parametrize(("words", "keys"), KEYS)
def test_stdout_is_one_document_with_the_promised_keys(
    shell: Shell, words: list[str], keys: set[str]
) -> None:
    shell("remember", "kept", "--importance", "0.2")
    told = shell(*words, "--json")

    assert told.code == 0
    assert keys <= set(told.json)
    assert told.out.count("\n") == 1


def test_a_dry_run_tells_each_decision_and_what_it_would_write(shell: Shell) -> None:
    """By id, gate and numbers, never text; a run itself has them in the ledger."""
    copy = b'{"content": "secret word", "ts": %d, "kind": "fact", "importance": 0.9}\n'
    shell.short_term.write_bytes(copy % 1)
    assert shell("promote").code == 0
    shell.short_term.write_bytes(copy % 2 + b"no json\n")
    short = shell("recent", "--json").json["results"][0]["id"]

    told = shell("merge", "--dry-run", "--json")
    archived, damage = told.json["decisions"]
    assert (archived["agent"], archived["action"], archived["tier"]) == ("sky", "archive", "short")
    assert (archived["id"], archived["gate"], archived["file"]) == (short, "merged", None)
    assert (damage["action"], damage["id"]) == ("quarantine", None)
    assert damage["bytes"] == [len(copy % 2), len(copy % 2) + len("no json\n")]
    (made,) = told.json["additions"]
    assert (made["agent"], made["what"], len(made["supersedes"])) == ("sky", "merge", 2)
    assert "secret" not in told.out
    assert "sky: write a merge  of 2 memories\n" in shell("merge", "--dry-run").out

    shell("merge", "--accept-clock")
    forget = shell("forget", "--match", "secret", "--dry-run", "--json")
    assert {one["tier"] for one in forget.json["decisions"]} == {"long", "archive"}
    assert {one["file"] for one in forget.json["decisions"]} > {"long_term.jsonl"}
    assert {one["gate"] for one in forget.json["decisions"]} == {"by_hand"}
    assert "secret" not in forget.out

    both = shell("trigger", "memory_rotate_check", "--dry-run", "--json").json
    assert both["decisions"] == [
        *both["steps"]["promote"]["decisions"], *both["steps"]["rotate"]["decisions"]
    ]  # fmt: skip
    assert "decisions" not in shell("promote", "--json").json


def test_show_prints_the_whole_memory_with_its_place(shell: Shell) -> None:
    name = shell("remember", "proxy restarted", "--tag", "ops", "--json").json["id"]
    found = shell("show", name[:8], "--json").json

    assert found["id"] == name
    assert (found["agent"], found["tier"]) == ("sky", "short")
    assert found["file"] == "memory/sky/short_term.jsonl"
    assert (found["memory"]["content"], found["memory"]["tags"]) == ("proxy restarted", ["ops"])


def test_demo_prints_where_its_home_is_and_what_the_jobs_did(shell: Shell) -> None:
    told = shell("demo", "--json").json

    assert set(told) == {"home", "jobs"}
    assert told["jobs"][0]["promoted"] == 4


def test_apply_reports_as_the_job_whose_plan_it_carries_out(shell: Shell) -> None:
    shell("remember", "x", "--importance", "0.9")
    plan = str(shell.home / "plan.json")
    assert shell("promote", "--plan", plan, "--json").json["plan"] == plan
    rehearsed = shell("apply", plan, "--dry-run", "--json").json
    told = shell("apply", plan, "--json").json

    assert rehearsed["dry_run"] is True
    assert DETAIL | {"promoted"} <= set(told)
    assert (rehearsed["promoted"], told["promoted"]) == (1, 1)


def test_a_job_of_several_agents_reports_each(shell: Shell) -> None:
    for agent in ("sky", "hobbs"):
        shell("--agent", agent, "remember", "x", "--importance", "0.9")
    told = shell("promote", "--json").json

    assert told["promoted"] == 2
    assert {name: one["promoted"] for name, one in told["agents"].items()} == {
        "hobbs": 1,
        "sky": 1,
    }


def test_a_job_of_one_agent_leaves_the_others_alone(shell: Shell) -> None:
    for agent in ("sky", "hobbs"):
        shell("--agent", agent, "remember", "x", "--importance", "0.9")

    assert list(shell("--agent", "hobbs", "promote", "--json").json["agents"]) == ["hobbs"]
    assert shell.short_term.stat().st_size > 0


def test_the_status_file_holds_what_the_command_printed(shell: Shell) -> None:
    printed = shell("trigger", "memory_rotate_check", "--json").json
    record = json.loads((shell.home / "status/sky_last_action.json").read_text())

    assert (record["action"], record["schema_version"]) == ("memory_rotate_check", 1)
    assert record["detail"] == printed


def test_seq_rises_by_one_with_each_result_and_remember_writes_none(shell: Shell) -> None:
    for words in (["promote"], ["remember", "x"], ["rotate"], ["status"], ["promote"]):
        shell(*words)
    lines = (shell.home / "status/actions.jsonl").read_text().splitlines()

    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3]


def test_jobs_names_each_entry_of_the_schedule_with_its_times(shell: Shell) -> None:
    before = {one["name"]: one for one in shell("jobs", "--json").json["jobs"]}
    shell("run", "--once")
    after = {one["name"]: one for one in shell("jobs", "--json").json["jobs"]}

    assert set(before) == {
        "memory_rotate_check",
        "index",
        "heartbeat",
        "compress",
        "merge",
        "prune",
        "compact",
    }
    assert before["memory_rotate_check"]["last_run"] is None
    assert after["memory_rotate_check"]["last_success"] is not None
    assert after["prune"]["next_run"] > after["prune"]["last_success"]
    wanted = {"last_run", "last_success", "last_effective", "next_run", "missed", "running"}
    assert wanted | {"error", "job"} <= set(after["prune"])


def test_status_counts_the_tiers_and_says_why_this_home(shell: Shell) -> None:
    shell("remember", "big", "--importance", "0.9")
    shell("promote")
    shell("remember", "small", "--importance", "0.1")
    found = shell("status", "--json").json

    tiers = found["agents"][0]["tiers"]
    assert {tier: one["count"] for tier, one in tiers.items()} == {
        "short": 1,
        "long": 1,
        "archive": 0,
        "trash": 0,
    }
    assert found["home"] == {"path": str(shell.home), "why": "--home"}
    assert (found["health"], found["engine"]["rag_pending"]) == ("healthy", 1)
