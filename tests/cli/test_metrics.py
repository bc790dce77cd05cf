"""`skymem metrics`: what /metrics tells, on stdout or in a file for node_exporter (promise 6)."""

import os
import stat
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.conftest import Shell


def read(text: str) -> dict[tuple[str, ...], float]:
    """Each sample by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a collector looks."""
    (tmp_path / "collected").mkdir()
    return tmp_path / "collected/skymem.prom"


def test_it_tells_what_there_is_and_no_text(shell: Shell) -> None:
    shell("remember", "zanzibar", "--tag", "quokka", "--importance", "0.9")
    shell("promote")
    shell("recall", "numbat")
    told = shell("metrics")

    found = read(told.out)
    assert (told.code, told.err) == (0, "")
    assert found["skymem_memories", "sky", "long"] == 1
    assert found["skymem_job_last_acted", "promote"] == 1
    assert found["skymem_daemon_up",] == 0
    assert found["skymem_entry_enabled", "memory_rotate_check"] == 1
    assert not any(word in told.out for word in ("zanzibar", "quokka", "numbat"))


def test_as_json_it_is_one_document(shell: Shell) -> None:
    (build, *_) = shell("metrics", "--json").json["metrics"]
    assert (build["name"], build["type"]) == ("skymem_build_info", "gauge")
    assert build["samples"][0]["value"] == 1


def test_with_an_agent_it_is_about_that_one(shell: Shell) -> None:
    for agent in ("sky", "hobbs"):
        shell("--agent", agent, "remember", "x")
    of_one = read(shell("--agent", "hobbs", "metrics").out)
    assert ("skymem_memories", "hobbs", "short") in of_one
    assert ("skymem_memories", "sky", "short") not in of_one
    assert shell("--agent", "nobody", "metrics").code != 0


def test_the_file_is_for_everyone_to_read_and_replaced_whole(shell: Shell, place: Path) -> None:
    old = os.umask(0o077)
    try:
        told = shell("metrics", "--textfile", str(place), "--json").json
    finally:
        os.umask(old)
    assert told == {"textfile": str(place), "bytes": place.stat().st_size}
    assert stat.S_IMODE(place.stat().st_mode) == 0o644
    before = place.stat().st_ino
    shell("remember", "x")
    assert shell("metrics", "--textfile", str(place)).out == ""
    assert place.stat().st_ino != before, "a reader has the one or the other"
    assert read(place.read_text())["skymem_memories", "sky", "short"] == 1
    assert os.listdir(place.parent) == ["skymem.prom"]


def test_a_mode_that_somebody_chose_stays(shell: Shell, place: Path) -> None:
    shell("metrics", "--textfile", str(place))
    place.chmod(0o640)
    shell("metrics", "--textfile", str(place))
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["skymem.txt", ".skymem.prom", "skymem.prom.new", "prom"])
def test_a_name_that_no_collector_reads_is_refused(shell: Shell, place: Path, name: str) -> None:
    told = shell("metrics", "--textfile", str(place.parent / name))
    assert (told.code, told.out) == (2, "")
    assert ".prom" in told.err
    assert os.listdir(place.parent) == []


def test_where_it_cant_be_written_the_file_before_stays(shell: Shell, place: Path) -> None:
    assert shell("metrics", "--textfile", str(place.parent / "missing/skymem.prom")).code == 74
    shell("metrics", "--textfile", str(place))
    link = place.with_name("link.prom")
    link.symlink_to(place)
    assert shell("metrics", "--textfile", str(link)).code == 30, "not through a link"
    assert read(place.read_text())["skymem_alarms",] == 0


def test_two_homes_on_a_machine_are_told_apart(shell: Shell) -> None:
    told = shell("metrics", "--label", "home=work", "--label", 'team=a"b\\').out
    assert read(told)["skymem_alarms", "work", 'a"b\\'] == 0


@pytest.mark.parametrize("label", ["agent=x", "home", "1st=x", "__x=y", "a-b=c", "=x"])
def test_a_label_that_can_not_be_is_refused(shell: Shell, label: str) -> None:
    assert shell("metrics", "--label", label).code == 2
    assert shell("metrics", "--label", "a=1", "--label", "a=2").code == 2


def test_a_home_with_faulty_files_is_counted_all_the_same(shell: Shell) -> None:
    with (shell.home / "schedule.yaml").open("a") as stream:
        stream.write("colour: red\n")
    with (shell.home / "retention_rules.yaml").open("a") as stream:
        stream.write("colour: red\n")
    told = shell("metrics")
    found = read(told.out)
    assert told.code == 0
    assert found["skymem_alarm", "", "rules_faulty"] == 1
    assert found["skymem_alarm", "", "schedule_faulty"] == 1
    assert not any(name[0].startswith("skymem_entry") for name in found)


def test_it_changes_nothing(shell: Shell) -> None:
    shell("remember", "x")
    shell("metrics")
    before = {path: path.stat().st_mtime_ns for path in shell.home.rglob("*") if path.is_file()}
    shell("metrics")
    after = {path: path.stat().st_mtime_ns for path in shell.home.rglob("*") if path.is_file()}
    assert before == after


def test_it_is_the_operators(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell("remember", "x")
    monkeypatch.setenv("SKYMEM_BOUND_AGENT", "sky")
    assert shell("metrics").code == 30
