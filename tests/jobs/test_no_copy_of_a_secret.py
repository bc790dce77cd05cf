"""No job copies a secret, and a line whose secret is gone is the memory it was (row X11).

Lines come by a plain `echo >>`, so that no door has looked at them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skymem.jobs.fsck import fsck
from skymem.jobs.restore import restore
from skymem.jobs.undo import undo
from skymem.model.caution import SecretRules
from skymem.model.identity import digest
from skymem.model.rules import AgentRules, RetentionRules
from skymem.model.spelling import read_line
from tests.conftest import START, Desk, line

DAY = 86_400.0
TOKEN = "gl" + "pat-" + "Zx8Qw2Er5Ty7Ui9Op1As"
OTHER = "gl" + "pat-" + "Aa9Ss8Dd7Ff6Gg5Hh4Jj"
SAID = f"the pipeline pushes with {TOKEN} to the mirror"
SAFE = "the pipeline pushes with [redacted:gitlab-token] to the mirror"


def copies(root: Path, secret: str = TOKEN) -> list[str]:
    """The files of a home that hold the secret, but for short-term and its drains."""
    found = [
        path for path in root.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()
    ]
    own = [
        path for path in found if path.name != "short_term.jsonl" and path.parent.name != "drains"
    ]
    return [str(path.relative_to(root)) for path in own]


def balanced(desk: Desk) -> bool:
    return fsck(desk.work(), ["sky"]).valid


def old(content: str, **more: object) -> bytes:
    return line(content, ts=START - 3 * DAY, **more)  # type: ignore[arg-type]


Job = Callable[[Desk], object]


def promote(desk: Desk) -> None:
    desk.echo(line(SAID, 0.9, tags=["ci", OTHER], metadata={"api_key": "q9w8e7r6t5y4u3i2"}))
    assert desk.run("promote")["promoted"] == 1


def rotate(desk: Desk) -> None:
    desk.limit(0)
    desk.echo(line(SAID, 0.2))
    assert desk.run("rotate")["rotated"] == 1


def compress(desk: Desk) -> None:
    desk.echo(old(SAID), old(f"User prefers that {TOKEN} is used", kind="preference"))
    assert desk.run("compress")["acted"]


def merge(desk: Desk) -> None:
    notes = [f"{number}: {SAID}" for number in range(6)]
    desk.echo(*(line(one, ts=START - 30 * DAY, kind="log", stability="volatile") for one in notes))
    assert desk.run("merge")["acted"]


def prune(desk: Desk) -> None:
    desk.echo(line(SAID, ts=START - 9 * DAY, ttl_days=1))
    assert desk.run("prune")["acted"] == 1


@pytest.mark.parametrize(
    "job", [promote, rotate, compress, merge, prune], ids=lambda job: job.__name__
)
def test_a_job_copies_no_secret(desk: Desk, job: Job) -> None:
    job(desk)
    assert copies(desk.paths.root) == []
    assert not copies(desk.paths.root, OTHER)
    assert balanced(desk)


def test_the_rest_of_the_line_stays_byte_for_byte(desk: Desk) -> None:
    desk.echo(
        b'{"note":1.50, "content" : "' + SAID.encode() + b'","importance":0.90 , "ts": 17e8}\n'
    )
    desk.run("promote")
    (raw,) = desk.raw("long")
    own = json.loads(raw)
    assert raw.startswith(
        b'{"note":1.50, "content" : "' + SAFE.encode() + b'","importance":0.90 , "ts"'
    )
    assert list(own)[-1] == "id"


def test_the_id_is_the_one_it_had_and_the_memory_is_found_by_it(desk: Desk) -> None:
    desk.echo(line(SAID, 0.9))
    name = digest(desk.memories("short")[0]).hex()
    detail = desk.run("promote")
    (memory,) = desk.memories("long")
    assert (memory.source_id, memory.content) == (name, SAFE)
    assert digest(memory).hex() == name
    assert detail["redacted"] == {"gitlab-token": 1}
    (end,) = [entry for entry in desk.ledger() if entry["op"] == "end"]
    assert end["redacted"] == {"gitlab-token": 1}


@pytest.mark.parametrize("own", [None, "note-7", TOKEN], ids=["derived", "own", "secret"])
def test_the_same_line_again_is_that_memory(desk: Desk, own: str | None) -> None:
    """A replay is counted and not added; with another secret it is another memory."""
    more: dict[str, Any] = {} if own is None else {"id": own}
    for _ in range(3):
        desk.echo(line(SAID, 0.9, **more))
        desk.run("promote")
    assert desk.contents("long") == [SAFE]
    assert desk.raw("short") == []
    desk.echo(line(SAID.replace(TOKEN, OTHER), 0.9, **more))
    desk.run("promote")
    assert desk.contents("long") == [SAFE, SAFE]
    assert len({memory.source_id for memory in desk.memories("long")}) == 2
    assert balanced(desk)


def test_it_is_that_memory_whatever_is_a_secret_now(desk: Desk) -> None:
    """What is told as a secret changes with the rules and with a new release."""
    desk.echo(line(SAID, 0.9))
    desk.run("promote")
    for rules in (SecretRules("keep"), SecretRules(personal=True), SecretRules(allow=("pat-",))):
        desk.rules = RetentionRules(AgentRules(0.7, 100), secrets=rules)
        desk.echo(line(SAID, 0.9))
        desk.run("promote")
    assert desk.contents("long") == [SAFE]
    assert balanced(desk)


def test_a_line_edited_by_hand_is_a_new_memory(desk: Desk) -> None:
    desk.echo(line(SAID, 0.9))
    desk.run("promote")
    (path,) = desk.files_of("long")
    path.write_bytes(path.read_bytes().replace(b"mirror", b"mirrors"))
    before, after = digest(read_line(line(SAID, 0.9))), digest(desk.memories("long")[0])
    assert before != after


def test_what_is_undone_comes_back_without_its_secret_and_goes_again(desk: Desk) -> None:
    desk.echo(line(SAID, 0.9))
    (run,) = desk.run("promote")["agents"]["sky"]["runs"]
    undo(desk.work(), run, ["sky"])
    assert (desk.contents("short"), desk.raw("long")) == ([SAFE], [])
    desk.clock += 31 * DAY
    desk.run("promote")
    assert (desk.raw("short"), desk.contents("long")) == ([], [SAFE])
    assert balanced(desk)


def test_what_is_restored_from_trash_has_no_secret(desk: Desk) -> None:
    prune(desk)
    (held,) = desk.shelf().trash.all()
    assert held.memory.content == SAFE
    restore(desk.work(), "sky", [held.id])
    assert desk.contents("short") == [SAFE]
    assert balanced(desk)


def test_keep_leaves_everything_as_it_is(desk: Desk) -> None:
    desk.rules = RetentionRules(AgentRules(0.7, 100), secrets=SecretRules("keep"))
    desk.echo(line(SAID, 0.9))
    assert "redacted" not in desk.run("promote")
    assert desk.contents("long") == [SAID]


def test_an_escape_hides_nothing(desk: Desk) -> None:
    hidden = line(SAID, 0.9).replace(b"glpat-", b"\\u0067lpat-")
    desk.echo(hidden)
    desk.run("promote")
    assert desk.contents("long") == [SAFE]
