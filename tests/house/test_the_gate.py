"""One gate to the files of agents: nothing builds their paths beside it (row M7)."""

import ast

import pytest

from tests.house.conftest import ROOT

MAY_MAKE_PATHS = {
    "skymem/jobs/workplace.py": "the gate itself",
    "skymem/stores/home.py": "says where things lie",
    "skymem/stores/agent_file.py": "below the gate: whoever calls it has come through",
    "skymem/home_making.py": "makes the first agent's directory, before there is a home",
}
MAY_MAKE_SHELVES = {"skymem/jobs/workplace.py": "the gate itself"}
PROGRAM = sorted((ROOT / "skymem").rglob("*.py"))


def _beside(tree: ast.AST) -> list[int]:
    """Lines that make an agent's paths: `paths.agent(…)`, passing it on, or joining to `memory`."""
    calls = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr == "agent":
            of_paths = isinstance(node.value, ast.Attribute | ast.Name | ast.Call)
            name = _name(node.value)
            if id(node) in calls or (of_paths and name in ("paths", "_paths", "HomePaths")):
                found.append(node.lineno)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            left = node.left
            if isinstance(left, ast.Attribute) and left.attr == "memory":
                found.append(node.lineno)
        if isinstance(node, ast.Call) and _name(node.func) == "AgentPaths":
            found.append(node.lineno)
    return found


def _shelves(tree: ast.AST) -> list[int]:
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and _name(node.func) == "Shelf"
    ]


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def test_no_path_of_an_agent_is_made_beside_the_gate() -> None:
    trees = {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in PROGRAM}
    paths = {name: _beside(tree) for name, tree in trees.items() if name not in MAY_MAKE_PATHS}
    shelves = {name: _shelves(tree) for name, tree in trees.items() if name not in MAY_MAKE_SHELVES}

    assert {name: found for name, found in paths.items() if found} == {}
    assert {name: found for name, found in shelves.items() if found} == {}


@pytest.mark.parametrize(
    "text",
    [
        "work.paths.agent(name)",
        "list(map(home.paths.agent, names))",
        "HomePaths(root).agent('sky')",
        "home.paths.memory / agent / 'long_term.jsonl'",
        "AgentPaths(root / 'memory' / agent)",
    ],
)
def test_each_way_beside_it_would_be_found(text: str) -> None:
    assert _beside(ast.parse(text)) == [1]


def test_a_shelf_made_beside_it_would_be_found() -> None:
    assert _shelves(ast.parse("Shelf(paths, files, rules)")) == [1]


def test_the_gate_asks_who_is_bound_wherever_it_lets_in() -> None:
    tree = ast.parse((ROOT / "skymem/jobs/workplace.py").read_text())
    functions = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}

    assert "self.admit(agent)" in ast.unparse(functions["agent_paths"])
    assert "self.agent_paths(agent)" in ast.unparse(functions["shelf"])
    assert "self.admit(agent, writing=True)" in ast.unparse(functions["job_lock"])
