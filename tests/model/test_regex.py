"""Expressions wait for their first use to be compiled, and are then the pattern itself."""

import copy
import gc
import importlib
import re
from pathlib import Path
from typing import Any, cast

import pytest

import skymem
from skymem.model import regex as room
from skymem.model.regex import regex


def test_nothing_is_compiled_before_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def noting(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", noting)
    pattern = regex("a(b+)", re.IGNORECASE)
    before = [*compiled]
    found = [match[1] for text in ("xABBc", "ab") if (match := pattern.search(text))]

    assert (before, compiled, found) == ([], ["a(b+)"], ["BB", "b"])


def test_it_has_what_a_pattern_has() -> None:
    pattern, real = regex(rb"(?P<word>\w+)"), re.compile(rb"(?P<word>\w+)")

    assert (pattern.pattern, pattern.flags, pattern.groups) == (real.pattern, real.flags, 1)
    assert pattern.groupindex == real.groupindex
    assert pattern.sub(rb"<\g<word>>", b"two words") == b"<two> <words>"
    assert pattern.findall(b"two words") == [b"two", b"words"]
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = regex("a").no_such_thing  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        _ = pattern.no_such_thing  # type: ignore[attr-defined]


def test_a_copy_of_one_that_was_not_used_is_one() -> None:
    assert copy.copy(regex("a+")).findall("aab") == ["aa"]


def test_each_of_the_program_can_be_compiled() -> None:
    root = Path(skymem.__file__).parent
    for path in root.rglob("*.py"):
        if "import regex\n" in path.read_text():
            importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
    found = [one for one in gc.get_objects() if isinstance(one, room._Compiled)]
    patterns = cast("list[re.Pattern[Any]]", found)

    assert len([one.pattern for one in patterns]) > 50
