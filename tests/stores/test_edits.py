"""A file with lines left out and put in comes out as if a list had been edited, in any blocks."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.stores import edits as module
from skymem.stores.edits import Edit, edited
from skymem.stores.lines import ContentHash

lines = st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"-") + b"\n"), max_size=12)


@given(lines, st.data(), st.integers(1, 40))
def test_edits_do_to_a_file_what_they_do_to_a_list(
    there: list[bytes], data: st.DataObject, block_bytes: int
) -> None:
    borders = [0]
    for one in there:
        borders.append(borders[-1] + len(one))
    wanted: list[bytes] = []
    edits: list[Edit] = []
    for number in range(len(there) + 1):
        for text in data.draw(st.lists(st.sampled_from([b"new\n", b"two\n"]), max_size=2)):
            edits.append(Edit(borders[number], borders[number], text))
            wanted.append(text)
        if number < len(there):
            if data.draw(st.booleans()):
                edits.append(Edit(borders[number], borders[number + 1]))
            else:
                wanted.append(there[number])
    fd = os.memfd_create("lines")
    try:
        os.write(fd, b"".join(there))
        whole, content = ContentHash(), ContentHash()
        whole.update(b"".join(there))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "CHUNK_BYTES", block_bytes)
            found = b"".join(edited(fd, borders[-1], edits, content))
        assert found == b"".join(wanted)
        assert content.hexdigest() == whole.hexdigest()
    finally:
        os.close(fd)


def test_what_stands_beyond_the_stop_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\nb\nc")
    with path.open("rb") as stream:
        blocks = edited(stream.fileno(), 4, [Edit(4, 4, b"n\n")], ContentHash())
        assert b"".join(blocks) == b"a\nb\nn\n"
