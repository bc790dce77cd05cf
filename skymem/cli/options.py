"""Options that several verbs share, spelled once."""

import signal
import types
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skymem.cli.binding import agent_in_reach

if TYPE_CHECKING:  # importing the program costs more than parsing its options
    from skymem.app import Home


@dataclass(slots=True)
class Globals:
    """What was said before the verb."""

    home: str | None = None
    agent: str | None = None
    log_level: str = "info"
    program: str = "cli"
    """What acts: this command by itself, or as a run of the daemon's."""

    verb: str = ""
    """What is done, as `note write`."""

    def bound_agent(self) -> str:
        """The agent of a verb about one: `--agent`, else `$SKYMEM_AGENT`, else `sky`."""
        from skymem.app import agent_from_environment, binding
        from skymem.policy.admit import check_agent_name

        if binding() is not None:  # another's name is not only refused, but on record as well
            self.open(appending=True, lenient=True)
        return check_agent_name(agent_from_environment() if self.agent is None else self.agent)

    def open(self, *, appending: bool = False, lenient: bool = False) -> "Home":
        """Open the home, as its owner; with `lenient` also where its rules are faulty."""
        from skymem.app import open_home

        home = open_home(
            self.home,
            stop=stop_flag.asked,
            become_owner=True,
            appending=appending,
            lenient=lenient,
        )
        home.program = self.program
        home.door = f"{self.program}:{self.verb}"
        self.agent = agent_in_reach(home, self.verb, self.agent)
        return home

    def open_to_use(self, *, appending: bool = False) -> "Home":
        """Open the home for who only reads or appends: of faulty rules it is told, and goes on."""
        from skymem.cli.render import complain

        home = self.open(appending=appending, lenient=True)
        for fault in home.faults:
            complain(fault)
        if home.faults:
            complain("this goes on without what is wrong there; jobs wait until it is mended")
        return home


class StopFlag:
    """Set by SIGINT and SIGTERM; looked at between steps, so that every step stays whole."""

    def __init__(self) -> None:
        self._name = ""

    def listen(self) -> None:
        """Handle both signals from now on; a second one ends the process at once."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, number: int, _frame: types.FrameType | None) -> None:
        self._name = signal.Signals(number).name
        signal.signal(number, signal.SIG_DFL)

    def asked(self) -> str:
        """Name the signal that came, or ""."""
        return self._name


stop_flag = StopFlag()


def globals_of(context: typer.Context) -> Globals:
    """What was said before the verb."""
    found = context.find_object(Globals)
    found = found if found is not None else Globals()
    above, words = context.parent, [context.info_name or ""]
    while above is not None and above.parent is not None:
        words.insert(0, above.info_name or "")
        above = above.parent
    found.verb = " ".join(words)
    return found


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would happen; change nothing.")]
PlanFile = Annotated[
    Path | None,
    typer.Option("--plan", metavar="FILE", help="Save the plan for `skymem apply`; do not act."),
]
MaxLoss = Annotated[
    str | None,
    typer.Option(metavar="N%", help="Let this run remove up to so much of a tier by judgement."),
]
AcceptClock = Annotated[
    bool, typer.Option("--accept-clock", help="The clock is right, however it moved.")
]

Uncalibrated = Annotated[
    bool, typer.Option("--uncalibrated", help="Promote also what is more than usual of an agent.")
]


def share_of(text: str | None) -> float | None:
    """Read a percentage as a share, 0 to 1; None when there is none.

    Raises:
        UsageError: it is none from 0% to 100%.
    """
    from skymem.errors import UsageError

    if text is None:
        return None
    number = text.removesuffix("%")
    try:
        share = float(number) / 100
    except ValueError:
        share = -1.0
    if not text.endswith("%") or not 0 <= share <= 1:
        raise UsageError(f"--max-loss {text!r:.20} is not in 0% to 100%; write it like 10%")
    return share
