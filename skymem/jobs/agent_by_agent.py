"""What jobs that make no plan have in common: an agent's failure is its own, and told."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from skymem.errors import SkymemError
from skymem.jobs.workplace import Workplace
from skymem.stores.catalog import Catalog
from skymem.stores.files import disk_errors


class _Result(Protocol):
    agent: str
    error: str
    exit_code: int


Result = TypeVar("Result", bound=_Result)


def agent_by_agent(
    work: Workplace, each: Sequence[Result], act: Callable[[Catalog, Result], None]
) -> None:
    """Do something about each agent; one's failure is recorded and does not stop the next."""
    with work.catalog() as catalog:
        for one in each:
            try:
                work.check_stop()
                with disk_errors(work.agent_paths(one.agent).directory):
                    act(catalog, one)
            except SkymemError as error:
                one.error, one.exit_code = str(error), error.exit_code
