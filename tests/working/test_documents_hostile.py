"""Whatever stands in a file or a name, the others are taken in, and nothing else is read (W8)."""

import contextlib
import io
import json
import os
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import skymem
from skymem.agent import AgentMemory
from skymem.app import init_home
from skymem.errors import ConfigurationError, UsageError
from skymem.policy.chunks import cut
from skymem.working.readers import docx, formats
from skymem.working.readers.reading import UnreadableError, decoded
from skymem.working.walk import format_of
from tests.working.test_documents import DOCUMENTS


@pytest.fixture
def memory(tmp_path: Path) -> AgentMemory:
    init_home(tmp_path / "home")
    return skymem.open_memory("sky", home=str(tmp_path / "home"))


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    made = tmp_path / "sources"
    made.mkdir()
    (made / "good.txt").write_text("the good one\n")
    return made


def names(paths: object) -> set[str]:
    assert isinstance(paths, list | dict)
    return {os.path.basename(path) for path in paths}


def test_links_and_what_is_no_file_are_not_followed(
    memory: AgentMemory, sources: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("not for anybody")
    (sources / "link.txt").symlink_to(outside / "secret.txt")
    (sources / "away").symlink_to(outside)
    (sources / "around").symlink_to(sources)
    os.mkfifo(sources / "pipe.txt")
    done = memory.documents.add(sources)

    assert names(done.added) == {"good.txt"}
    assert done.failed == {str(sources / "pipe.txt"): "is no regular file"}
    assert [one.content for one in memory.documents.search("anybody")] == [
        "good.txt\n\nthe good one"
    ]
    assert names(memory.documents.add(sources / "link.txt").added) == {"secret.txt"}  # as asked


def test_hostile_names_are_kept_or_told(memory: AgentMemory, sources: Path) -> None:
    odd = "new\nline \x1b[31m \u202e 'quoted' %s {0}.md"
    (sources / odd).write_text("# Odd\n\nnamed\n")
    Path(os.fsdecode(os.fsencode(sources) + b"/\xff\xfe.txt")).write_text("x")
    done = memory.documents.add(sources)

    assert names(done.added) == {"good.txt", odd}
    assert list(done.failed.values()) == ["its name is no UTF-8; rename it"]
    assert str(sources / odd) in [one.path for one in memory.documents.list()]


def test_what_the_home_keeps_is_not_taken_in(memory: AgentMemory, tmp_path: Path) -> None:
    paths = memory._home.paths
    memory.remember("in short-term")
    (paths.agent("sky").directory / "note.txt").write_text("in memory/")
    (paths.root / "beside.txt").write_text("in the home, which may be a checkout")

    assert names(memory.documents.add(tmp_path).added) == {"beside.txt"}
    with pytest.raises(UsageError, match="the home's own"):
        memory.documents.add(paths.agent("sky").directory / "note.txt")


@pytest.mark.parametrize("name", ["gone.md", "picture.png"])
def test_what_is_named_and_can_not_be_taken_in_is_refused(
    memory: AgentMemory, sources: Path, name: str
) -> None:
    (sources / "picture.png").write_bytes(b"\x89PNG")
    with pytest.raises(UsageError):
        memory.documents.add(sources / "good.txt", sources / name)
    assert memory.documents.list() == []


def test_a_file_that_is_too_large_is_told(memory: AgentMemory, sources: Path) -> None:
    rules = memory._home.paths.rules
    rules.write_text(rules.read_text() + "documents: {file_max: 1KiB}\n")
    (sources / "large.txt").write_text("x" * 1025)
    done = skymem.open_memory("sky", home=str(memory._home.paths.root)).documents.add(sources)

    assert names(done.added) == {"good.txt"}
    assert "more than file_max" in done.failed[str(sources / "large.txt")]


def test_with_faulty_rules_nothing_is_taken_in(memory: AgentMemory, sources: Path) -> None:
    rules = memory._home.paths.rules
    rules.write_text(rules.read_text() + "documents: {chunk_chars: 3}\n")
    with pytest.warns(UserWarning, match="chunk_chars"):
        again = skymem.open_memory("sky", home=str(memory._home.paths.root))
    with pytest.raises(ConfigurationError):
        again.documents.add(sources)


def test_a_word_document_that_unfolds_to_too_much_is_not_unfolded() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"word/{number}.xml", b"\0" * (docx.UNFOLDED_BYTES_MAX // 2))
    with pytest.raises(UnreadableError, match="too much"):
        formats.read("docx", data.getvalue(), "bomb.docx")


@pytest.mark.parametrize(
    ("format_", "module", "package"),
    [("markdown", "markdown_it", "markdown-it-py"), ("pdf", "pypdf", "pypdf"),
     ("docx", "docx", "python-docx")],
)  # fmt: skip
def test_a_format_whose_library_is_missing_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, format_: str, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnreadableError) as raised:
        formats.read(format_, b"# x", "x")
    assert str(raised.value) == f"needs {package}; install it with: pip install 'skymem[documents]'"


@pytest.mark.parametrize(
    ("data", "text", "noted"),
    [
        ("Grüße".encode(), "Grüße", False),
        ("\ufeffGrüße".encode(), "Grüße", False),
        ("Grüße".encode("utf-16"), "Grüße", False),
        ("Grüße".encode("utf-32"), "Grüße", False),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße", False),
        ("Grüße „so“ – 5 €".encode("cp1252"), "Grüße „so“ – 5 €", True),
        (b"caf\xe9 " * 20 + b"\x81", "café " * 20 + " ", True),
        (b"a\r\nb\rc", "a\nb\nc", False),
    ],
)
def test_texts_in_every_usual_encoding_are_read(data: bytes, text: str, noted: bool) -> None:
    assert (decoded(data)[0], bool(decoded(data)[1])) == (text, noted)


def test_a_page_is_read_by_the_encoding_it_names() -> None:
    page = '<meta charset="koi8-r"><p>Привет</p>'.encode("koi8-r")
    assert formats.read("html", page, "x").blocks[0].text == "Привет"

    wrong = b'<meta charset="no-such"><p>caf\xe9</p>'
    assert formats.read("html", wrong, "x").blocks[0].text == "café"


@pytest.mark.parametrize(
    ("format_", "data"),
    [
        ("html", b"<a " * 20_000),
        ("html", b"<!--" * 20_000 + b"x"),
        ("html", b"<div>" * 5_000 + b"x"),
        ("markdown", b">" * 20_000 + b" x"),
        ("mail", b"Subject: x\nTo: " + b"a@b," * 50_000 + b"\n\nhi"),
        ("mail", b"Subject: =?utf-8?q?=C3=28?= =?x?y?z?=\nDate: never\n\nhi"),
        ("mail", b"Subject: x\nContent-Type: text/plain; charset=no-such\n\nhi"),
        ("json", b"[" * 100_000),
        ("json", b'[{"text": "hi", "start": NaN, "speaker": {"name": 3}}]'),
        ("json", b'[{"text": "hi", "start": 1e300}, {"text": "ho", "start": true}]'),
        ("vtt", b"WEBVTT\n\n99999:99:99.999 --> 00:00:01.000\nhi\n"),
    ],
)
def test_what_is_odd_is_read_or_told_and_soon(format_: str, data: bytes) -> None:
    with contextlib.suppress(UnreadableError):
        list(cut(formats.read(format_, data, "odd").blocks, 1200, 150))


FILES = sorted(path for path in DOCUMENTS.rglob("*") if path.is_file() and format_of(path.name))


@settings(
    max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sampled_from(FILES), st.data())
def test_a_damaged_file_is_read_or_told(path: Path, draw: st.DataObject) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(draw.draw(st.integers(1, 4))):
        at = draw.draw(st.integers(0, len(data)))
        data[at : at + draw.draw(st.integers(0, 20))] = draw.draw(st.binary(max_size=20))
    with contextlib.suppress(UnreadableError):
        read = formats.read(format_of(path.name) or "", bytes(data), path.name)
        "".join(piece.text for piece in cut(read.blocks, 400, 50)).encode()


def test_an_export_with_damaged_users_is_told_and_one_without_is_no_export(
    memory: AgentMemory, sources: Path
) -> None:
    export = sources / "export"
    (export / "ops").mkdir(parents=True)
    (export / "channels.json").write_text("[]")
    (export / "users.json").write_text("{torn")
    message = {"user": "U1", "ts": "1739171000.000100", "text": "hi <@U9|ann> &amp; <!here>"}
    (export / "ops" / "2025-01-01.json").write_text(json.dumps([message, {"ts": 3}, 7]))
    assert memory.documents.add(sources).failed == {str(export / "ops"): "is no JSON, or not whole"}

    (export / "users.json").write_text('[{"id": "U1"}, {"id": 5}, "x"]')
    assert names(memory.documents.add(sources).added) == {"ops"}
    (found,) = [one for one in memory.documents.search("ann") if "#ops" in one.content]
    assert found.content.endswith("U1: hi @ann & @here")
