"""What a tool did and what was replied is appended: bounded, without secrets, as a tool's."""

import json
from pathlib import Path

import pytest

from tests.hooks.agents import CodingAgent

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"[:36]
USED = {
    "session_id": "s1",
    "hook_event_name": "PostToolUse",
    "cwd": "/srv/app",
    "tool_name": "Bash",
    "tool_input": {"command": "make test"},
    "tool_response": {"stdout": "3 passed", "stderr": ""},
}


def test_a_tools_use_is_a_crumb_of_a_tool(coding_agent: CodingAgent) -> None:
    told = coding_agent.tells("tool-use", USED)
    (memory,) = coding_agent.memories()

    assert (told.code, told.out) == (0, "")
    assert memory.content == "Bash: make test\n→ 3 passed"
    assert (memory.kind, memory.origin) == ("crumb", "tool")
    assert memory.metadata["session"] == "s1"


def test_what_this_session_left_is_not_told_it_again(coding_agent: CodingAgent) -> None:
    coding_agent.tells("tool-use", USED)
    asked = {"hook_event_name": "UserPromptSubmit", "prompt": "did make test say passed?"}

    assert "3 passed" not in coding_agent.tells("prompt", {**asked, "session_id": "s1"}).out
    assert "3 passed" in coding_agent.tells("prompt", {**asked, "session_id": "s2"}).out


def test_a_long_answer_is_cut_and_no_half_of_a_secret_stays(coding_agent: CodingAgent) -> None:
    # The cut of 900 letters is in the middle of the key.
    answer = "x" * 879 + " " + KEY + " " + "y" * 2_000_000
    coding_agent.tells("tool-use", {**USED, "tool_response": answer})
    (memory,) = coding_agent.memories()

    assert len(memory.content) < 2_000
    assert KEY[:12] not in memory.content


def test_a_reply_is_kept_only_where_replies_are(coding_agent: CodingAgent, tmp_path: Path) -> None:
    transcript = tmp_path / "transcript.jsonl"
    said = [
        {"type": "user", "message": {"content": "deploy it"}},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "Deployed."}]}},
        {"type": "system"},
    ]
    transcript.write_text("".join(json.dumps(one) + "\n" for one in said) + "half a li")
    event = {"hook_event_name": "Stop", "transcript_path": str(transcript)}

    assert coding_agent.tells("stop", event).code == 0
    assert coding_agent.memories() == []

    assert coding_agent.tells("stop", event, SKYMEM_STORE_RESPONSES="true").code == 0
    (memory,) = coding_agent.memories()
    assert (memory.content, memory.origin) == ("Deployed.", "tool")


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"not json",
        b'"a text"',
        b"\xff\xfe\x00binary\x00",
        b"[" * 100_000,
        b'{"tool_name": "' + b"x" * 10_000_000 + b'"}',
        b'{"hook_event_name": "PostToolUse"}',
        b'{"tool_name": 7, "tool_input": [], "prompt": {}}',
    ],
    ids=["empty", "no JSON", "no object", "binary", "deep", "10 MB", "no tool", "other types"],
)
@pytest.mark.parametrize("verb", ["tool-use", "prompt"])
def test_a_hostile_event_appends_nothing_and_says_why(
    coding_agent: CodingAgent, verb: str, stdin: bytes
) -> None:
    told = coding_agent.calls(verb, stdin)

    assert (told.code, told.out) == (0, "")
    assert told.err.startswith("skymem: ")
    assert "Traceback" not in told.err
    assert coding_agent.memories() == []


def test_half_a_letter_and_control_letters_are_written_in_form(coding_agent: CodingAgent) -> None:
    event = b'{"tool_name": "Ba\\ud800sh", "tool_input": {"command": "a\\u0000\\udc00b"}}'
    told = coding_agent.calls("tool-use", event)
    (memory,) = coding_agent.memories()

    assert told.code == 0
    assert memory.content.startswith("Ba?sh: a")
