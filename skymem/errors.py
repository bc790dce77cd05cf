"""Every failure a user can meet: its message, its exit code and the way out.

An error is a class. Its docstring is the message template, `exit_code` what the CLI ends with
(table in docs/commands.md), `hint` how to go on. Library code raises; only `skymem.cli.main`
prints.
Anything that is not a `SkymemError` is a bug, keeps its traceback and ends with 1.
"""

from typing import ClassVar


class SkymemError(Exception):
    """{0}"""

    exit_code: ClassVar[int] = 1
    hint: ClassVar[str] = ""

    def __str__(self) -> str:
        message = (type(self).__doc__ or "{0}").format(*self.args)
        return f"{message}; {self.hint}" if self.hint else message


class UsageError(SkymemError):
    """{0}"""

    exit_code = 2


class InvalidMemoryError(SkymemError):
    """{0}"""

    # One complaint a line: "FILE:LINE: field "importance": 7 is not in 0 to 1 (…)".
    exit_code = 2


class HomeNotFoundError(SkymemError):
    """no skymem home at {0}"""

    exit_code = 10
    hint = "make one with: skymem init PATH"


class BusyError(SkymemError):
    """{0} is held by {1}"""

    exit_code = 11
    hint = "wait for it to end, then try again"


class DaemonRunningError(SkymemError):
    """a daemon already keeps this home: {0}"""

    exit_code = 12
    hint = "see: skymem status"


class DamageFoundError(SkymemError):
    """{0} problem(s) found"""

    exit_code = 20


class LossBudgetError(SkymemError):
    """{0}"""

    # How many by judgement, of how many, against which limit (row X4).
    exit_code = 21
    hint = "nothing was removed; see what and why: the same with --dry-run"


class StalePlanError(SkymemError):
    """the plan no longer fits: {0}"""

    exit_code = 22
    hint = "make a new one with --dry-run --plan FILE"


class DegradedError(SkymemError):
    """degraded, for {0} reason(s)"""

    exit_code = 23


class UnknownMemoryError(SkymemError):
    """no such memory: {0}"""

    exit_code = 24


class ElsewhereError(UnknownMemoryError):
    """memory {0}"""

    # It is there, but not where it was asked for, or several answer to that name.


class ClockMovedError(SkymemError):
    """the clock moved: {0}"""

    # Both times, and how far they are from what should be between them (promise 5).
    exit_code = 25
    hint = "nothing was removed; set the clock right, or if it is right now: --accept-clock"


class ModelParityError(SkymemError):
    """the new model finds too little of what {0} finds: {1}"""

    # Shares of the old model's answers against the threshold (row X10).
    exit_code = 26
    hint = "nothing was switched; to switch all the same: --min-parity X"


class NotAllowedError(SkymemError):
    """{0}"""

    exit_code = 30


class SecretRefusedError(InvalidMemoryError):
    """there is a secret in it: {0}"""

    # Its kinds; never its text (row X11).
    hint = "leave it out, or set secrets: {on: redact} in retention_rules.yaml"


class AgentNameError(NotAllowedError):
    """agent name {0!r} is not allowed: {1}"""

    hint = "use 1 to 64 of a-z, 0-9, _ and -, starting with a letter or digit"


class EngineUnavailableError(SkymemError):
    """the engine is not available: {0}"""

    exit_code = 40


class DiskError(SkymemError):
    """{0}: {1}"""

    exit_code = 74


class ConfigurationError(SkymemError):
    """{0}"""

    # Every problem of the file, one a line: "FILE:LINE:COLUMN: what (remedy)".
    exit_code = 78


class HomeFormatError(SkymemError):
    """{0}"""

    # What says in which format the home is can't be read.
    exit_code = 78


class HomeTooNewError(HomeFormatError):
    """{0} is in format {1}"""

    # Which release keeps it; which one this is, and up to which format it knows.
    hint = "nothing was done; use that release, or a newer one, on this home"


class HomeTooOldError(HomeFormatError):
    """{0} is in format {1}"""

    # Which release this is, and which format its jobs need.
    hint = "it can be read and remembers what it is told; bring it over with: skymem upgrade"


class InterruptedRunError(SkymemError):
    """stopped by {0} before the next step; nothing was lost"""

    exit_code = 130


class DaemonGoneError(SkymemError):
    """the daemon was gone before it could tell how the run of {0} ended"""

    exit_code = 130
    hint = "what came of it is in: skymem jobs"
