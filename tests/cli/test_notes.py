"""Notes, profiles and projects as a shell sees them (rows N1 to N12, R9, R10)."""

import json
from typing import Any

import pytest

from tests.cli.conftest import Shell

OLD = 1_700_000_000
DRY = [
    ["note", "write", "log", "x", "--dry-run"],
    ["note", "write", "soul", "x", "--dry-run"],
    ["note", "merge", "one", "two", "--dry-run"],
    ["note", "prune-expired", "--dry-run"],
]


def lines(shell: Shell, tier: str = "short") -> list[dict[str, Any]]:
    path = shell.agent_directory / f"{tier}_term.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def echo(shell: Shell, content: str, **fields: Any) -> None:
    shell.agent_directory.mkdir(exist_ok=True)
    with shell.short_term.open("a") as stream:
        stream.write(json.dumps({"ts": OLD, "type": "short", "content": content, **fields}) + "\n")


def listed(shell: Shell, *words: str) -> list[str]:
    return [note["content"] for note in shell("note", "list", "--json", *words).json["notes"]]


@pytest.mark.parametrize(
    ("kind", "usual"),
    [
        ("log", {"stability": "volatile", "ttl_days": 30}),
        ("summary", {"stability": "volatile", "ttl_days": 7}),
        ("soul", {"stability": "permanent"}),
        ("agent", {"stability": "permanent"}),
        ("user", {"stability": "permanent"}),
        ("fact", {"stability": "stable"}),
    ],
)
def test_a_note_lives_as_long_as_is_usual_for_its_kind(
    shell: Shell, kind: str, usual: dict[str, Any]
) -> None:
    told = shell("note", "write", kind, "x")
    (line,) = lines(shell)

    assert (told.code, told.err) == (0, "")
    assert line.pop("ts") > OLD
    assert line == {"type": "short", "content": "x", "kind": kind, "scope": "user", **usual}


def test_a_stability_that_is_said_stands_without_the_usual_ttl(shell: Shell) -> None:
    shell("note", "write", "log", "x", "--stability", "stable")
    shell("note", "write", "log", "y", "--ttl-days", "2")
    first, second = lines(shell)

    assert first["stability"] == "stable"
    assert "ttl_days" not in first
    assert (second["stability"], second["ttl_days"]) == ("volatile", 2)


def test_a_volatile_note_without_a_ttl_is_written_with_a_warning(shell: Shell) -> None:
    told = shell("note", "write", "log", "x", "--stability", "volatile", "--json")

    assert told.code == 0
    assert "warning: a volatile note without a ttl" in told.err
    assert len(told.json["warnings"]) == 1
    assert len(lines(shell)) == 1


def test_every_option_becomes_a_field_of_the_line_and_is_listed(shell: Shell) -> None:
    words = ["--user", "ann", "--scope", "team", "--tag", "a", "--tag", "b", "--confidence", "0.9"]
    more = ["--sensitivity", "sensitive", "--evidence", "docs/ci.md", "--job-id", "j7"]
    told = shell("note", "write", "rule", "Run the tests", *words, *more, "--json").json
    (line,) = lines(shell)
    (note,) = shell("note", "list", "--json").json["notes"]

    assert note == told["note"]
    assert line["trust"] == note["confidence"] == 0.9
    for name, value in {
        "user_id": "ann",
        "scope": "team",
        "tags": ["a", "b"],
        "sensitivity": "sensitive",
        "evidence": ["docs/ci.md"],
        "job_id": "j7",
    }.items():
        assert line[name] == note[name] == value


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["sumary", "x"], 'did you mean "summary"'),
        (["log", " "], 'field "content"'),
        (["rule", "x", "--confidence", "0.7", "--evidence", "a"], 'field "confidence": 0.7'),
        (["rule", "x"], 'field "evidence": a rule needs some'),
        (["log", "x", "--confidence", "nan"], 'field "confidence": nan'),
        (["log", "x", "--confidence", "1.1"], 'field "confidence": 1.1'),
        (["log", "x", "--ttl-days", "0"], 'field "ttl_days"'),
        (["log", "x", "--stability", "solid"], 'field "stability"'),
        (["log", "x", "--sensitivity", "secret"], 'field "sensitivity"'),
        (["log", "x", "--user", ""], 'field "user_id"'),
    ],
)
def test_what_is_not_in_form_is_refused_and_its_field_named(
    shell: Shell, words: list[str], says: str
) -> None:
    told = shell("note", "write", *words)

    assert (told.code, told.out) == (2, "")
    assert says in told.err
    assert lines(shell) == []


def test_a_kind_that_configuration_adds_can_be_written(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    rules.write_text("kinds:\n  ticket: {stability: volatile, ttl: 3d}\n")

    assert shell("note", "write", "ticket", "x").code == 0
    assert lines(shell)[0]["ttl_days"] == 3


def test_a_user_has_one_soul_and_its_chain_can_be_read(shell: Shell) -> None:
    first = shell("note", "write", "soul", "Think first", "--user", "ann").out.strip()
    shell("note", "write", "soul", "Another's", "--user", "bob")
    second = shell("note", "write", "soul", "Think twice", "--user", "ann").out.strip()

    assert listed(shell, "--kind", "soul", "--user", "ann") == ["Think twice"]
    assert listed(shell, "--kind", "soul") == ["Think twice", "Another's"]
    assert lines(shell)[2]["supersedes"] == [first]
    assert shell("show", second, "--json").json["memory"]["supersedes"] == [first]


def test_what_is_synced_again_as_it_is_writes_nothing(shell: Shell) -> None:
    name = shell("note", "write", "user", "Ann, Oslo", "--user", "ann").out.strip()
    before = shell.short_term.read_bytes()
    again = shell("note", "write", "user", "Ann, Oslo", "--user", "ann", "--json").json

    assert (again["id"], again["written"]) == (name, False)
    assert shell.short_term.read_bytes() == before

    shell("promote")
    assert shell("note", "write", "user", "Ann, Oslo", "--user", "ann").out.strip() == name


def test_a_list_has_what_holds_newest_first_and_filters_it(shell: Shell) -> None:
    echo(shell, "gone", kind="log", ttl_days=1)
    echo(shell, "old", kind="fact", id="old", ts=OLD + 1)
    echo(shell, "corrected", kind="fact", supersedes=["old"], ts=OLD + 2, tags=["a"])
    echo(shell, "twice", kind="log", ts=OLD + 3, user_id="ann", tags=["b"])
    echo(shell, "twice", kind="log", ts=OLD + 3, user_id="ann", tags=["b"])
    echo(shell, "no kind", ts=OLD + 4)
    echo(shell, "elsewhere", kind="log", ts=OLD + 5, scope="team", importance=0.9)
    shell("promote")

    assert listed(shell) == ["elsewhere", "twice", "corrected"]
    assert listed(shell, "--tag", "a", "--tag", "b") == ["twice", "corrected"]
    assert listed(shell, "--scope", "team") == ["elsewhere"]
    assert listed(shell, "--scope", "user", "--kind", "log") == ["twice"]
    assert listed(shell, "--user", "ann") == ["twice"]
    assert listed(shell, "--limit", "1") == ["elsewhere"]


def test_text_of_a_note_is_harmless_on_a_terminal(shell: Shell) -> None:
    echo(shell, "\x1b[2Jred", kind="log", user_id="\x1b]0;x", id="\x1b[1m")
    told = shell("note", "list")

    assert "\x1b" not in told.out
    assert "\\u001b[2Jred" in told.out


def test_merged_notes_become_one_summary_that_is_listed_in_their_place(shell: Shell) -> None:
    names = [shell("note", "write", "log", text).out.strip() for text in ("one", "two")]
    dry = shell("note", "merge", *names, "--dry-run")
    told = shell("note", "merge", names[0][:10], names[1], "--json")

    assert "would be: 2 merged into" in dry.out
    assert told.code == 0
    assert told.json["note"]["content"] == "- one\n- two"
    assert sorted(told.json["note"]["supersedes"]) == sorted(names)
    assert listed(shell) == ["- one\n- two"]
    assert shell("show", names[0], "--json").json["tier"] == "archive"
    assert shell("undo").code == 0
    assert sorted(listed(shell)) == ["one", "two"]


def test_notes_that_cannot_be_one_say_why_and_stay(shell: Shell) -> None:
    one = shell("note", "write", "log", "one", "--user", "ann").out.strip()
    two = shell("note", "write", "log", "two", "--user", "bob").out.strip()
    old = shell("note", "write", "soul", "old").out.strip()
    shell("note", "write", "soul", "new")
    pinned = shell("note", "write", "log", "pinned", "--user", "ann").out.strip()
    shell("pin", pinned)
    before = shell.short_term.read_bytes()
    told = {
        words: shell("note", "merge", *words)
        for words in [(one,), (one, one), (one, two), (one, old), (one, pinned), (one, "nobody")]
    }

    assert [each.code for each in told.values()] == [2, 2, 2, 2, 2, 24]
    assert "concern different users" in told[one, two].err
    assert f"{old} is superseded" in told[one, old].err
    assert "skymem unpin" in told[one, pinned].err
    assert shell.short_term.read_bytes() == before


def test_only_what_has_expired_is_pruned_and_can_be_restored(shell: Shell) -> None:
    rules = shell.home / "retention_rules.yaml"
    rules.write_text("prune: {older_than: 1d, importance_below: 0.9, superseded_after: 1d}\n")
    echo(shell, "expired", kind="log", ttl_days=1, id="gone")
    echo(shell, "old", kind="fact", id="old", importance=0.8)
    echo(shell, "superseded", kind="fact", id="superseded")
    echo(shell, "its successor", kind="fact", supersedes=["superseded"])
    shell("promote")
    told = shell("note", "prune-expired", "--json").json

    assert told["pruned"] == 1
    assert told["by_gate"] == {"expired": 1}
    assert [one["id"] for one in shell("trash", "list", "--json").json["trash"]] == ["gone"]
    assert shell("restore", "gone").code == 0
    assert "0 expired" in shell("note", "prune-expired").out


@pytest.mark.parametrize("words", DRY, ids=" ".join)
def test_a_dry_run_changes_nothing(shell: Shell, words: list[str]) -> None:
    echo(shell, "one", kind="log", id="one")
    echo(shell, "two", kind="log", id="two")
    echo(shell, "expired", kind="log", ttl_days=1)
    before = shell.snapshot()
    told = shell(*words)

    assert told.code == 0
    assert shell.snapshot() == before


def compressed(shell: Shell) -> None:
    echo(shell, "User prefers tea.", kind="preference", id="tea")
    echo(shell, "Bob likes \x1b[31mred.", kind="preference", id="red", user_id="bob")
    echo(shell, "Ship v2.1.", kind="project", tags=["project:Apollo"], id="ship")
    echo(shell, "No key.", kind="fact", tags=["project:Apollo", "blocker"], id="key")
    assert shell("compress").code == 0


def test_a_profile_shows_what_is_known_and_whence(shell: Shell) -> None:
    compressed(shell)
    (bob,) = shell("profile", "--user", "bob", "--json").json["profiles"]
    told = shell("profile")

    assert [one["text"] for one in bob["preferences"]] == ["Bob likes \x1b[31mred."]
    assert bob["evidence_ids"] == ["red"]
    assert "User prefers tea.  [tea]" in told.out
    assert "\x1b" not in told.out


def test_a_project_is_listed_and_shown_by_its_name_in_either_case(shell: Shell) -> None:
    compressed(shell)
    (known,) = shell("project", "list", "--json").json["projects"]
    (shown,) = shell("project", "show", "apollo", "--json").json["projects"]

    assert known == shown
    assert [one["text"] for one in shown["goals"]] == ["Ship v2.1."]
    assert [one["source"] for one in shown["blockers"]] == ["key"]
    assert "Apollo" in shell("project", "list").out
    assert "No key.  [key]" in shell("project", "show", "APOLLO").out


def test_where_there_is_nothing_the_verbs_say_so(shell: Shell) -> None:
    told = [shell(*words.split()) for words in ("note list", "profile", "project list")]

    assert [each.code for each in told] == [0, 0, 0]
    assert all(each.err for each in told)
    assert shell("project", "show", "x").code == 24


def test_a_profile_that_was_written_by_hand_is_undone_as_a_run(shell: Shell) -> None:
    from skymem import open_memory
    from skymem.app import open_home
    from skymem.profiles import upsert_user_profile

    name = open_memory(home=str(shell.home)).remember("User prefers tea", kind="preference")
    home = open_home(str(shell.home))
    upsert_user_profile(home, "sky", evidence_ids=[name], preferences=["prefers tea"])
    shown = shell("profile", "--json").json["profiles"]
    undone = shell("undo", "--json").json

    assert len(shown) == 1
    assert undone["removed"] == [shown[0]["id"]]
    assert shell("profile", "--json").json["profiles"] == []
