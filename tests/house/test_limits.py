"""House limits that no linter has: sizes, docstrings, names, and where errors may be swallowed."""

import ast
from pathlib import Path

import pytest

from tests.house.conftest import ROOT, modules

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50
VAGUE = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
JOB_BOUNDARIES = {
    ROOT / "skymem/daemon/runner.py",
    ROOT / "skymem/engine/worker.py",
    ROOT / "skymem/jobs/runner.py",
    ROOT / "skymem/working/readers/formats.py",
}
"""One run, agent, request or document must not stop the others: only here may all be caught."""

MODULES = [pytest.param(path, id=str(path.relative_to(ROOT))) for path in modules()]


@pytest.mark.parametrize("path", MODULES)
def test_a_file_is_short_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)

    assert text.count("\n") <= FILE_LINES_MAX
    assert ast.get_docstring(tree) or not tree.body
    assert path.stem not in VAGUE


@pytest.mark.parametrize("path", MODULES)
def test_a_function_fits_on_a_screen(path: Path) -> None:
    long = [
        f"{node.name}: {(node.end_lineno or 0) - node.lineno + 1} lines"
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]

    assert long == []


@pytest.mark.parametrize("path", MODULES)
def test_no_error_is_swallowed_that_nobody_thought_of(path: Path) -> None:
    if path in JOB_BOUNDARIES or not path.is_relative_to(ROOT / "skymem"):
        return
    broad = [
        node.lineno
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and _is_broad(node)
    ]

    assert broad == []


def _is_broad(handler: ast.ExceptHandler) -> bool:
    """Whether it catches everything and does not raise it again."""
    if handler.type is not None:
        names = {one.id for one in ast.walk(handler.type) if isinstance(one, ast.Name)}
        if not names & {"Exception", "BaseException"}:
            return False
    last = handler.body[-1]
    return not (isinstance(last, ast.Raise) and last.exc is None)
