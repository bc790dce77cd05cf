"""What `audit log` tells a person."""

import pytest

from tests.cli.conftest import Shell


@pytest.mark.parametrize(
    ("words", "about"),
    [
        (["--run", "zz"], " about run zz"),
        (["--id", "zz"], " about memory zz"),
        (["--id", "zz", "--since", "1d"], " about memory zz, time since 1d"),
        (["--op", "zz"], " about operation zz"),
        (["--run", "\x1b[2J"], r" about run \u001b[2J"),
    ],
)
def test_that_there_is_nothing_is_told(shell: Shell, words: list[str], about: str) -> None:
    assert shell("audit", "log").err == "skymem: nothing in the ledger\n"
    shell("pin", shell("remember", "there").out.strip())
    assert shell("audit", "log").err == ""
    told = shell("audit", "log", *words)

    assert (told.code, told.out) == (0, "")
    assert told.err == f"skymem: nothing in the ledger{about}\n"
    assert shell("audit", "log", *words, "--json").json == {"entries": []}


def test_another_agent_is_named(shell: Shell) -> None:
    shell("pin", shell("remember", "there").out.strip())
    told = shell("--agent", "hobbs", "audit", "log")

    assert told.err == "skymem: nothing in the ledger about agent hobbs\n"


def test_one_operation_is_told_alone(shell: Shell) -> None:
    shell("pin", shell("remember", "there").out.strip())
    shell("promote")
    told = shell("audit", "log", "--op", "pin", "--json").json["entries"]

    assert [one["op"] for one in told] == ["pin"]
    assert len(shell("audit", "log", "--json").json["entries"]) > 1
    assert shell("--agent", "sky", "audit", "log", "--op", "pin", "--since", "1d").code == 0
