"""What is not given to Typer to convert comes out as it converts it."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
import typer.testing
from typer.testing import CliRunner

from skymem.cli.conversion import spare_conversion

found: list[object] = []


def verb(
    word: str,
    more: Annotated[list[str] | None, typer.Argument()] = None,
    *,
    tag: Annotated[list[str] | None, typer.Option()] = None,
    name: Annotated[str | None, typer.Option()] = None,
    limit: Annotated[int, typer.Option(min=1, max=10)] = 3,
    share: Annotated[float | None, typer.Option(min=0, max=1)] = None,
    file: Path = Path("-"),
    dry: bool = False,
) -> None:
    values = [word, more, tag, name, limit, share, file, dry]
    found.append([(type(one), one) for one in values])


LINES = [
    "a",
    "a b c --tag x --tag y --name n",
    "a --limit 10 --share 0.5 --dry",
    "a --limit 007 --share 1",
    "a --limit 11",
    "a --limit 0",
    "a --limit 1.0",
    "a --limit 1e1",
    "a --limit -1",
    "a --limit x",
    "a --limit " + "9" * 5000,
    "a --share .5",
    "a --share 5.",
    "a --share 1.5",
    "a --share .",
    "a --share nan",
    "a --share 1_0",
    "a --file x.txt --no-dry",
    "ä ö --tag é --name ü --limit ٣",
    "",
    "\udcff",
    "a --tag \udcff",
    "--help",
    "a --limit",
]


def _told(line: str) -> tuple[object, int, str]:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(verb)
    found.clear()
    done = CliRunner().invoke(app, line.split(" ") if line else [])
    return [*found], done.exit_code, done.output


@pytest.mark.parametrize("line", LINES, ids=lambda line: ascii(line)[:30])
def test_it_is_what_typer_makes_of_it(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _told(line)
    made: Any = typer.main.get_command
    monkeypatch.setattr(typer.testing, "_get_command", lambda app: spare_conversion(made(app)))

    assert _told(line) == whole
