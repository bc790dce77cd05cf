"""Generations: the directories of an agent's Chroma index, each made once and never repaired.

A rebuild goes to a new path and takes the old one's place when it is whole. What does not fit what
is installed, or was left unfinished, is made anew; what is damaged is set aside, the newest one of
each agent, so that its damage can be looked at (hazards D8, D12, D13).
"""

import contextlib
import json
import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from skymem.engine.caches import model_of
from skymem.engine.chroma import SPACE, ChromaIndex, chroma_version
from skymem.engine.items import COLLECTIONS
from skymem.engine.left_behind import note_left
from skymem.engine.room import set_aside_root
from skymem.engine.vectors import VectorIndex
from skymem.model.regex import regex
from skymem.stores.files import Files, disk_errors
from skymem.stores.home import HomePaths
from skymem.stores.model_record import read_record

FORMAT: Final = 1
CRASHES_MAX: Final = 1
"""A generation that was open in two crashes is damaged, whatever it looks like."""

_NAME: Final = regex(r"g\d{8}T\d{6}\.\d{6}Z")

MISSING: Final = "it is not there"
UNFINISHED: Final = "it was not finished"
UNREADABLE: Final = "its manifest can't be read"


class Generations:
    """The generations of one agent."""

    def __init__(self, paths: HomePaths, agent: str, files: Files, model: dict[str, Any]) -> None:
        """Use the model `model`: its `key`, `sha256` and `dimension` are part of every manifest."""
        self.directory = paths.chroma_store / agent
        self._paths = paths
        self._agent = agent
        self._aside = set_aside_root(paths)
        self._files = files
        self._model = model

    def tidy(self) -> None:
        """Remove what an engine that was killed left of its records; the engine's lock is held.

        And take over what was made, or kept, while this model was not in use.

        Raises:
            DiskError: the disk refuses.
        """
        self._files.remove_left(self.directory)
        for one in self.directory.glob("g*"):
            self._files.remove_left(one)
        for beside in self._paths.generations_beside:
            self._take_over(beside / self._agent)

    def _take_over(self, beside: Path) -> None:
        if beside == self.directory:
            return
        for one in sorted(beside.glob("g*")):
            if model_of(one) == self._model["key"] and not self.path(one.name).exists():
                self._files.make_directory(self.directory)
                with disk_errors(one):
                    os.rename(one, self.path(one.name))

    def open(self, name: str) -> VectorIndex:
        """Open a generation.

        Raises:
            IndexDamageError: it can't be opened.
            DiskError: the disk is full.
        """
        return ChromaIndex(self.path(name), self._agent)

    def path(self, name: str) -> Path:
        """The Chroma path of a generation."""
        return self.directory / name

    def begin(self, now: float) -> str:
        """Make an empty generation and return its name.

        Raises:
            DiskError: the disk refuses.
        """
        moment = datetime.fromtimestamp(now, UTC)
        self._files.make_directory(self.directory)
        with disk_errors(self.directory):
            taken = max(
                (one for one in os.listdir(self.directory) if _NAME.fullmatch(one)), default=""
            )
        name = f"g{moment:%Y%m%dT%H%M%S.%f}Z"
        while name <= taken or self.path(name).exists():  # a clock set back, or two in a moment
            name = _following(max(name, taken))
        self._files.make_directory(self.path(name))
        self._write_manifest(name, complete=False)
        return name

    def complete(self, name: str, epoch: str) -> None:
        """Say that a generation is whole and the current one; the others go."""
        self._write_manifest(name, complete=True)
        self.make_current(name, epoch)
        self.delete_others(name)

    def make_current(self, name: str, epoch: str) -> None:
        """Name the current generation in `current.json`, where it is not named already."""
        wanted = {"generation": name, "epoch": epoch, "model": self._model["key"]}
        path = self.directory / "current.json"
        if read_json(path) != wanted:
            self._files.make_directory(self.directory)
            self._files.replace(path, json.dumps(wanted).encode() + b"\n")

    def _write_manifest(self, name: str, *, complete: bool) -> None:
        manifest = {**self._expected(name), "chromadb": chroma_version(), "complete": complete}
        self._files.replace(self._manifest(name), json.dumps(manifest, indent=1).encode() + b"\n")

    def _manifest(self, name: str) -> Path:
        return self.path(name) / "manifest.json"

    def _expected(self, name: str) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "model": self._model["key"],
            "sha256": self._model["sha256"],
            "dimension": self._model["dimension"],
            "space": SPACE,
            "server": None,
            "collections": [f"{self._agent}_{each}" for each in COLLECTIONS],
        }

    def is_there(self, name: str) -> bool:
        """Whether the files of a generation that is open are still in their place."""
        return self._manifest(name).is_file() and (self.path(name) / "chroma.sqlite3").is_file()

    def why_not(self, name: str) -> str:
        """Say why a generation can't be used; "" where it can."""
        if not name or not self.path(name).is_dir():
            return MISSING
        manifest = read_json(self._manifest(name))
        if manifest is None:
            return UNREADABLE
        if misfit := self._misfit(name, manifest):
            return misfit
        if not manifest.get("complete"):
            return UNFINISHED
        return "" if self.is_there(name) else "its chroma.sqlite3 is not there"

    def _misfit(self, name: str, manifest: dict[str, Any]) -> str:
        for key, expected in self._expected(name).items():
            if manifest.get(key) != expected:
                return f"its {key} is {manifest.get(key)!r}, and {expected!r} is wanted"
        return self._misfit_of_version(manifest)

    def _misfit_of_version(self, manifest: dict[str, Any]) -> str:
        written = str(manifest.get("chromadb"))
        if written.split(".")[:2] != chroma_version().split(".")[:2]:
            return f"chromadb {written} wrote it, and {chroma_version()} is installed"
        return ""

    def delete_others(self, name: str) -> None:
        """Delete every generation but this one: they are derived, and it has what they had.

        One of the model that was in use before is put where a rollback finds it.
        """
        previous = read_record(self._paths).previous
        kept = self._paths.generations_beside[1] / self._agent
        with disk_errors(self.directory):
            found = [other for other in os.listdir(self.directory) if _NAME.fullmatch(other)]
        for other in found:
            path = self.path(other)
            if other == name:
                continue
            if previous and model_of(path) == previous.key and not (kept / other).exists():
                self._files.make_directory(kept)
                with disk_errors(kept):
                    os.rename(path, kept / other)
            else:
                self.delete(other)

    def delete(self, name: str) -> None:
        """Delete a generation, where it is there; what a server has of it stays, and is noted."""
        note_left(self.directory, read_json(self._manifest(name)), self._files)
        self._remove(name)

    def _remove(self, name: str) -> None:
        with disk_errors(self.directory), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(self.path(name))

    def set_aside(self, name: str, why: str) -> None:
        """Move a damaged generation out of the way; the one set aside before it goes."""
        if not self.path(name).is_dir():
            return
        self._files.make_directory(self._aside)
        ours = re.compile(rf"{re.escape(self._agent)}-{_NAME.pattern}-.*")
        slug = re.sub(r"[^a-z0-9]+", "-", why.lower()).strip("-")[:60]
        with disk_errors(self._aside):
            for old in os.listdir(self._aside):
                if ours.fullmatch(old):
                    shutil.rmtree(self._aside / old)
            os.rename(self.path(name), self._aside / f"{self._agent}-{name}-{slug}")

    # -- what happened to it --------------------------------------------------------------------

    def note_crash(self, name: str) -> None:
        """Count a death of the process that had this generation open."""
        if self.directory.is_dir():
            count = self.crashes(name) + 1
            data = json.dumps({"generation": name, "crashes": count}).encode() + b"\n"
            self._files.replace(self.directory / "crashes.json", data)

    def crashes(self, name: str) -> int:
        """How often it was open in a crash since it was last closed cleanly."""
        noted = read_json(self.directory / "crashes.json") or {}
        count = noted.get("crashes")
        return count if noted.get("generation") == name and isinstance(count, int) else 0

    def note_closed(self, name: str) -> None:
        """Remember how its files look, now that it is closed, and forgive its crashes."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.directory / "crashes.json")
        if self.path(name).is_dir():
            data = json.dumps({"generation": name, "files": self._look(name)}).encode() + b"\n"
            self._files.replace(self.directory / "closed.json", data)

    def is_as_closed(self, name: str) -> bool:
        """Whether no file changed since it was closed; else it is probed before it is opened."""
        noted = read_json(self.directory / "closed.json") or {}
        return noted.get("generation") == name and noted.get("files") == self._look(name)

    def _look(self, name: str) -> dict[str, list[int]]:
        found = {}
        for directory, _, names in os.walk(self.path(name)):
            for each in names:
                path = os.path.join(directory, each)
                with contextlib.suppress(FileNotFoundError):
                    status = os.lstat(path)
                    relative = os.path.relpath(path, self.path(name))
                    found[relative] = [status.st_size, status.st_mtime_ns]
        return found


def _following(name: str) -> str:
    """The next name in order."""
    moment = datetime.strptime(name, "g%Y%m%dT%H%M%S.%fZ").replace(tzinfo=UTC)
    micro = moment.timestamp() + 2e-6
    return f"g{datetime.fromtimestamp(micro, UTC):%Y%m%dT%H%M%S.%f}Z"


def read_json(path: Path) -> dict[str, Any] | None:
    """Read what a file holds; None where it is no JSON object."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
