"""What a daemon is given, by whoever starts it: `skymem run`, or a test."""

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass, field

from skymem.daemon.clocks import Reading
from skymem.daemon.stop import Stop
from skymem.daemon.timing import FIRST_RUN_SECONDS
from skymem.model.alarm import AlarmRules
from skymem.model.schedule import Schedule
from skymem.stores.files import Files
from skymem.stores.home import HomePaths


@dataclass(frozen=True, slots=True)
class Setting:
    """What the daemon is given; it reads neither environment, configuration nor clock itself."""

    paths: HomePaths
    files: Files
    schedule: Schedule
    clock: Callable[[], float]
    command: Sequence[str]
    """Starts the CLI on this home; a run of entry N is `command` + `trigger N --scheduled`."""

    version: str = ""
    first_run_seconds: float = FIRST_RUN_SECONDS
    """How long after its first start a new home has its first run."""

    log_level: str = "info"
    """The least that the log says: debug, info, warning or error."""

    stop: Stop = field(default_factory=Stop)
    read: Callable[[], Reading] | None = None
    """Reads all three clocks; None: `clock` for the wall's and the kernel for the others."""

    reread: Callable[[], Schedule] | None = None
    """Reads both files of the home anew, for a reload; raises what is wrong with either."""

    alarms: Callable[[], AlarmRules] | None = None
    """Gives the rules of alarms as they stand; with none nobody is ever told of one."""

    environment: MutableMapping[str, str] = field(default_factory=dict)
    """Where the service manager left word of itself; what is meant for us is taken out."""
