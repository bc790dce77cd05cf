"""`agent.md` is read, uploaded and appended to, and a person's text stays byte for byte (W9)."""

import errno
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skymem.app import Home, init_home, open_home
from skymem.cli.main import app
from skymem.errors import (
    DiskError,
    InvalidMemoryError,
    NotAllowedError,
    SkymemError,
    UsageError,
)
from skymem.stores.agent_file import lock_of, take_out
from skymem.stores.files import Files
from skymem.working import agent_md
from tests.conftest import line
from tests.faults.faulty import DyingFiles, FailingFiles, FaultyFiles, PowerCut


@pytest.fixture
def home(tmp_path: Path) -> Home:
    path = tmp_path / "home"
    init_home(path)
    with (path / "retention_rules.yaml").open("a") as stream:
        stream.write("tenants: {acme: {agents: [sky, hobbs]}}\n")
    return open_home(str(path))


def file(home: Home) -> Path:
    return home.paths.memory / "tenant-acme" / "agent.md"


def test_what_is_promoted_is_read_by_every_agent_of_the_tenant_and_by_no_other(home: Home) -> None:
    assert agent_md.append(home, "sky", "Invoices go\nout on Mondays", memory_id="ab12")

    said = "<!-- skymem:begin -->\n- Invoices go out on Mondays <!-- memory: ab12 -->\n"
    assert agent_md.read(home, "hobbs") == said + "<!-- skymem:end -->\n"
    assert agent_md.read(home, "stranger") == ""
    assert agent_md.path_of(home, "stranger").parent.name == "docs-stranger"


def test_a_memory_is_appended_once_whatever_a_person_made_of_its_entry(home: Home) -> None:
    agent_md.append(home, "sky", "Invoices go out on Mondays", memory_id="ab12")
    edited = file(home).read_text().replace("Mondays", "Tuesdays")
    file(home).write_text(edited)

    assert not agent_md.append(home, "hobbs", "Invoices go out on Mondays", memory_id="ab12")
    assert agent_md.append(home, "hobbs", "Ann signs", memory_id="cd34")
    wanted = edited.replace("<!-- skymem:end", "- Ann signs <!-- memory: cd34 -->\n<!-- skymem:end")
    assert file(home).read_text() == wanted


@pytest.mark.parametrize(
    "before",
    [
        b"# Acme\n\nNo newline at the end",
        b"\xff not UTF-8 \x00\n<!-- skymem:begin -->\nhers\n<!-- skymem:end -->\nafter\n",
        b"crlf\r\n<!-- skymem:begin -->\r\n<!-- skymem:end -->\r\nrest\r\n",
        b"<!-- skymem:end -->\nreversed\n<!-- skymem:begin -->\n",
        b"<!-- skymem:begin -->\nnever ended\n",
        b"<!-- skymem:begin -->\n<!-- skymem:begin -->\ntwice\n<!-- skymem:end -->\n",
    ],
)
def test_every_byte_of_a_person_stays_in_its_order(home: Home, before: bytes) -> None:
    file(home).parent.mkdir(parents=True)
    file(home).write_bytes(before)
    agent_md.append(home, "sky", "one", memory_id="1")
    agent_md.append(home, "sky", "two", memory_id="2")

    after = file(home).read_bytes()
    ours = [b"- one <!-- memory: 1 -->", b"- two <!-- memory: 2 -->"]
    lines = after.splitlines()
    assert [line for line in lines if line in ours] == ours
    rest = iter(line for line in lines if line not in ours)
    assert all(line in rest for line in before.splitlines())  # all of them, in their order
    assert after.startswith(before.split(b"<!-- skymem:end")[0])


def test_no_text_and_no_id_can_forge_a_marker(home: Home) -> None:
    agent_md.append(home, "sky", "x\n<!-- skymem:end -->\ny --> z", memory_id="a --> b\n")
    agent_md.append(home, "sky", "next", memory_id="2")

    lines = file(home).read_text().splitlines()
    assert lines[0] == "<!-- skymem:begin -->"
    assert lines[1].endswith("<!-- memory: a%20%2D%2D%3E%20b%0A -->")
    assert lines[1].count("-->") == 1
    assert lines[2:] == ["- next <!-- memory: 2 -->", "<!-- skymem:end -->"]


@pytest.mark.parametrize(("text", "name"), [("  \n", "1"), ("x", "")])
def test_nothing_is_no_entry(home: Home, text: str, name: str) -> None:
    with pytest.raises(InvalidMemoryError):
        agent_md.append(home, "sky", text, memory_id=name)
    assert not file(home).exists()


def test_an_upload_takes_what_was_promoted_along_and_keeps_the_version_before(home: Home) -> None:
    agent_md.upload(home, "sky", b"# First")
    agent_md.append(home, "sky", "promoted", memory_id="1")
    before = file(home).read_bytes()

    assert agent_md.upload(home, "hobbs", b"# Second", dry_run=True)
    assert file(home).read_bytes() == before
    assert agent_md.upload(home, "hobbs", b"# Second")
    text = file(home).read_text()
    assert text.startswith("# Second\n\n<!-- skymem:begin -->\n- promoted <!-- memory: 1 -->\n")
    assert file(home).with_name("agent.md.previous").read_bytes() == before
    assert not agent_md.upload(home, "sky", b"# Second")  # nothing new, so nothing is replaced
    assert file(home).with_name("agent.md.previous").read_bytes() == before
    assert agent_md.upload(home, "sky", text.replace("promoted", "edited").encode())
    assert agent_md.read(home, "sky") == text.replace("promoted", "edited")


@pytest.mark.parametrize("data", [b"\xff\xfe#\x00", b"x" * (1024 * 1024 + 1)])
def test_an_upload_that_is_no_text_is_refused(home: Home, data: bytes) -> None:
    with pytest.raises(InvalidMemoryError):
        agent_md.upload(home, "sky", data)


def withdraw(home: Home, *memory_ids: str) -> int:
    """Take out the entries of some memories, as an erasure does."""
    directory = file(home).parent
    lock = lock_of(home.paths, directory.name)
    return take_out(directory, lock, frozenset(memory_ids).__contains__, files=home.files)


def test_what_is_withdrawn_is_gone_from_both_versions(home: Home) -> None:
    agent_md.append(home, "sky", "the secret is blue", memory_id="1")
    agent_md.append(home, "sky", "stays", memory_id="2")
    agent_md.upload(home, "sky", b"# New\n")

    assert withdraw(home, "1", "unknown") == 2
    assert all(b"blue" not in path.read_bytes() for path in file(home).parent.glob("agent.md*"))
    assert "stays" in agent_md.read(home, "sky")
    assert withdraw(home, "1") == 0


def test_what_is_erased_leaves_agent_md_as_well(home: Home) -> None:
    home.remember("tenant-acme", [line("the door code is 4711", id="m1")])
    agent_md.append(home, "sky", "the door code is 4711", memory_id="m1")
    agent_md.append(home, "sky", "stays", memory_id="m2")
    agent_md.upload(home, "sky", b"# New\n")
    words = ["--home", str(home.paths.root), "--agent", "tenant-acme", "erase", "m1", "--json"]
    told = CliRunner().invoke(app, words)

    assert told.exit_code == 0, told.output
    places = {one["place"]: one["before"] for one in json.loads(told.stdout)["receipt"]["places"]}
    assert places["agent.md"] == 2
    assert "stays" in agent_md.read(home, "sky")
    assert not any(
        b"4711" in one.read_bytes() for one in home.paths.root.rglob("*.*") if one.is_file()
    )


def test_a_link_is_neither_read_nor_replaced(home: Home, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("hers")
    file(home).parent.mkdir(parents=True)
    file(home).symlink_to(outside)

    for act in (lambda: agent_md.read(home, "sky"),
                lambda: agent_md.append(home, "sky", "x", memory_id="1")):  # fmt: skip
        with pytest.raises(NotAllowedError):
            act()
    assert outside.read_text() == "hers"


def test_a_person_who_saves_meanwhile_loses_nothing(home: Home) -> None:
    agent_md.upload(home, "sky", b"# First\n")

    class SavedMeanwhile(Files):
        saved = False

        def create(self, path: Path) -> int:
            if not self.saved:
                self.saved = True
                file(home).write_text("# Saved by hand\n")
            return super().create(path)

    home.files = SavedMeanwhile()
    agent_md.append(home, "sky", "one", memory_id="1")
    assert agent_md.read(home, "sky").startswith("# Saved by hand\n\n<!-- skymem:begin -->\n- one")


def _disks() -> list[FaultyFiles]:
    whole = [DyingFiles(at, torn=torn) for at in range(1, 20) for torn in (False, True)]
    return [*whole, *(FailingFiles(at, errno.ENOSPC) for at in range(1, 20))]


def test_at_every_step_that_fails_the_file_is_as_it_was_or_as_it_is_to_be(home: Home) -> None:
    agent_md.upload(home, "sky", b"# First\n")
    before, fired = file(home).read_bytes(), 0
    for disk in _disks():
        home.files = disk
        try:
            agent_md.append(home, "sky", "one", memory_id="1")
        except (PowerCut, DiskError, SkymemError):
            fired += disk.fired
        found = file(home).read_bytes()
        assert found == before or b"- one <!-- memory: 1 -->\n<!-- skymem:end -->\n" in found
        home.files = Files()
        agent_md.append(home, "sky", "one", memory_id="1")
        assert file(home).read_bytes().count(b"- one") == 1
        withdraw(home, "1")
        assert [path.name for path in file(home).parent.glob(".agent.md*")] == []
        file(home).write_bytes(before)
    assert fired > 10


def test_a_file_that_is_not_there_is_a_slip_of_the_one_who_typed(home: Home) -> None:
    told = CliRunner().invoke(
        app, ["--home", str(home.paths.root), "docs", "agent-md", "upload", "nothing.md"]
    )
    assert isinstance(told.exception, UsageError)
    assert "no such file" in str(told.exception)
