"""A secret is taken out at whatever door it comes to; that is said, and it stands nowhere (X11)."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Shell
from tests.policy.secret_shapes import SECRETS

TOKEN = SECRETS[4][2]()
WORD = "hunter2" + "Xk99zQ"
TEXT = f"push with {TOKEN}, the password is {WORD} and that's it"
FLOW = {
    "flow_dact": "push",
    "user_query": TEXT,
    "slots": {"password": WORD},
    "tool_calls": [{"tool": "git", "args": {"token": TOKEN}}],
    "outcome": TEXT,
}
SHEET = {"user": "ann", "preferences": {"api_key": TOKEN, "password": WORD}}
TURN = {"role": "user", "content": f"We decided on 3 May: {TEXT}"}
FILES = {"answers.json": SHEET, "turns.jsonl": TURN}

DOORS = [
    ("remember", TEXT),
    ("remember", "the router", "--meta", f"password={WORD}"),
    ("note", "write", "log", TEXT),
    ("scratchpad", "write", TEXT),
    ("pref", "set", "greeting", TEXT),
    ("pref", "set", "password", WORD),
    ("pref", "rule", "login", "--when", '{"a": 1}', "--effect", json.dumps({"password": WORD})),
    ("pref", "onboard", "answers.json"),
    ("playbook", "add", "--stdin"),
    ("playbook", "complete", "--stdin", "--session", "c1"),
    ("docs", "add", "a.md"),
    ("docs", "agent-md", "upload", "a.md"),
]


def everything(home: Path) -> bytes:
    return b"".join(one.read_bytes() for one in home.rglob("*") if one.is_file())


@pytest.fixture
def desk(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    directory = tmp_path / "desk"
    directory.mkdir()
    monkeypatch.chdir(directory)
    for name, told in FILES.items():
        (directory / name).write_text(json.dumps(told) + "\n")
    (directory / "a.md").write_text(f"# Mirror\n\n{TEXT}\n")
    return shell


@pytest.mark.parametrize("words", DOORS, ids=lambda words: " ".join(words)[:26])
def test_a_door_writes_no_secret_and_says_what_it_took_out(
    desk: Shell, words: tuple[str, ...]
) -> None:
    told = desk(*words, stdin=json.dumps(FLOW).encode())
    assert told.code == 0
    assert "taken out before it was written" in told.err or "redacted" in told.err
    for secret in (TOKEN, WORD):
        assert secret not in told.out + told.err
        assert secret.encode() not in everything(desk.home)


def test_a_summary_of_a_conversation_quotes_none(desk: Shell) -> None:
    told = desk("conversation", "summarize", "turns.jsonl", "--store", "--force")
    assert (told.code, told.out.count("[redacted:")) == (0, 2)
    assert TOKEN.encode() not in everything(desk.home)
    assert WORD.encode() not in everything(desk.home)


def test_what_a_person_wrote_into_agent_md_goes_into_no_prompt(desk: Shell) -> None:
    desk("docs", "agent-md", "upload", "a.md")
    (file,) = desk.home.rglob("agent.md")
    file.write_text(f"The mirror. {TEXT}\n")
    told = desk("context", "how is the mirror pushed?")
    assert "The mirror." in told.out
    assert TOKEN not in told.out
    assert WORD not in told.out
