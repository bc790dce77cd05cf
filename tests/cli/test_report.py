"""`skymem report`: what it prints, what it writes, and over what it does not write."""

import os
from pathlib import Path

import pytest

from skymem.errors import NotAllowedError, UsageError
from skymem.reporting.writing import check_target, write_page
from skymem.stores.files import Files
from tests.cli.conftest import Shell

PAGE = b'<!DOCTYPE html>\n<meta charset="utf-8"><meta name="generator" content="skymem report">'


def test_a_summary_is_short_and_the_data_is_whole(shell: Shell) -> None:
    shell("remember", "User wants reports at 7am", "--importance", "0.9")
    shell("promote")
    told = shell("report")
    assert told.code == 0
    assert "promote: importance reaches the threshold" in told.out
    assert "User wants reports at 7am" in told.out
    assert len(told.out.splitlines()) < 30
    data = shell("report", "--json", "--since", "7d").json
    assert data["tiers"]["long"]["count"] == 1
    assert data["most"][0]["text"] == "User wants reports at 7am"
    assert shell("report", "--json", "--no-texts").json["most"][0]["text"] == ""


def test_how_long_an_answer_took_is_recorded(shell: Shell) -> None:
    shell("remember", "User wants reports at 7am", "--importance", "0.9")
    shell("promote")
    shell("recall", "reports at 7am")
    latency = shell("report", "--json").json["latency"]
    assert (sum(latency["answers"]), latency["measured"]) == (1, 1)
    assert latency["whole"]["max"] > 0


def test_a_page_is_written_whole_for_its_owner_and_replaces_one_of_ours(
    shell: Shell, tmp_path: Path
) -> None:
    shell("remember", "User wants reports at 7am", "--importance", "0.9")
    path = tmp_path / "report.html"
    assert shell("report", "--html", str(path)).code == 0
    first = path.read_bytes()
    assert first.startswith(b"<!DOCTYPE html>")
    assert path.stat().st_mode & 0o777 == 0o600
    shell("remember", "and tea", "--importance", "0.1")
    told = shell("report", "--html", str(path), "--json")
    assert told.json["tiers"]["short"]["count"] == 2
    assert path.read_bytes() != first
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".new")] == []


def test_no_other_file_is_replaced_unless_that_is_said(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "thesis.html"
    path.write_bytes(b"<html>years of work</html>")
    told = shell("report", "--html", str(path))
    assert (told.code, path.read_bytes()) == (2, b"<html>years of work</html>")
    assert "is there, and no report" in told.err
    assert shell("report", "--html", str(path), "--force").code == 0
    assert b"skymem report" in path.read_bytes()
    assert shell("report", "--force").code == 2


def test_what_can_be_no_target_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        check_target(tmp_path)
    with pytest.raises(UsageError, match="is no directory"):
        check_target(tmp_path / "nowhere/report.html")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotAllowedError):
        check_target(tmp_path / "link", force=True)
    (tmp_path / "empty").touch()
    check_target(tmp_path / "empty")
    (tmp_path / "ours").write_bytes(PAGE)
    check_target(tmp_path / "ours")


def test_a_page_keeps_the_mode_its_reader_gave_it(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_bytes(PAGE)
    path.chmod(0o644)
    write_page(path, PAGE, Files())
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["report.html"]


def test_an_agent_nobody_knows_and_a_time_that_is_none_are_told(shell: Shell) -> None:
    assert shell("--agent", "nobody", "report").code == 2
    assert shell("report", "--since", "yesterday-ish").code == 2
