"""Our hooks in a coding agent's settings: put in, taken out, or as a plugin's folder.

What stood in the settings before is kept beside them, byte for byte, until our hooks are taken out;
an empty file there says that there were none. Settings change whole or not at all.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

from skymem.errors import BusyError, ConfigurationError, UsageError
from skymem.hooks import settings_text as texts
from skymem.hooks.run import EVENTS
from skymem.stores.files import Files, disk_errors

BEFORE: Final = ".before-skymem"
"""What the copy's name ends with."""

TOOLS: Final = "Bash|Edit|MultiEdit|Write|NotebookEdit|WebFetch|WebSearch|Task"
"""Tools that do something, or bring something in; what is only read is in its file."""

TIMEOUT_SECONDS: Final = 10
"""When the coding agent itself gives a hook up; each ends well before."""


class Change(NamedTuple):
    """What becomes of the settings."""

    path: Path
    before: bytes | None
    """None: there is no such file."""

    after: bytes | None
    original: bytes | None
    """What the copy beside is to hold; None: none is to be there."""

    @property
    def changes(self) -> bool:
        """Whether there is anything to do."""
        return self.before != self.after


def usual_settings(environment: Mapping[str, str]) -> Path:
    """Where a coding agent has the settings of this user."""
    directory = environment.get("CLAUDE_CONFIG_DIR")
    return (Path(directory) if directory else Path.home() / ".claude") / "settings.json"


def wanted_hooks(home: Path, agent: str) -> dict[str, dict[str, Any]]:
    """A group of one hook for each event: of this home and agent, whatever the directory is."""
    found: dict[str, dict[str, Any]] = {}
    for verb, event in EVENTS.items():
        program = (sys.executable, "-P", "-m", "skymem")
        words = (*program, "--home", str(home), "--agent", agent, "hook", verb)
        hook = {"type": "command", "command": shlex.join(words), "timeout": TIMEOUT_SECONDS}
        matcher = {"matcher": TOOLS} if verb == "tool-use" else {}
        found[event] = {**matcher, "hooks": [hook]}
    return found


def is_ours(hook: Any) -> bool:
    """Whether a hook in the settings is one that was installed by us."""
    command = hook.get("command") if isinstance(hook, dict) else None
    if not isinstance(command, str):
        return False
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    program = any(os.path.basename(word) == "skymem" for word in words[:-2])
    return program and words[-2] == "hook" and words[-1] in EVENTS


def plan_install(path: Path, home: Path, agent: str) -> Change:
    """Say what the settings are to be with our hooks in them; those of before are replaced.

    Raises:
        ConfigurationError: the settings are not JSON, or not in the documented form.
        DiskError: they can't be read.
    """
    path = path.resolve()  # a link is kept, and what it leads to is edited
    before, copy = _read(path), _read(_copy_of(path))
    base, original = _without(path, before, copy)
    after = _edited(path, base or b"{}\n", wanted_hooks(home, agent))
    return Change(path, before, after, original if original is not None else base or b"")


def plan_remove(path: Path) -> Change:
    """Say what the settings are to be without our hooks: as they were, if nothing else changed.

    Raises:
        ConfigurationError, DiskError: see `plan_install`.
    """
    path = path.resolve()
    before, copy = _read(path), _read(_copy_of(path))
    base, _ = _without(path, before, copy)
    done = base == before and copy != (base or b"")  # the copy is not of what was just restored
    return Change(path, before, base, copy if done else None)


def carry_out(change: Change, files: Files) -> None:
    """Write the settings, and the copy of what they were before them.

    Raises:
        BusyError: somebody else wrote them meanwhile; nothing is changed.
        DiskError: nothing is changed.
    """
    path, copy = change.path, _copy_of(change.path)
    if change.changes:
        files.make_directory(path.parent)
    if change.original is not None and _read(copy) != change.original:
        files.replace(copy, change.original)
    if _read(path) != change.before:
        raise BusyError(str(path), "another program, which changed it just now")
    with disk_errors(path):
        if change.changes and change.after is not None:
            files.replace(path, change.after)
        elif change.changes:
            files.unlink(path)
            files.fsync_directory(path.parent)
        if change.original is None and copy.exists():
            files.unlink(copy)
            files.fsync_directory(path.parent)


def plugin_files(home: Path, agent: str) -> dict[str, bytes]:
    """The files of a plugin's folder, by their path in it."""
    manifest = {
        "name": "skymem",
        "version": version("skymem"),
        "description": f"The memory of agent {agent}, kept by skymem",
    }
    hooks = {"description": manifest["description"], "hooks": {
        event: [group] for event, group in wanted_hooks(home, agent).items()
    }}  # fmt: skip
    return {
        ".claude-plugin/plugin.json": _spelled(manifest),
        "hooks/hooks.json": _spelled(hooks),
    }


def write_plugin(directory: Path, made: Mapping[str, bytes], files: Files) -> Sequence[Path]:
    """Write a plugin's folder; gives the files. One that is there is written over.

    Raises:
        UsageError: the directory holds something else.
        DiskError: a file can't be written.
    """
    directory = directory.absolute()
    known = {name.split("/", maxsplit=1)[0] for name in made}
    with disk_errors(directory):
        others = {one.name for one in directory.iterdir()} if directory.is_dir() else set()
    if others - known:
        raise UsageError(f"{directory} holds other files; give a directory of its own")
    for name, data in made.items():
        path = directory / name
        files.make_directory(path.parent)
        files.replace(path, data)
    return [directory / name for name in made]


def _without(
    path: Path, now: bytes | None, copy: bytes | None
) -> tuple[bytes | None, bytes | None]:
    """The settings without our hooks, and the copy where that is still what they were before."""
    if now is None:
        return None, None
    text = _text(path, now)
    try:
        mine = texts.our_hooks(text, is_ours)
        if copy is not None and _put_in(path, copy or b"{}\n", mine) == now and mine:
            return copy or None, copy
        keep = _containers(copy)
        return texts.without_hooks(text, is_ours, keep).encode(), None
    except texts.SettingsError as error:
        raise _unusable(path, error) from None


def _containers(copy: bytes | None) -> frozenset[str]:
    """What was there before, if empty; a copy that is damaged says nothing."""
    try:
        return texts.containers((copy or b"{}").decode())
    except (texts.SettingsError, UnicodeDecodeError):
        return frozenset()


def _put_in(path: Path, data: bytes, hooks: Mapping[str, Mapping[str, Any]]) -> bytes | None:
    """A copy with hooks in it, to compare; None where that is no settings file."""
    try:
        return _edited(path, data, hooks)
    except ConfigurationError:
        return None


def _edited(path: Path, data: bytes, hooks: Mapping[str, Mapping[str, Any]]) -> bytes:
    text = _text(path, data)
    try:
        return texts.with_hooks(text, hooks).encode()
    except texts.SettingsError as error:
        raise _unusable(path, error) from None


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise _unusable(path, texts.SettingsError("not UTF-8")) from None


def _unusable(path: Path, error: texts.SettingsError) -> ConfigurationError:
    return ConfigurationError(
        f"{path} is left as it is: {error}; mend it, or use: skymem hook plugin DIR"
    )


def _read(path: Path) -> bytes | None:
    with disk_errors(path):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def _copy_of(path: Path) -> Path:
    return path.with_name(path.name + BEFORE)


def _spelled(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode() + b"\n"
