"""YAML is read as it looks: no value turns into another, no key wins silently."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.config.problems import Complaints
from skymem.config.yaml_nodes import Items, Node, Scalar, Table, resolve_plain
from skymem.config.yaml_text import FILE_BYTES_MAX, parse_yaml, read_yaml

EXAMPLE = '"promote_threshold: 0.70"'


def parse(text: str) -> tuple[Node | None, list[str]]:
    complaints = Complaints("x.yaml")
    node = parse_yaml(text, complaints)
    return node, [str(problem) for problem in complaints.sorted()]


def only_complaint(text: str | bytes, path: Path) -> str:
    """What is said about a file with this content, which must be one line."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    complaints = Complaints(path.name)
    read_yaml(path, complaints, EXAMPLE)
    [problem] = complaints.found
    return str(problem)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "retention_rules.yaml"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("22:30", "22:30", id="a time is no sexagesimal number"),
        pytest.param("06:45", "06:45", id="a time with a leading zero"),
        pytest.param("on", "on", id="on"),
        pytest.param("no", "no", id="no"),
        pytest.param("Yes", "Yes", id="yes"),
        pytest.param("y", "y", id="y"),
        pytest.param("true", True, id="true"),
        pytest.param("False", False, id="False"),
        pytest.param("null", None, id="null"),
        pytest.param("~", None, id="tilde"),
        pytest.param("", None, id="nothing"),
        pytest.param("0123", "0123", id="a leading zero is no octal number"),
        pytest.param("0o17", "0o17", id="octal"),
        pytest.param("0x1F", "0x1F", id="hexadecimal"),
        pytest.param("1_000", "1_000", id="underscores"),
        pytest.param("2026-11-08", "2026-11-08", id="a date is text"),
        pytest.param("10", 10, id="whole number"),
        pytest.param("-3", -3, id="negative"),
        pytest.param("0.70", 0.7, id="fraction"),
        pytest.param(".5", 0.5, id="fraction without a zero"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param(".inf", float("inf"), id="infinity"),
        pytest.param("5m", "5m", id="duration"),
        pytest.param("=", "=", id="a tag of YAML 1.1"),
        pytest.param("<<", "<<", id="a merge key of YAML 1.1"),
    ],
)
def test_an_unquoted_value_is_read_by_the_core_forms_of_yaml_1_2(
    text: str, value: str | float | bool | None
) -> None:
    read = resolve_plain(text)
    assert read == value
    assert type(read) is type(value)


def test_a_number_of_any_length_does_not_stop_the_reader() -> None:
    assert resolve_plain("9" * 5000) == float("inf")
    assert resolve_plain("9" * 40) == int("9" * 40)


def test_quoted_values_and_keys_are_always_text() -> None:
    node, complaints = parse("a: \"true\"\nno: '5'\n1e3: x\nnull: y")
    assert isinstance(node, Table)
    assert [pair.key.text for pair in node.pairs] == ["a", "no", "1e3", "null"]
    assert [pair.value.value for pair in node.pairs if isinstance(pair.value, Scalar)] == [
        "true", "5", "x", "y",
    ]  # fmt: skip
    assert complaints == []


def test_every_key_and_value_knows_its_line_and_column() -> None:
    node, _ = parse("# why\na: 1\nb:\n  - x\n  - {c: 5}\n")
    assert isinstance(node, Table)
    first, second = node.pairs
    assert (first.key.line, first.key.column, first.value.line, first.value.column) == (2, 1, 2, 4)
    assert isinstance(second.value, Items)
    inner = second.value.items[1]
    assert isinstance(inner, Table)
    assert (inner.pairs[0].value.line, inner.pairs[0].value.column) == (5, 9)


@pytest.mark.parametrize(
    "text",
    ["promote: 1\nother: 2\npromote: 3\n", "promote: 1\nother: 2\n'promote': 3\n"],
    ids=["plain", "quoted twin"],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(text: str) -> None:
    _, complaints = parse(text)
    assert complaints == ['x.yaml:3:1: duplicate key "promote" (first on line 1, again here)']


def test_duplicates_are_found_at_every_depth_and_all_at_once() -> None:
    _, complaints = parse("a:\n  b: {c: 1, c: 2}\n  b: 3\nd: [{e: 1, e: 2}]\n")
    assert [line.split("(")[0] for line in complaints] == [
        'x.yaml:2:13: duplicate key "c" ',
        'x.yaml:3:3: duplicate key "b" ',
        'x.yaml:4:12: duplicate key "e" ',
    ]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        pytest.param(
            "cron: */5 * * * *", "1:7", '(put quotes around it: "*/5 * * * *")', id="cron"
        ),
        pytest.param("- cron: * * * * *", "1:9", '"* * * * *"', id="cron of stars, in a list"),
        pytest.param("a: 1\ncron: */5 * * * *  # five", "2:7", '"*/5 * * * *"', id="with comment"),
        pytest.param("cron: @daily", "1:7", '(put quotes around it: "@daily")', id="macro"),
        pytest.param("a: [{b: 1, c: */5 * * * *}]", "1:15", '"*/5 * * * *"', id="cron in a flow"),
        pytest.param("a: {c: */5 * * * *, b: 1}", "1:8", '"*/5 * * * *"', id="more after the cron"),
        pytest.param("a: {c: */5,7 1 * * *}", "1:8", '"*/5,7 1 * * *"', id="a comma in a cron"),
        pytest.param("a: {b: 1,\n c: */5 * * * *}]", "2:5", '"*/5 * * * *"', id="flow of lines"),
        pytest.param("a: {c: @daily}  # each", "1:8", '"@daily"', id="macro in a flow"),
        pytest.param("a: [%x, 1]", "1:5", 'quotes around it: "%x"', id="percent in a flow"),
        pytest.param("a: `x`", "1:4", "put quotes around it", id="backtick"),
        pytest.param("a: %x", "1:4", "put quotes around it", id="percent"),
        pytest.param("cron: *5", "1:7", "put quotes around it", id="looks like an alias"),
        pytest.param("a:\n\tb: 1", "2:1", "a tab stands here (use spaces)", id="tab indent"),
        pytest.param("a:\n  b: 1\n\tc: 1", "3:1", "a tab stands here", id="tab indent further on"),
        pytest.param("a: b: c", "1:5", "needs quotes", id="colon in text"),
        pytest.param("a: 1\n  b: 2", "2:4", "indented too far", id="indented too far"),
        pytest.param(" a: 1\nb: 2", "2:1", "look at the indentation", id="indented too little"),
        pytest.param("a: 1\nb\nc: 2", "3:1", "a key without a colon", id="no colon"),
        pytest.param("a: 'x", "1:6", "a quote is never closed", id="open quote"),
        pytest.param("a: [1\nb: 2", "2:2", "from line 1 on", id="open list"),
        pytest.param("a: {b: 1\nc: 2", "2:2", "from line 1 on", id="open mapping"),
        pytest.param("a: 1\n---\nb: 2", "2:1", "a second document starts here", id="documents"),
        pytest.param("a: !!python/object:os.system x", "1:4", "is not allowed", id="python tag"),
        pytest.param("a: !!binary eA==", "1:4", '"!!binary" is not allowed', id="binary tag"),
        pytest.param("a: !!map [1]", "1:4", '"!!map" is not allowed', id="wrong core tag"),
        pytest.param("a: !secret x", "1:4", '"!secret" is not allowed', id="own tag"),
        pytest.param("? [a]\n: b", "1:3", "a key must be one word", id="list as key"),
        pytest.param('a: "\\U00110000"', "1:1", "out of range", id="escape past Unicode"),
        pytest.param("%YAML " + "9" * 5000 + ".1\n---\n", "1:1", "out of range", id="version"),
        pytest.param("a: 1\nb: x\0y", "2:5", "U+0000 is not text", id="NUL"),
        pytest.param("a: &a [*a]", "1:8", "an anchor that is not there", id="alias to itself"),
        pytest.param("[" * 10_000, "1:33", "nested more than 32 deep", id="nested lists"),
        pytest.param("- " * 10_000, "1:65", "nested more than 32 deep", id="nested dashes"),
    ],
)
def test_what_cannot_be_read_is_told_in_words_with_its_place(
    text: str, place: str, words: str
) -> None:
    _, complaints = parse(text)
    [complaint] = complaints
    assert complaint.startswith(f"x.yaml:{place}: ")
    assert words in complaint


def test_an_alias_repeats_its_anchor() -> None:
    node, complaints = parse("a: &few {n: 100}\nb: *few\n")
    assert isinstance(node, Table)
    assert node.pairs[0].value == node.pairs[1].value
    assert complaints == []


def test_core_tags_change_nothing_but_a_number_called_text() -> None:
    node, complaints = parse("a: !!str 0.5\nb: !!seq [1]\nc: !!map {d: 1}\n")
    assert complaints == []
    assert isinstance(node, Table)
    assert isinstance(node.pairs[0].value, Scalar)
    assert node.pairs[0].value.value == "0.5"


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 64)
    )
    _, complaints = parse(bomb)
    [complaint] = complaints
    assert "more than 10000 values" in complaint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("", "1:1: the file is empty", id="no bytes"),
        pytest.param("# only a comment\n", "1:1: the file is empty", id="only comments"),
        pytest.param("null\n", "1:1: the file is empty", id="null"),
        pytest.param("---\n", "1:1: the file is empty", id="only a document mark"),
        pytest.param("- a\n", "1:1: the file is a list at the top", id="list"),
        pytest.param("promote_threshold\n", "1:1: ", id="one word"),
        pytest.param("42\n", "1:1: ", id="one number"),
    ],
)
def test_a_file_without_keys_is_told_what_it_could_hold(
    content: str, words: str, path: Path
) -> None:
    complaint = only_complaint(content, path)
    assert complaint.startswith(f"retention_rules.yaml:{words}")
    assert EXAMPLE in complaint


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param(b"a: 1\nb: \xff\n", ":2:4: byte 0xff is not UTF-8", id="Latin-1"),
        pytest.param("a: 1\n".encode("utf-16"), ":1:1: byte 0xff is not UTF-8", id="UTF-16"),
        pytest.param(b"#" * (FILE_BYTES_MAX + 1), ":1:1: the file is larger than 1MiB", id="huge"),
    ],
)
def test_bytes_that_are_no_configuration_are_refused(
    content: bytes, words: str, path: Path
) -> None:
    assert words in only_complaint(content, path)


def test_a_byte_order_mark_and_windows_line_ends_are_read_over(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: x\r\n")
    complaints = Complaints(path.name)
    table = read_yaml(path, complaints, EXAMPLE)
    assert table is not None
    assert [(pair.key.text, pair.key.line) for pair in table.pairs] == [("a", 1), ("b", 2)]


def test_a_file_of_the_largest_size_is_read(path: Path) -> None:
    path.write_bytes(b"a: 1\n".ljust(FILE_BYTES_MAX, b"#"))
    complaints = Complaints(path.name)
    assert read_yaml(path, complaints, EXAMPLE) is not None
    assert complaints.found == []


def test_a_missing_file_is_a_complaint_that_names_it(path: Path) -> None:
    complaints = Complaints(path.name)
    assert read_yaml(path, complaints, EXAMPLE) is None
    [problem] = complaints.found
    assert str(problem).startswith("retention_rules.yaml:1:1: there is no such file")
    assert "skymem init" in problem.message


def test_a_directory_or_pipe_in_the_place_of_the_file_holds_nobody_up(path: Path) -> None:
    path.mkdir()
    complaints = Complaints(path.name)
    read_yaml(path, complaints, EXAMPLE)
    path.rmdir()
    os.mkfifo(path)
    read_yaml(path, complaints, EXAMPLE)
    assert len(complaints.found) == 2


@given(st.text() | st.text(" \n\t-:{}[],#&*!|>'\"%@`?abc<~\\u01", max_size=60))
def test_any_text_is_a_node_or_has_a_complaint_with_a_place(text: str) -> None:
    complaints = Complaints("x.yaml")
    parse_yaml(text, complaints)
    assert all(problem.line >= 1 and problem.column >= 1 for problem in complaints.found)
    assert all(str(problem).isprintable() for problem in complaints.found)
