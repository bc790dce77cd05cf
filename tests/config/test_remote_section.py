"""The section `remote:`: what it takes, and that no secret or plain network gets through it."""

from pathlib import Path
from typing import Any

import pytest

from skymem.config.effective import effective_rules
from skymem.config.rules_file import examine_rules, read_rules
from skymem.model.rules import RemoteRules

WHOLE = """engine:
  threads: 1
  remote:
    url: https://vectors.example.org:8443/chroma/api/v2/
    token_file: /etc/skymem/chroma.token
    ca_file: /etc/skymem/ca.pem
    timeout: 0.5s
    tenant: house
    database: memories
"""


def written(directory: Path, text: str) -> Path:
    path = directory / "retention_rules.yaml"
    path.write_text(text)
    return path


def complaints(directory: Path, *lines: str) -> list[str]:
    text = "engine:\n  remote:\n" + "".join(f"    {line}\n" for line in lines)
    found = examine_rules(written(directory, text)).complaints.sorted()
    return [str(one) for one in found]


def remote_shown(path: Path) -> dict[str, Any]:
    engine: Any = effective_rules(path)["engine"]
    shown: dict[str, Any] = engine["remote"]
    return shown


def test_a_server_is_read_whole_and_shown_with_its_lines(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    shown = remote_shown(path)

    assert read_rules(path).engine.remote == RemoteRules(
        "https://vectors.example.org:8443/chroma",
        token_file="/etc/skymem/chroma.token",
        ca_file="/etc/skymem/ca.pem",
        timeout_seconds=0.5,
        tenant="house",
        database="memories",
    )
    assert shown == {
        "url": {
            "value": "https://vectors.example.org:8443/chroma",
            "source": "retention_rules.yaml:4",
        },
        "token_env": {"value": "none", "source": "default"},
        "token_file": {"value": "/etc/skymem/chroma.token", "source": "retention_rules.yaml:5"},
        "ca_file": {"value": "/etc/skymem/ca.pem", "source": "retention_rules.yaml:6"},
        "timeout": {"value": "0.5s", "source": "retention_rules.yaml:7"},
        "tenant": {"value": "house", "source": "retention_rules.yaml:8"},
        "database": {"value": "memories", "source": "retention_rules.yaml:9"},
    }


def test_without_one_the_index_is_here(tmp_path: Path) -> None:
    path = written(tmp_path, "engine: {remote: none}\n")
    assert read_rules(path).engine.remote is None
    assert remote_shown(path) == {
        "value": "none",
        "source": "retention_rules.yaml:1",
    }


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "[::1]", "localhost"])
def test_plain_http_is_for_this_machine(tmp_path: Path, host: str) -> None:
    assert complaints(tmp_path, f"url: http://{host}:8000") == []


@pytest.mark.parametrize(
    "host", ["10.0.0.5", "vectors.example.org", "0.0.0.0", "[::]", "localhost.example.org"]
)
def test_plain_http_over_a_network_is_refused(tmp_path: Path, host: str) -> None:
    (complaint,) = complaints(tmp_path, f"url: http://{host}:8000")
    assert complaint.startswith("retention_rules.yaml:3:10: url: vectors and token would go unenc")
    assert complaint.endswith("(write https; plain http is for 127.0.0.1, ::1 and localhost alone)")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(["tenant: t"], ["2:3: remote has no url (such as remote: {url"], id="no url"),
        pytest.param(
            ["url: vectors.example.org"],
            ['3:10: url: "vectors.example.org" is no http or https URL (such as url: https'],
            id="no scheme",
        ),
        pytest.param(
            ["url: https://a", "timeout: 10s"],
            ["4:14: timeout: 10s is not in 0.1s to 1.5s"],
            id="longer than a recall has",
        ),
        pytest.param(
            ["url: https://a", "token_env: A", "token_file: /b"],
            ["2:3: token_env and token_file both say where the token is (remove one of them)"],
            id="two places",
        ),
        pytest.param(
            ["url: https://a", "ca_file: ca.pem"],
            ["4:14: ca_file is no absolute path (such as ca_file: /etc/skymem/ca.pem)"],
            id="relative",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_a_remedy(
    tmp_path: Path, lines: list[str], expected: list[str]
) -> None:
    found = complaints(tmp_path, *lines)
    assert len(found) == len(expected)
    for complaint, beginning in zip(found, expected, strict=True):
        assert complaint.startswith(f"retention_rules.yaml:{beginning}")


@pytest.mark.parametrize(
    ("lines", "remedy"),
    [
        (["url: https://user:s3cret@a"], "a secret goes where token_env or token_file says"),
        (["url: https://a/?token=s3cret"], "a secret goes where token_env or token_file says"),
        (["url: https://a", "token_env: s3cret"], "a key itself never goes into this file"),
        (["url: https://a", "token_file: s3cret"], "token_file is no absolute path"),
        (["url: https://a", "token: s3cret"], 'did you mean "token_env"?'),
    ],
)
def test_a_token_in_the_file_is_refused_and_never_shown(
    tmp_path: Path, lines: list[str], remedy: str
) -> None:
    (complaint,) = complaints(tmp_path, *lines)
    assert remedy in complaint
    assert "s3cret" not in complaint
