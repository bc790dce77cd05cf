"""What quarantine says of each piece: enough to find it, name it and mend it (row M3)."""

import json
from pathlib import Path

import pytest

from skymem import app


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        pytest.param(b'{"content": "a"}\n\nbad\n', 3, "not JSON", id="after-a-blank-line"),
        pytest.param(b'{"content": "a", "importance": 7}\n', 1, '"importance": 7', id="range"),
        pytest.param(b'{"content": "a"}\n{"score": 3}\n', 2, '"content" is missing', id="missing"),
        pytest.param(b'{"content": "a", "ts": "soon"}\n', 1, 'field "ts"', id="no-time"),
    ],
)
def test_each_piece_is_named_by_file_line_and_field(
    tmp_path: Path, text: bytes, line: int, says: str
) -> None:
    app.init_home(tmp_path)
    agent = tmp_path / "memory" / "sky"
    (agent / "short_term.jsonl").write_bytes(text)
    detail, _ = app.open_home(str(tmp_path)).run_job("promote")

    assert detail["quarantined"] == 1
    (index,) = (agent / "quarantine").glob("*.jsonl")
    entry = json.loads(index.read_bytes())
    assert (entry["file"], entry["line"]) == ("short_term.jsonl", line)
    assert says in entry["reason"]
    assert (agent / "quarantine" / f"{index.stem}.raw").read_bytes() == text.splitlines(True)[
        line - 1
    ]
