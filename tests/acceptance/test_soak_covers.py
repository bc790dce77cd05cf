"""The soak goes through everything: each verb of the CLI, or why not, and each job."""

import shlex

import yaml

from benchmarks.soak_keeper import SCHEDULE
from benchmarks.soak_verbs import ELSEWHERE, VERBS
from skymem.cli.main import app
from skymem.jobs.table import steps_of
from skymem.model.schedule import KNOWN_JOBS


def verbs() -> set[str]:
    """Each verb there is, of a group with the group's name before it."""
    found = {command.name or "" for command in app.registered_commands}
    for group in app.registered_groups:
        assert group.typer_instance is not None
        each = group.typer_instance.registered_commands
        found |= {f"{group.name} {command.name}" for command in each}
    return found


def of_the_soak() -> list[str]:
    """The verb of each of its commands."""
    known, found = verbs(), []
    for verb in VERBS:
        first, second = (*shlex.split(verb.words), "")[:2]
        found.append(first if first in known else f"{first} {second}")
    return found


def test_every_verb_is_in_the_soak_or_has_its_reason() -> None:
    commands = set(of_the_soak())
    assert commands | ELSEWHERE.keys() == verbs()
    assert not commands & ELSEWHERE.keys()
    assert all(ELSEWHERE.values())


def test_every_job_is_in_the_soaks_schedule() -> None:
    entries = {entry["name"] for entry in yaml.safe_load(SCHEDULE.format(index=2))["every"]}
    assert {step for name in entries for step in (name, *steps_of(name))} == {*KNOWN_JOBS}
