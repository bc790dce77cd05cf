"""`skymem erase`: says what would go, does it, and gives a receipt to people and to programs."""

import json
from pathlib import Path

import pytest

from skymem.stores.erasures import Erasure, Erasures
from skymem.stores.files import Files
from skymem.stores.home import HomePaths
from tests.cli.conftest import Shell
from tests.conftest import line

SECRET = "The vault code is 4711-blue-otter"


def _filled(shell: Shell) -> str:
    shell.short_term.write_bytes(line(SECRET, 0.9) + line("Tea at four", 0.9) + line("kept", 0.1))
    assert shell("promote").code == 0
    found = shell("recent", "--json").json["results"]
    return next(str(one["id"]) for one in found if one["content"] == SECRET)


def test_it_tells_a_person_what_went_from_where_and_what_is_out_of_reach(shell: Shell) -> None:
    own = _filled(shell)
    would, done, again = (
        shell("erase", own, "--dry-run"), shell("erase", own[:8]), shell("erase", own)
    )  # fmt: skip

    assert (would.code, would.out.splitlines()[0]) == (0, "would erase 1 of sky: 1 named")
    assert (done.code, done.out.splitlines()[0]) == (0, "erased 1 of sky: 1 named")
    assert "long-term" in done.out
    assert "1 → 0" in done.out
    assert "in none of them" in done.out
    assert "backups" in done.out
    assert SECRET not in would.out + done.out
    assert "was erased already" in again.out
    assert "0 erased for good" in shell("status").out


def test_it_tells_programs_the_same(shell: Shell) -> None:
    own = _filled(shell)
    receipt = shell("erase", own, "--json").json["receipt"]
    assert (receipt["erased"], receipt["complete"], receipt["pending"]) == ([own], True, [])
    assert {"place": "long-term", "before": 1, "after": 0, "action": "rewritten"} in receipt[
        "places"
    ]
    last = json.loads((shell.home / "status/sky_last_action.json").read_bytes())
    assert (last["action"], last["detail"]["erased"]) == ("erase", 1)
    log = shell("audit", "log", "--run", receipt["run"])
    assert "long-term 1 → 0" in log.out
    assert "erased for good: named" in shell("explain", own).out


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ((), 2, "give ids"),
        (("abc", "--agent-all"), 2, "give ids"),
        (("nobody-has-it",), 24, "no such memory"),
        (("--match", "["), 2, "no regular expression"),
    ],
)
def test_what_is_not_clear_erases_nothing(
    shell: Shell, words: tuple[str, ...], code: int, says: str
) -> None:
    _filled(shell)
    told = shell("erase", *words)
    assert (told.code, says in told.err) == (code, True)
    assert SECRET in (shell.home / "memory/sky/long_term.jsonl").read_text()


def test_an_erasure_that_was_left_is_an_alarm_and_the_next_run_ends_it(shell: Shell) -> None:
    _filled(shell)
    erasures = Erasures(HomePaths(shell.home), Files(), "sky")
    key = json.loads(_first_key(shell.home))
    erasures.begin(Erasure("20231114T221320.000000Z_erase_1_1", "sky", 1_700_000_000.0, key), [])

    alarms = shell.alarms()
    assert any("is not ended; go on with: skymem --agent sky index" in one for one in alarms)
    assert shell("promote").code == 0
    assert shell.alarms() == []
    (erasures.directory / "odd.json").write_text("{")
    assert shell("promote").code == 20


def _first_key(home: Path) -> str:
    lines = (home / "audit/ledger.jsonl").read_text().splitlines()
    return json.dumps(next(json.loads(one)["key"] for one in lines if '"key"' in one))
