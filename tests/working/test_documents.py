"""Documents of every format are taken in, each chunk cites where it stands, damage is told (W8)."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

import pytest
from typer.testing import CliRunner, Result

import skymem
from skymem.app import init_home
from skymem.cli.main import app
from skymem.errors import InvalidMemoryError, NotAllowedError, UsageError
from skymem.working.documents import Documents

DOCUMENTS: Final = Path(__file__).parent / "documents"
TENANT: Final = "tenants: {acme: {agents: [sky, hobbs], users: [ann]}}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    path = tmp_path / "home"
    init_home(path)
    with (path / "retention_rules.yaml").open("a") as stream:
        stream.write(TENANT)
    return path


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DOCUMENTS, tmp_path / "sources"))


def of(home: Path, agent: str = "sky") -> Documents:
    return skymem.open_memory(agent, home=str(home)).documents


def run(home: Path, *words: str, agent: str = "sky") -> Result:
    return CliRunner().invoke(app, ["--home", str(home), "--agent", agent, *words])


def told(home: Path, *words: str, code: int = 0) -> Any:
    done = run(home, *words, "--json")
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def lines(home: Path, owner: str = "tenant-acme") -> list[dict[str, Any]]:
    path = home / "memory" / owner / "long_term.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_format_is_taken_in_and_what_is_damaged_is_told(home: Path, sources: Path) -> None:
    done = of(home).add(sources)

    formats = {Path(path).suffix for path in done.added}
    assert formats == {
        ".md", ".txt", ".html", ".pdf", ".docx", ".eml", ".mbox", ".vtt", ".srt", ".json", "",
    }  # fmt: skip
    assert {Path(path).suffix for path in done.failed} == formats - {""}
    assert all(Path(path).stem == "broken" and why for path, why in done.failed.items())
    assert str(sources / "slack" / "ops") in done.notes  # one of its days is damaged
    assert done.notes[str(sources / "notes" / "mueller.txt")].startswith("read as Windows-1252")
    whole = "".join(line["content"] for line in lines(home))
    for unsaid in ("secret", "do not index", "not read", "has joined", "\x00"):
        assert unsaid not in whole
    assert (done.chunks, done.trashed) == (len(lines(home)), 0)


def test_each_chunk_is_a_line_like_any_other(home: Path, sources: Path) -> None:
    of(home).add(sources)
    for line in lines(home):
        assert (line["type"], line["kind"], line["record_type"]) == ("long", "chunk", "chunk")
        assert (line["origin"], line["trust"], line["tenant"]) == ("document", 0.5, "acme")
        assert Path(line["payload"]["file"]).is_file()

    assert run(home, "fsck", agent="tenant-acme").exit_code == 0
    assert run(home, "doctor").exit_code == 0
    assert not skymem.open_memory("sky", home=str(home)).recall("capacitor C14")  # by call only


@pytest.mark.parametrize(
    ("says", "file", "place", "ts"),
    [
        ("Vaultwarden", "handbook/onboarding.md",
         {"heading": "Onboarding at Nordlicht › Accounts › Password manager"}, None),
        ("yellow badge", "policies/security.html", {"heading": "Security policy › Visitors"}, None),
        ("600 blanks", "contracts/supply.pdf", {"page": 1}, None),
        ("nine months", "contracts/supply.pdf", {"page": 2}, None),
        ("3.2 percent", "reports/q3.docx",
         {"heading": "Report of the third quarter › Staff › Sick leave"}, None),
        ("forklift", "notes/warehouse.txt", {"line": 1}, None),
        ("9,800", "mail/renewal.eml",
         {"message": "<renewal-1@havn.example>", "from": "Carla Jensen <carla@havn.example>"},
         1736845920.0),
        ("C14", "mail/archive.mbox",
         {"message": "<f2@nordlicht.example>", "thread": "<f1@nordlicht.example>",
          "from": "Ines Duarte <ines@nordlicht.example>"}, 1738582200.0),
        ("900 kilograms", "calls/kickoff.vtt", {"at": "00:00:01", "speaker": "Lena Vogt"}, None),
        ("forty sample", "calls/supplier.srt", {"at": "00:00:02", "speaker": "Otto"}, None),
        ("channel 16", "calls/incident.json", {"at": "00:00:00", "speaker": "Hiro"}, 1741329000),
        ("RAL 2005", "slack/general/2025-02-10.json",
         {"channel": "general", "message": "1739171000.000100", "thread": "1739171000.000100"},
         1739171000.0001),
    ],
)  # fmt: skip
def test_each_chunk_cites_file_place_and_time(  # noqa: PLR0917  (a table of them)
    home: Path, sources: Path, says: str, file: str, place: dict[str, Any], ts: float | None
) -> None:
    of(home).add(sources / Path(file).parts[0])
    (line,) = [line for line in lines(home) if says in line["content"]]

    assert line["payload"]["file"] == str(sources / file)
    assert line["payload"]["place"] == place
    changed = (sources / file).stat().st_mtime_ns // 1000 / 1_000_000
    assert line["ts"] == (changed if ts is None else ts)


def test_what_stands_over_a_chunk_is_in_it(home: Path, sources: Path) -> None:
    of(home).add(sources)
    found = {line["content"].split("\n")[0] for line in lines(home)}

    assert "Expenses › Meals" in found
    assert "Supply contract with Vitrum" in found
    assert "Slack #general, 2025-02-10, thread" in found
    assert any(one.startswith("Mail: Re: Flickering in Stavanger, from Ines") for one in found)
    (wide,) = [line["content"] for line in lines(home) if "lentil" in line["content"]]
    assert (
        wide
        == (
            "wide.txt\n\nMenu of the canteen\n\nOn Fridays there is fish soup with dill. "
            "Vegans ask for the lentil curry.\n"
        ).rstrip()
    )


def test_the_same_from_the_command_line(home: Path, sources: Path) -> None:
    plan = told(home, "docs", "add", str(sources), "--dry-run", code=20)
    assert not (home / "memory" / "tenant-acme").exists()
    done = told(home, "docs", "add", str(sources), code=20)
    assert {one: plan[one] for one in ("added", "failed", "chunks")} == {
        one: done[one] for one in ("added", "failed", "chunks")
    }

    found = told(home, "docs", "search", "who replaced the capacitor in Stavanger")
    assert "C14" in found["results"][0]["content"]
    assert found["results"][0]["place"]["message"] == "<f2@nordlicht.example>"
    assert found["mode"] == "deterministic"  # without an engine, and it says so
    assert found["degraded"]
    shown = run(home, "docs", "search", "yellow badge", "--limit", "1").output
    assert "security.html, Security policy › Visitors" in shown
    listed = told(home, "docs", "list")["documents"]
    assert sum(one["chunks"] for one in listed) == done["chunks"]

    one = str(sources / "contracts" / "lease.pdf")
    assert told(home, "docs", "remove", one, "--dry-run")["removed"] == [one]
    assert told(home, "docs", "remove", one)["trashed"] == 2
    assert one not in run(home, "docs", "list").output
    assert run(home, "--agent", "tenant-acme", "undo").exit_code == 0
    assert one in run(home, "docs", "list").output
    assert isinstance(run(home, "docs", "remove", "nothing.md").exception, UsageError)


def test_agents_of_a_tenant_share_and_others_have_their_own(home: Path, sources: Path) -> None:
    of(home, "sky").add(sources / "handbook")
    of(home, "stranger").add(sources / "contracts")

    assert of(home, "hobbs").list() == of(home, "sky").list()
    assert [Path(one.path).parent.name for one in of(home, "stranger").list()] == ["contracts"] * 2
    assert of(home, "stranger").owner == "docs-stranger"
    assert "tenant" not in lines(home, "docs-stranger")[0]
    assert not of(home, "nobody").search("rent")


def test_a_tenant_with_users_has_documents_for_no_one_else(home: Path, sources: Path) -> None:
    of(home).add(sources / "handbook")

    assert of(home).search("badge", user_id="ann")
    with pytest.raises(NotAllowedError, match="bob is none of tenant acme"):
        of(home).search("badge", user_id="bob")
    refused = run(home, "docs", "search", "badge", "--user", "bob")
    assert isinstance(refused.exception, NotAllowedError)


def test_agent_md_is_printed_and_uploaded(home: Path, tmp_path: Path) -> None:
    assert "no agent.md yet" in run(home, "docs", "agent-md").output
    file = tmp_path / "mine.md"
    file.write_text("# Acme\n\nAsk Priya.\n")

    assert told(home, "docs", "agent-md", "upload", str(file), "--dry-run")["changed"]
    assert told(home, "docs", "agent-md", "upload", str(file)) == {"changed": True}
    assert run(home, "docs", "agent-md").stdout == file.read_text()
    assert of(home, "hobbs").agent_md == file.read_text()
    assert isinstance(run(home, "docs", "agent-md", "put", str(file)).exception, UsageError)
    file.write_bytes(b"\xff\xfe")
    refused = run(home, "docs", "agent-md", "upload", str(file))
    assert isinstance(refused.exception, InvalidMemoryError)
