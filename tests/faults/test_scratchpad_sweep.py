"""A scratchpad is promoted once, wherever a kill or a broken disk cuts it (row W2, promise 1)."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skymem import open_memory
from skymem.agent import AgentMemory
from skymem.app import init_home
from skymem.errors import SkymemError
from skymem.working import at_hand
from skymem.working.at_hand import Hand
from skymem.working.tenancy import of_tenant

from .faulty import DyingFiles, FailingFiles, FaultyFiles, PowerCut

PRINCIPLE = "Refunds above the limit always need a manager's approval."
LIKE = "The user prefers short answers."
STEPS_MAX = 120


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose scratchpad is to be promoted."""
    root = tmp_path_factory.mktemp("written") / "home"
    init_home(root)
    open_memory("sky", home=str(root)).scratchpad.write(PRINCIPLE, LIKE, "It rained yesterday.")
    return root


def _found(memory: AgentMemory) -> tuple[list[str], list[str], list[str], int]:
    """What stands in the scratchpad, in business context, among preferences and in agent.md."""
    home, agent = memory._home, memory.agent
    theirs, owner = of_tenant(home, agent)
    context = [one.memory.content for one in Hand(theirs, owner).of("context")]
    file = theirs.shelf(owner).paths.directory / "agent.md"
    return (
        [one.text for one in memory.scratchpad.read()],
        context,
        [one.text for one in memory.preferences.all()],
        file.read_text().count(PRINCIPLE) if file.exists() else 0,
    )


WHOLE = ([PRINCIPLE, LIKE, "It rained yesterday."], [PRINCIPLE], [LIKE], 1)


@pytest.mark.parametrize(
    ("faulty", "stride"),
    [
        pytest.param(DyingFiles, 1, id="killed"),
        pytest.param(lambda step: DyingFiles(step, torn=True), 3, id="killed in the write"),
        pytest.param(lambda step: FailingFiles(step, errno.EIO), 3, id="refused once"),
        pytest.param(lambda step: FailingFiles(step, errno.ENOSPC, for_good=True), 3, id="full"),
    ],
)
def test_it_is_whole_at_the_next_time(
    written: Path, tmp_path: Path, faulty: Callable[[int], FaultyFiles], stride: int
) -> None:
    for step in range(1, STEPS_MAX, stride):
        root = tmp_path / f"home-{step}"
        shutil.copytree(written, root)
        memory = open_memory("sky", home=str(root))
        files = faulty(step)
        memory._home.files = files
        try:
            memory.scratchpad.promote()
        except (PowerCut, SkymemError):
            pass
        at_hand._hands.clear()
        after = open_memory("sky", home=str(root))
        snippets, context, likes, lines = _found(after)
        assert snippets == WHOLE[0]
        assert (len(context) <= 1, len(likes) <= 1, lines <= 1) == (True, True, True)
        after.scratchpad.promote()
        assert _found(after) == WHOLE, (step, files.steps[-3:])
        shutil.rmtree(root)
        if not files.fired:
            assert step > 10
            return
    pytest.fail("the sweep did not outlive the promotion")
