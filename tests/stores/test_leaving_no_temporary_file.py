"""Whatever ends the writing of a temporary file, the file is taken away."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skymem.stores.files import Files
from skymem.stores.swap import ShortTermChangedError


@pytest.mark.parametrize(
    "error", [ShortTermChangedError("short_term.jsonl"), KeyboardInterrupt(), MemoryError()]
)
def test_content_that_ends_in_an_exception_leaves_nothing_behind(
    tmp_path: Path, error: BaseException
) -> None:
    def content() -> Iterator[bytes]:
        yield b"half of it"
        assert len(list(tmp_path.iterdir())) == 1
        raise error

    with pytest.raises(type(error)):
        Files().write_beside(tmp_path / "short_term.jsonl", content())
    assert list(tmp_path.iterdir()) == []


def test_an_exception_whose_cleaning_up_fails_as_well_is_told(tmp_path: Path) -> None:
    class Gone(Files):
        def unlink(self, path: Path) -> None:
            if path.exists():
                raise OSError(5, "Input/output error")
            super().unlink(path)

    def content() -> Iterator[bytes]:
        yield b"half of it"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Gone().write_beside(tmp_path / "short_term.jsonl", content())
