"""Sharing by rule: copies with their origin, made once, withdrawn with their source (row P17)."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skymem.jobs import runner
from skymem.jobs.erase_find import Sought
from skymem.jobs.erase_shared import erase_with_copies
from skymem.jobs.restore import restore
from skymem.jobs.share import copies_in, copies_of
from skymem.jobs.undo import undo
from skymem.model.rules import RetentionRules, ShareRule
from skymem.policy.share import Source, shared_from
from tests.conftest import START, line
from tests.faults.faulty import FAULTS, PowerCut
from tests.jobs.team import Team

DECISIONS = ShareRule("sky", ("hobbs",), kinds=("decision",))
STEPS_MAX = 300


@pytest.fixture
def team(tmp_path: Path) -> Team:
    """Sky has decided two things and knows one; hobbs and aegis have memories of their own."""
    made = Team(tmp_path / "home", RetentionRules(share=(DECISIONS,)))
    made.add(
        "sky",
        line("deploy on tuesdays", 0.9, kind="decision", tags=["ops"], trust=0.9, origin="user"),
        line("blue is the colour", 0.8, START + 1, kind="decision"),
        line("the cellar is damp", 0.9, START + 2, kind="fact", tags=["ops"]),
    )
    made.add("hobbs", line("hobbs was here", 0.9))
    made.add("aegis", line("aegis was here", 0.9))
    return made


def test_what_a_rule_shares_is_copied_with_its_origin(team: Team) -> None:
    detail = team.run("share")

    assert (detail["shared"], detail["withdrawn"], detail["acted"]) == (2, 0, 2)
    assert team.texts("hobbs") == ["hobbs was here", "deploy on tuesdays", "blue is the colour"]
    assert team.texts("aegis") == ["aegis was here"]
    copy = team.copies("hobbs")[0]
    assert shared_from(copy) == Source("sky", team.id_of("sky", "deploy on tuesdays"))
    assert (copy.origin, copy.trust, copy.kind, copy.tags) == ("user", 0.9, "decision", ("ops",))
    assert (copy.importance, copy.time_us) == (0.9, round(START * 1_000_000))
    team.check()


def test_a_copy_is_made_once_however_often_it_is_shared(team: Team) -> None:
    team.run("share")
    before = team.paths.agent("hobbs").long_term.read_bytes()
    detail = team.run("share")

    assert detail["acted"] == 0
    assert "every copy" in detail["why"]
    assert "awaited" not in detail
    assert team.paths.agent("hobbs").long_term.read_bytes() == before


def test_whoever_has_no_memory_yet_is_awaited(team: Team) -> None:
    shutil.rmtree(team.paths.agent("hobbs").directory)

    for dry_run in (True, False):
        detail = team.run("share", dry_run=dry_run)
        assert (detail["acted"], detail["awaited"]) == (0, ["hobbs"])
        assert detail["why"] == "no memory yet, so nothing to be shared with: hobbs"

    team.add("hobbs", line("hobbs was here", 0.9))
    assert team.run("share")["shared"] == 2


def test_a_dry_run_says_what_would_be_shared_and_writes_nothing(team: Team) -> None:
    detail = team.run("share", dry_run=True)

    assert detail["shared"] == 2
    assert team.copies("hobbs") == []


def test_trust_only_falls_on_the_way(team: Team) -> None:
    team.share_by(DECISIONS._replace(trust_max=0.5))
    team.run("share")

    assert [copy.trust for copy in team.copies("hobbs")] == [0.5, 0.5]
    team.share_by(DECISIONS._replace(trust_max=0.95))
    detail = team.run("share")
    assert (detail["shared"], detail["withdrawn"]) == (2, 2)
    assert [copy.trust for copy in team.copies("hobbs")] == [0.9, 0.8]
    team.check()


@pytest.mark.parametrize(
    ("rule", "texts"),
    [
        pytest.param(ShareRule("sky", ("hobbs",), tags=("ops",)), [0, 2], id="by tag"),
        pytest.param(
            ShareRule("sky", ("hobbs",), tags=("ops",), kinds=("decision",)), [0], id="by both"
        ),
        pytest.param(ShareRule("sky", ("hobbs",), tags=("none",)), [], id="no such tag"),
        pytest.param(ShareRule("sky", ("aegis",), tags=("ops",)), [], id="to another"),
        pytest.param(ShareRule("aegis", ("hobbs",), tags=("ops",)), [], id="of another"),
    ],
)
def test_a_rule_shares_what_it_says(team: Team, rule: ShareRule, texts: list[int]) -> None:
    team.share_by(rule)
    team.run("share")

    every = ["deploy on tuesdays", "blue is the colour", "the cellar is damp"]
    assert [copy.content for copy in team.copies("hobbs")] == [every[at] for at in texts]


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"sensitivity": "sensitive"}, id="what is sensitive"),
        pytest.param({"trust": 0.3}, id="what is trusted too little"),
        pytest.param({"expires_at": START + 10}, id="what has expired"),
        pytest.param({"kind": "rule", "origin": "tool"}, id="what a tool would have done"),
        pytest.param({"shared_from": {"agent": "aegis", "id": "x"}}, id="what was shared itself"),
    ],
)
def test_never_shared_is(team: Team, more: dict[str, Any]) -> None:
    team.share_by(DECISIONS._replace(kinds=("decision", "rule"), trust_min=0.4))
    fields = {"kind": "decision", **more}
    long_term = team.paths.agent("sky").long_term
    with long_term.open("ab") as stream:  # promote itself would keep some of them
        stream.write(line("not for hobbs", 0.9, START + 5, id="not-for-hobbs", **fields))
    team.run("share", "hobbs")

    assert "not for hobbs" not in team.texts("hobbs")


def test_no_secret_that_lies_there_from_before_is_copied(team: Team) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    with team.paths.agent("sky").long_term.open("ab") as stream:
        stream.write(line(f"push with {secret}", 0.9, START + 5, id="old", kind="decision"))
    team.run("share", "hobbs")

    assert secret.encode() not in team.paths.agent("hobbs").long_term.read_bytes()
    assert any("push with [redacted" in copy.content for copy in team.copies("hobbs"))
    assert team.run("share", "hobbs")["acted"] == 0


def test_a_copy_is_not_shared_on(team: Team) -> None:
    team.share_by(DECISIONS, ShareRule("hobbs", ("aegis", "sky"), kinds=("decision",)))
    for _ in range(3):
        team.run("share")

    assert team.copies("aegis") == []
    assert team.copies("sky") == []
    team.check()


def test_a_correction_of_a_copy_is_its_receivers_and_is_not_shared_on(team: Team) -> None:
    from skymem.jobs.correct import correct

    team.share_by(DECISIONS, ShareRule("hobbs", ("aegis",), kinds=("decision",)))
    team.run("share")
    copy = team.copies("hobbs")[0]
    table = {"correct": correct(str(copy.source_id), copy, "deploy on wednesdays")}
    runner.run(team.work(), "correct", ["hobbs"], table=table)
    team.run("share")

    assert "deploy on wednesdays" in team.texts("hobbs")
    assert "deploy on wednesdays" not in team.texts("aegis")
    assert "deploy on tuesdays" in team.texts("sky")
    team.forget("sky", team.id_of("sky", "deploy on tuesdays"))
    team.run("share")
    assert "deploy on tuesdays" not in team.texts("hobbs")
    assert "deploy on wednesdays" in team.texts("hobbs")
    team.check()


def test_what_is_forgotten_at_its_source_is_withdrawn_and_comes_again_with_it(team: Team) -> None:
    team.run("share")
    own = team.id_of("sky", "deploy on tuesdays")
    team.forget("sky", own)
    detail = team.run("share")

    assert (detail["shared"], detail["withdrawn"]) == (0, 1)
    assert [copy.content for copy in team.copies("hobbs")] == ["blue is the colour"]
    team.check()
    restore(team.work(), "sky", [own])
    assert team.run("share")["shared"] == 1
    assert len(team.copies("hobbs")) == 2
    assert team.run("share")["acted"] == 0
    team.check()


def test_what_was_superseded_at_its_source_is_withdrawn(team: Team) -> None:
    team.run("share")
    own = team.id_of("sky", "deploy on tuesdays")
    team.add("sky", line("never deploy", 0.9, START + 9, kind="decision", supersedes=[own]))
    detail = team.run("share")

    assert (detail["shared"], detail["withdrawn"]) == (1, 1)
    texts = [copy.content for copy in team.copies("hobbs")]
    assert texts == ["blue is the colour", "never deploy"]


def test_without_its_rule_a_copy_is_withdrawn(team: Team) -> None:
    team.run("share")
    team.share_by()

    assert team.run("share")["withdrawn"] == 2
    assert team.copies("hobbs") == []
    reasons = {entry["decided"][0][5] for entry in team.ledger("decide", "hobbs")[-1:]}
    assert reasons == {"rule"}
    team.share_by(DECISIONS)
    assert team.run("share")["shared"] == 2
    team.check()


def test_what_its_receiver_forgot_stays_forgotten(team: Team) -> None:
    team.run("share")
    team.forget("hobbs", str(team.copies("hobbs")[0].source_id))

    assert team.run("share")["acted"] == 0
    assert [copy.content for copy in team.copies("hobbs")] == ["blue is the colour"]
    team.check()


def test_a_withdrawn_copy_that_a_person_brings_back_is_left_alone_for_its_grace(team: Team) -> None:
    team.run("share")
    name = str(team.copies("hobbs")[0].source_id)
    team.share_by()
    team.run("share")
    restore(team.work(), "hobbs", [name])

    assert team.run("share")["withdrawn"] == 0
    team.clock += team.rules.restore_grace_seconds + 1
    assert team.run("share")["withdrawn"] == 1
    team.check()


def test_a_run_of_it_can_be_undone(team: Team) -> None:
    team.run("share", "hobbs")
    run = next(one["run"] for one in team.ledger("begin", "hobbs") if one["job"] == "share")
    undo(team.work(), run, ["hobbs"])

    assert team.copies("hobbs") == []
    assert team.run("share")["acted"] == 0
    team.check()


def test_a_merge_makes_nothing_of_a_copy(team: Team) -> None:
    team.run("share")
    team.add("hobbs", line("deploy on tuesdays", 0.5, START + 50, kind="decision"))
    team.run("merge", "hobbs")

    assert "deploy on tuesdays" in [copy.content for copy in team.copies("hobbs")]
    team.check()


def test_it_is_in_the_ledger_of_both(team: Team) -> None:
    team.run("share", "hobbs")
    own = team.id_of("sky", "deploy on tuesdays")
    (shared,) = team.ledger("share", "sky")
    (added,) = team.ledger("add", "hobbs")

    assert shared["with"] == "hobbs"
    assert own in shared["ids"]
    assert shared["of"] == added["run"]
    assert own in [one[2][0] for one in added["added"]]
    team.forget("sky", own)
    team.run("share", "hobbs")
    (withdrawn,) = team.ledger("withdraw", "sky")
    assert withdrawn["ids"] == [own]
    assert "deploy" not in (team.root / "audit/ledger.jsonl").read_text()


def test_whoever_erases_finds_the_copies_in_trash_as_well(team: Team) -> None:
    team.run("share")
    ids = [team.id_of("sky", text) for text in ("deploy on tuesdays", "blue is the colour")]
    team.forget("hobbs", str(team.copies("hobbs")[0].source_id))
    found = list(copies_of(team.work(), "sky", ids))

    assert [(agent, file.split("/")[0]) for agent, _, file in found] == [
        ("hobbs", "long_term.jsonl"),
        ("hobbs", "trash"),
    ]
    assert list(copies_of(team.work(), "aegis", ids)) == []


def test_a_line_that_only_speaks_of_it_is_no_copy(team: Team) -> None:
    team.add("hobbs", line('the key "shared_from" is ours', 0.9, START + 3, shared_from="sky"))
    team.run("share", "hobbs")

    assert 'the key "shared_from" is ours' in team.texts("hobbs")
    assert len(list(copies_in(team.work().shelf("hobbs")))) == 2


@pytest.mark.parametrize(("fault", "stride"), [("killed", 1), ("ENOSPC once", 3)])
def test_cut_short_at_any_step_each_copy_is_there_once(
    team: Team, tmp_path: Path, fault: str, stride: int
) -> None:
    """One copy is to be made and one withdrawn; the next run finishes whatever was left."""
    team.run("share")
    team.forget("sky", team.id_of("sky", "blue is the colour"))
    team.add("sky", line("green it is", 0.9, START + 20, kind="decision"))
    for step in range(1, STEPS_MAX, stride):
        broken = Team(tmp_path / f"{step}", team.rules, team.clock)
        shutil.copytree(team.root, broken.root)
        files = FAULTS[fault](step)
        try:
            broken.run("share", "hobbs", files=files)
        except PowerCut:
            assert fault.startswith("killed")
        assert broken.run("share", "hobbs")["ok"]
        texts = [copy.content for copy in broken.copies("hobbs")]
        assert texts == ["deploy on tuesdays", "green it is"], step
        broken.check()
        shutil.rmtree(broken.root)
        if not files.fired:
            assert step > 10
            return
    raise RuntimeError("it never ends")


def test_erasing_reaches_the_copies_and_they_do_not_come_again(team: Team) -> None:
    team.run("share")
    own = team.id_of("sky", "deploy on tuesdays")
    team.forget("hobbs", str(team.copies("hobbs")[0].source_id))  # it lies in trash as well
    work = replace(team.work(), environment={})
    planned = erase_with_copies(work, "sky", Sought(frozenset({own})), dry_run=True)
    receipt = erase_with_copies(work, "sky", Sought(frozenset({own})))

    assert [one["agent"] for one in planned.shared] == ["hobbs"]
    assert [one["agent"] for one in receipt.shared] == ["hobbs"]
    for path in team.root.rglob("*"):
        assert not path.is_file() or b"deploy on tuesdays" not in path.read_bytes(), path
    team.run("share")
    assert "deploy on tuesdays" not in team.texts("hobbs")
    assert [copy.content for copy in team.copies("hobbs")] == ["blue is the colour"]
    team.check()


def test_an_agent_that_erases_its_own_reaches_what_it_gave_away(team: Team) -> None:
    team.run("share")
    own = team.id_of("sky", "deploy on tuesdays")
    erase_with_copies(team.work(bound="sky"), "sky", Sought(frozenset({own})))

    assert "deploy on tuesdays" not in team.texts("hobbs")
    assert team.work().violations().listed() == []
