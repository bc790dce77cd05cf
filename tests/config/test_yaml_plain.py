"""What is read without the YAML library is what the library reads; of the rest it says nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.problems import Complaints
from skymem.config.shipped import shipped_file
from skymem.config.yaml_events import parse_events
from skymem.config.yaml_plain import DEPTH_MAX, LINES_MAX, read_plainly

PIECES = st.sampled_from(
    [
        "a", "b", "key_2", "no", "null", "true", "1", "0.70", "48h", "10%", "1e3", "022", "1.5.2",
        "all-MiniLM-L6-v2", "a/b", ":", ": ", ":  ", " ", "  ", "    ", "\n", "\n", "\n  ", "#",
        " # more: of it", "# é", "-", "- ", "'", '"', "[", "]", "{", "}", ",", "|", ">", "&a", "*a",
        "!", "%", "@", "?", "? ", "---", "...", "\t", "\r\n", "\ufeff", "\x85", "\u2028", "\x07",
        "a: 1\n", "b:\n", "  c: 48h\n", "  d:\n", "    e: 2\n", "f: x # y\n", "<<: *a\n",
    ]
)  # fmt: skip


def agrees(text: str) -> bool:
    """Whether something is said; if so, the library must say the same."""
    plain, complaints = read_plainly(text), Complaints("rules.yaml")
    if plain is None:
        return False
    assert (parse_events(text, complaints), complaints.found) == (plain, [])
    return True


@given(st.lists(PIECES, max_size=14).map("".join))
def test_both_ways_agree(text: str) -> None:
    agrees(text)


PLAIN = [
    "promote_threshold: 0.70\n",
    "# é\n\nengine:   # how\n  # what\n  threads: 1 # one\n  remote:\n      url: x\n\ng: x",
    "a:\n  b:\n   c: 1\n  d: 2\ne: 3\n",
]
NOT_PLAIN = [
    "",
    "# nothing\n",
    " a: 1\n",
    "a:\n",
    "a: 1\n  b: 2\n",
    "a: 1\n  b\n",
    "a: 1\na: 2\n",
    "a:\n    b: 1\n  c: 2\n",
    "a:\n  b: 1\n c: 2\n",
    "a:1\n",
    "a: 1 2\n",
    "a: 'x'\n",
    "a: x#y\n",
    "a: [1]\n",
    "a: 22:30\n",
    "a:\t1\n",
    "a: 1\r\n",
    "# \x07\na: 1\n",
    "a: 1\n--- \nb: 2\n",
    "a: 1\n" * (LINES_MAX + 1),
    "".join(f"{' ' * n}a:\n" for n in range(DEPTH_MAX + 2)) + " " * 40 + "a: 1\n",
]


@pytest.mark.parametrize("text", PLAIN, ids=ascii)
def test_the_plain_is_read(text: str) -> None:
    assert agrees(text)


@pytest.mark.parametrize("text", NOT_PLAIN, ids=lambda text: ascii(text)[:40])
def test_the_rest_is_left_to_the_library(text: str) -> None:
    assert read_plainly(text) is None


def test_the_rules_of_a_new_home_need_no_library(tmp_path: Path) -> None:
    assert agrees(shipped_file("retention_rules.yaml").decode())
    (tmp_path / "retention_rules.yaml").write_bytes(shipped_file("retention_rules.yaml"))
    code = (
        "import sys; from pathlib import Path; from skymem.config.rules_file import read_rules; "
        "read_rules(Path(sys.argv[1])); print('yaml' in sys.modules)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "retention_rules.yaml")]

    assert subprocess.check_output(command, text=True) == "False\n"
