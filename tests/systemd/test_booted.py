"""The system unit as it is shipped, under a systemd booted for it (hazards F1, F3, F5, F6).

What the sandbox forbids shows here: a promotion, the model and Chroma run inside of it.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.systemd.machine import Machine, why_not
from tests.systemd.units import documented

HOME = "/var/lib/skymem"
SHORT_TERM = f"{HOME}/memory/sky/short_term.jsonl"
LINE = '{"ts": 1700000000, "type": "short", "content": "The cat is warm", "importance": 0.95}'
CGROUP = "/sys/fs/cgroup/system.slice/{unit}.service/cgroup.procs"
API = "skymem-api"

SHARED = f"""
useradd --create-home --groups skymem agent
useradd --create-home stranger
sed -i 's/^# *access:.*/access: group/' {HOME}/retention_rules.yaml
sed -i 's/minutes: 10/seconds: 5/; s/minutes: 5/seconds: 4/' {HOME}/schedule.yaml
chmod 640 {HOME}/*.yaml
grep -q '^access: group$' {HOME}/retention_rules.yaml
"""

OVERDUE = {
    name: {"first_seen": 1.7e9, "last_start": 1.7e9} for name in ("memory_rotate_check", "index")
}

# A call outside of the filter ends the process here, where the unit refuses it: so no refusal goes
# unnoticed but mbind's, by which an allocator wishes for near memory and lives without.
DEADLY = "SystemCallErrorNumber=\nSystemCallFilter=mbind\nRestartSec=1s\n"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine with skymem installed as docs/install.md says, and nothing started."""
    if reason := why_not():
        pytest.skip(reason)
    booted = Machine(tmp_path_factory.mktemp("machine"))
    booted.wait_until_up()
    try:
        for part in (2, 3):
            booted.run(documented(part))
        booted.run(SHARED)
        dropin = "/etc/systemd/system/$unit.service.d"
        booted.run(
            f"for unit in skymem skymem-api skymem-metrics; do mkdir -p {dropin};"
            f"printf '[Service]\n{DEADLY}' >{dropin}/test.conf; done; systemctl daemon-reload"
        )
        yield booted
    finally:
        booted.close()


@pytest.fixture(scope="module")
def kept(machine: Machine) -> Machine:
    """The same, after the daemon has promoted what an agent appended."""
    # The daemon was away for long: what it owes it does at once.
    runs = json.dumps({"entries": OVERDUE})
    machine.run(f"umask 077; mkdir -p {HOME}/state; echo '{runs}' >{HOME}/state/runs.json")
    machine.run(f"chown -R skymem:skymem {HOME}/state; chmod 2770 {HOME}/state")
    machine.run(documented(4))
    machine.wait_for(lambda: machine.code(f"test -e {SHORT_TERM}") == 0)
    machine.run(f"chmod 2770 {HOME}/memory {HOME}/memory/sky")
    assert machine.code(f"echo '{LINE}' >>{SHORT_TERM}", user="agent") == 0
    remember = f"skymem --home {HOME} remember 'User wants reports at 7am' --importance 0.9"
    assert machine.code(remember, user="agent") == 0
    machine.wait_for(lambda: indexed(machine) == 2, seconds=60)
    return machine


def indexed(machine: Machine) -> int:
    """How many vectors the engine says that it has."""
    try:
        told = json.loads(machine.run(f"cat {HOME}/status/engine.json", check=False))
    except ValueError:
        return 0
    return int(told.get("agents", {}).get("sky", {}).get("memory", 0))


def processes(machine: Machine, unit: str = "skymem") -> dict[str, str]:
    """The processes of a unit: number and command line."""
    cgroup = CGROUP.format(unit=unit)
    script = f"for p in $(cat {cgroup}); do echo $p $(tr '\\0' ' ' </proc/$p/cmdline); done"
    lines = machine.run(script, check=False).splitlines()
    return {line.split()[0]: line for line in lines if line[0].isdigit()}


def test_the_install_made_what_it_says(machine: Machine) -> None:
    told = machine.run(f"stat -c '%a %U %G' {HOME}; getent passwd skymem")
    assert told.split("\n")[0] == "2750 skymem skymem"
    assert told.rstrip().endswith(":/usr/sbin/nologin")
    for part in (2, 3):
        machine.run(documented(part))  # a second time it finds everything there


def test_a_promotion_and_the_engine_run_in_the_sandbox(kept: Machine) -> None:
    status = json.loads(kept.run(f"skymem --home {HOME} status --json"))
    (agent,) = status["agents"]
    assert (agent["tiers"]["short"]["count"], agent["tiers"]["long"]["count"]) == (0, 2)
    assert status["health"] == "healthy", status
    assert any("skymem.engine" in line for line in processes(kept).values()), "the unit's own"
    assert kept.run(f"cat {HOME}/run/engine.log") == "", "nothing was forbidden it"
    assert "problem" not in kept.run(f"skymem --home {HOME} doctor")


def test_the_sandbox_holds_the_daemon_and_the_engine(kept: Machine) -> None:
    # A run of the daemon's comes and goes; these two last.
    found = [number for number, line in processes(kept).items() if "--scheduled" not in line]
    assert len(found) >= 2
    for number in found:
        is_held(kept, number)


def is_held(machine: Machine, number: str) -> None:
    """Assert that a process is in the sandbox of the units."""
    state = machine.run(f"cat /proc/{number}/status")
    assert "Seccomp:\t2" in state
    assert "NoNewPrivs:\t1" in state
    assert "CapEff:\t0000000000000000" in state
    look = f"nsenter -t {number} -m -n"
    assert machine.code(f"{look} touch /etc/forbidden") != 0
    assert machine.code(f"{look} touch {HOME}/allowed && rm {HOME}/allowed") == 0
    assert machine.run(f"{look} ls -A /home").strip() == ""
    assert "lo" in machine.run(f"{look} cat /proc/net/dev")
    assert machine.run(f"{look} cat /proc/net/dev").count(":") == 1, "no network but itself"


def test_who_is_not_a_member_is_kept_out(kept: Machine) -> None:
    assert kept.code(f"skymem --home {HOME} remember no", user="stranger") == 30
    assert kept.code(f"echo no >>{SHORT_TERM}", user="stranger") != 0
    assert kept.code(f"cat {HOME}/memory/sky/long_term.jsonl", user="stranger") != 0


def test_a_member_can_not_change_the_rules(kept: Machine) -> None:
    for file in ("retention_rules.yaml", "schedule.yaml"):
        assert kept.code(f"rm -f {HOME}/{file}", user="agent") != 0
        assert kept.code(f"echo x >>{HOME}/{file}", user="agent") != 0


def test_a_restart_leaves_the_modes_as_they_were(kept: Machine) -> None:
    for path, mode in {
        ".": "2750",
        "memory/sky": "2770",
        "memory/sky/short_term.jsonl": "660",
    }.items():
        assert kept.run(f"stat -c '%a %U %G' {HOME}/{path}").split() == [mode, "skymem", "skymem"]


def test_the_journal_has_each_line_with_its_priority_and_no_memory(kept: Machine) -> None:
    entries = [json.loads(line) for line in kept.journal().splitlines()]
    ours = [entry for entry in entries if entry.get("_TRANSPORT") == "stdout"]
    told = [json.loads(entry["MESSAGE"]) for entry in ours]
    assert {entry["SYSLOG_IDENTIFIER"] for entry in ours} == {"skymem"}
    priorities = {(one["level"], entry["PRIORITY"]) for one, entry in zip(told, ours, strict=True)}
    assert priorities <= {("info", "6"), ("warning", "4"), ("error", "3")}
    # On a busy machine a run may fall due while the one before still goes on, or find the home
    # held: that is told louder. What is amiss with the home itself is in its health, as above.
    loud = {one["event"]: one for one in told if one["level"] != "info"}
    assert loud.keys() <= {"run skipped", "run ended"}, loud
    assert "daemon started" in {one["event"] for one in told}
    assert not any("timestamp" in one for one in told)
    assert "cat is warm" not in kept.journal()
    assert "reports" not in kept.journal()


def test_the_numbers_are_written_for_who_may_not_see_the_home(kept: Machine) -> None:
    kept.run(documented(5))
    file = "/var/lib/prometheus/node-exporter/skymem.prom"
    kept.wait_for(lambda: kept.code(f"test -s {file}") == 0)
    told = kept.run(f"cat {file}", user="stranger")
    assert 'skymem_memories{agent="sky",tier="long"} 2' in told
    assert "skymem_daemon_up 1" in told
    assert kept.run(f"stat -L -c '%a %U' {file}").split() == ["644", "skymem"]
    kept.run("systemctl stop skymem-metrics.timer")
    kept.run("systemctl start skymem-metrics.service")
    assert kept.show("Result", "skymem-metrics") == "success"
    assert kept.code(f"test -s {file}") == 0, "it stays when the service has ended"


@pytest.fixture(scope="module")
def api(kept: Machine) -> Machine:
    """The same, with the API beside the daemon."""
    kept.run(f"systemctl start {API}")
    return kept


def ask(machine: Machine, path: str, body: str = "", *, user: str = "skymem") -> dict[str, Any]:
    """What the API answers a user of the machine, with its status."""
    data = f"-X POST -H 'content-type: application/json' -d '{body}'" if body else ""
    told = machine.run(
        f"curl -sS --unix-socket {HOME}/run/api.sock -w '\\n%{{http_code}}' {data} "
        f"http://localhost{path}",
        user=user,
    )
    document, _, status = told.rpartition("\n")
    return {"status": int(status), **json.loads(document)}


def test_the_api_answers_from_its_sandbox(api: Machine) -> None:
    assert api.show("ActiveState", API) == "active"
    assert ask(api, "/health/ready")["health"] == "healthy"
    told = ask(api, "/v1/agents/sky/memories", '{"content": "Tea at five", "importance": 0.1}')
    assert told["status"] == 201, told
    found = ask(api, "/v1/agents/sky/search?q=tea")
    assert found["results"][0]["content"] == "Tea at five"
    assert ask(api, "/v1/agents/sky/search?q=tea", user="agent")["status"] == 403
    (number,) = processes(api, API)
    is_held(api, number)


def test_a_job_of_the_api_runs_in_its_sandbox(api: Machine) -> None:
    run = ask(api, "/v1/jobs/prune", "{}")
    assert run["status"] == 202, run

    def ended() -> dict[str, Any] | None:
        told = ask(api, f"/v1/jobs/runs/{run['id']}")
        return told if told["state"] != "running" else None

    told = api.wait_for(ended, seconds=60)
    assert (told["state"], told["exit_code"]) == ("done", 0), told


def test_an_api_that_is_killed_comes_back_and_a_stop_takes_its_socket(api: Machine) -> None:
    api.run(f"systemctl kill --kill-who=main -s KILL {API}")
    api.wait_for(lambda: api.show("NRestarts", API) == "1")
    api.wait_for(lambda: api.show("ActiveState", API) == "active", seconds=60)
    assert ask(api, "/health/live")["alive"] is True
    api.run(f"systemctl stop {API}")
    assert (api.show("Result", API), api.show("ActiveState", API)) == ("success", "inactive")
    assert api.code(f"test -e {HOME}/run/api.sock") != 0
    assert processes(api, API) == {}


def test_a_daemon_that_is_killed_comes_back_and_its_engine_went_with_it(kept: Machine) -> None:
    before = processes(kept)
    kept.run("systemctl kill --kill-who=main -s KILL skymem")
    kept.wait_for(lambda: kept.show("NRestarts") == "1" and kept.show("ActiveState") == "active")
    assert not before.keys() & processes(kept).keys()


def test_a_stop_ends_everything_and_loses_nothing(kept: Machine) -> None:
    kept.run(f"skymem --home {HOME} remember 'The balloon burst' --importance 0.9")
    kept.wait_for(lambda: indexed(kept) == 3, seconds=60)
    assert any("skymem.engine" in line for line in processes(kept).values())
    kept.run("systemctl stop skymem")
    assert (kept.show("Result"), kept.show("ActiveState")) == ("success", "inactive")
    assert processes(kept) == {}
    assert kept.code("pgrep -f skymem.engin[e]") != 0, "nobody else had started one"
    assert len(kept.run(f"cat {HOME}/memory/sky/long_term.jsonl").splitlines()) == 3


def test_rules_that_are_not_usable_do_not_loop(kept: Machine) -> None:
    kept.run("systemctl stop skymem")
    kept.run(
        f"cp -p {HOME}/retention_rules.yaml /tmp/; echo 'colour: red' >>{HOME}/retention_rules.yaml"
    )
    try:
        kept.code("systemctl start skymem")
        kept.wait_for(lambda: kept.show("ActiveState") == "failed", seconds=9)
        assert (kept.show("ExecMainStatus"), kept.show("NRestarts")) == ("78", "0")
        assert "colour" in kept.journal(), "the journal says what is wrong"
    finally:
        kept.run(f"cp -p /tmp/retention_rules.yaml {HOME}/; systemctl reset-failed skymem")


def test_what_is_taken_away_leaves_the_home(kept: Machine) -> None:
    before = kept.run(f"cat {HOME}/memory/sky/long_term.jsonl")
    kept.run(documented("Away with it"))
    assert kept.code("systemctl cat skymem skymem-api skymem-metrics.timer") != 0
    assert processes(kept) == {}
    assert kept.run(f"cat {HOME}/memory/sky/long_term.jsonl") == before
