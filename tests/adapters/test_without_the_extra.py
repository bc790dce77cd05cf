"""What is missing is said with the command that brings it; what needs nothing asks for nothing."""

import subprocess
import sys

PYTHON = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("langgraph", "mem0", "langchain_core"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PYTHON + code], capture_output=True, text=True, check=False
    )


def test_without_langgraph_the_message_says_how_to_get_it() -> None:
    told = run("from skymem.adapters.langgraph import SkymemStore")

    assert told.returncode == 1
    last = told.stderr.splitlines()[-1]
    assert "pip install 'skymem[langgraph]'" in last
    assert last.startswith("ModuleNotFoundError: SkymemStore needs langgraph")


def test_mem0s_verbs_need_no_package() -> None:
    assert run("from skymem.adapters.mem0 import Memory").returncode == 0


def test_importing_skymem_imports_no_adapter() -> None:
    code = """
import skymem
skymem.open_memory
print([name for name in sys.modules if name.startswith("skymem.adapters")])
"""
    assert run(code).stdout == "[]\n"
