"""Installing adds our hooks and nothing else; removing leaves the settings as they were."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skymem.errors import ConfigurationError
from skymem.hooks.install import carry_out, is_ours, plan_install, plan_remove
from skymem.hooks.run import EVENTS
from skymem.stores.files import Files

HOME = Path("/srv/a home")

words = st.text(max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
groups = st.lists(
    st.fixed_dictionaries({
        "matcher": words,
        "hooks": st.lists(st.fixed_dictionaries({"type": st.just("command"), "command": words}),
                          max_size=2),
    }),
    max_size=2,
)  # fmt: skip
hooks = st.dictionaries(st.sampled_from([*EVENTS.values(), "PreToolUse"]), groups, max_size=3)


@st.composite
def odd_settings(draw: st.DrawFn) -> bytes:
    """Settings as people and programs leave them."""
    found = draw(st.dictionaries(words.filter(lambda word: word != "hooks"), values, max_size=3))
    if draw(st.booleans()):
        found["hooks"] = draw(hooks)
    items = draw(st.permutations([*found.items()]))
    indent = draw(st.sampled_from([None, 1, 2, 4, "\t"]))
    ascii_only = draw(st.booleans())
    text = json.dumps(dict(items), indent=indent, ensure_ascii=ascii_only)
    text = draw(st.sampled_from(["", " ", "\n"])) + text + draw(st.sampled_from(["", "\n", " \n"]))
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    return text.encode(errors="replace")


def installed(path: Path, agent: str = "sky") -> None:
    carry_out(plan_install(path, HOME, agent), Files())


def removed(path: Path) -> None:
    carry_out(plan_remove(path), Files())


def without_ours(found: dict[str, Any]) -> dict[str, Any]:
    """Settings without our hooks, and without what is empty."""
    kept = {
        event: [group for group in groups if not any(map(is_ours, group["hooks"]))]
        for event, groups in found.get("hooks", {}).items()
    }
    return {**found, "hooks": {event: groups for event, groups in kept.items() if groups}}


@settings(max_examples=60)
@given(odd_settings())
def test_whatever_they_are_they_come_back_to_the_byte(before: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "settings.json"
        path.write_bytes(before)
        installed(path)
        once = path.read_bytes()
        installed(path)

        assert path.read_bytes() == once
        found = json.loads(once)
        assert without_ours(found) == without_ours(json.loads(before))
        for event in EVENTS.values():
            assert sum(any(map(is_ours, each["hooks"])) for each in found["hooks"][event]) == 1

        removed(path)
        assert path.read_bytes() == before
        assert [one.name for one in Path(place).iterdir()] == ["settings.json"]


@settings(max_examples=40)
@given(odd_settings(), st.sampled_from(["milton", "sky"]))
def test_what_a_person_changed_meanwhile_stays(before: bytes, agent: str) -> None:
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "settings.json"
        path.write_bytes(before)
        installed(path)
        changed = {**json.loads(path.read_bytes()), "model": "another"}
        path.write_text(json.dumps(changed, indent=3))
        installed(path, agent)
        removed(path)

        wanted = {**json.loads(before), "model": "another"}
        found = json.loads(path.read_bytes())
        assert found == wanted
        assert [*found][:-1] == [one for one in wanted if one in found][:-1] or "hooks" in found


def test_settings_that_were_not_there_are_not_there_again(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    installed(path)
    assert {*json.loads(path.read_bytes())["hooks"]} == {*EVENTS.values()}
    removed(path)

    assert [*path.parent.iterdir()] == []


def test_another_agent_takes_the_place_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'{"model": "x"}\n')
    installed(path)
    installed(path, "milton")

    told = path.read_text()
    assert "--agent milton" in told
    assert "--agent sky" not in told
    removed(path)
    assert path.read_bytes() == b'{"model": "x"}\n'


def test_a_link_to_the_settings_stays_one(tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_bytes(b"{}")
    path = tmp_path / "settings.json"
    path.symlink_to(kept)
    installed(path)

    assert path.is_symlink()
    assert b"skymem" in kept.read_bytes()


@pytest.mark.parametrize(
    ("before", "word"),
    [
        (b'{\n  // mine\n  "model": "x"\n}', "comments"),
        (b'{"model": "x",}', "line 1"),
        (b"[]", "no JSON object"),
        (b"", "no JSON"),
        (b"\xff{}", "UTF-8"),
        (b'{"hooks": []}', "no object"),
        (b'{"hooks": {"Stop": {}}}', "no list"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": NaN}', "NaN"),
    ],
)
def test_what_can_not_be_kept_is_refused_and_untouched(
    tmp_path: Path, before: bytes, word: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(before)

    with pytest.raises(ConfigurationError, match=word):
        plan_install(path, HOME, "sky")
    with pytest.raises(ConfigurationError, match=word):
        plan_remove(path)
    assert [one.name for one in tmp_path.iterdir()] == ["settings.json"]
    assert path.read_bytes() == before


def skymem(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "skymem", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def test_the_commands_that_are_installed_work_from_anywhere(tmp_path: Path) -> None:
    home, path = tmp_path / "a home", tmp_path / "settings.json"
    assert skymem("init", str(home)).returncode == 0
    told = skymem("--home", str(home), "hook", "install", "--settings", str(path), "--dry-run")
    assert "would be" in told.stdout
    assert not path.exists()

    told = skymem("--home", str(home), "hook", "install", "--settings", str(path))
    assert told.returncode == 0, told.stderr
    (group,) = json.loads(path.read_bytes())["hooks"]["PostToolUse"]
    event = {"tool_name": "Write", "tool_input": {"file_path": "/srv/x"}}
    done = subprocess.run(
        ["sh", "-c", group["hooks"][0]["command"]],
        input=json.dumps(event), capture_output=True, text=True, check=False, cwd="/", timeout=300,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "/srv/x" in (home / "memory/sky/short_term.jsonl").read_text()

    assert skymem("hook", "remove", "--settings", str(path)).returncode == 0
    assert not path.exists()


def test_a_plugin_has_its_manifest_and_its_hooks(tmp_path: Path) -> None:
    home, plugin = tmp_path / "home", tmp_path / "plugin"
    skymem("init", str(home))
    told = skymem("--home", str(home), "--agent", "milton", "hook", "plugin", str(plugin))

    assert told.returncode == 0, told.stderr
    assert json.loads((plugin / ".claude-plugin/plugin.json").read_bytes())["name"] == "skymem"
    made = json.loads((plugin / "hooks/hooks.json").read_bytes())["hooks"]
    assert {*made} == {*EVENTS.values()}
    assert all("--agent milton" in group[0]["hooks"][0]["command"] for group in made.values())
    assert skymem("--home", str(home), "hook", "plugin", str(tmp_path)).returncode == 2
