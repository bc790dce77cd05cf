"""Exit codes are an interface: each error's is pinned here, by name."""

from collections.abc import Iterator

from skymem import errors

CODES = {
    "UsageError": 2,
    "InvalidMemoryError": 2,
    "SecretRefusedError": 2,
    "HomeNotFoundError": 10,
    "BusyError": 11,
    "DaemonRunningError": 12,
    "DamageFoundError": 20,
    "LossBudgetError": 21,
    "StalePlanError": 22,
    "DegradedError": 23,
    "UnknownMemoryError": 24,
    "ElsewhereError": 24,
    "ClockMovedError": 25,
    "ModelParityError": 26,
    "NotAllowedError": 30,
    "AgentNameError": 30,
    "EngineUnavailableError": 40,
    "DiskError": 74,
    "ConfigurationError": 78,
    "HomeFormatError": 78,
    "HomeTooNewError": 78,
    "HomeTooOldError": 78,
    "InterruptedRunError": 130,
    "DaemonGoneError": 130,
}


def _all_errors(top: type[errors.SkymemError]) -> Iterator[type[errors.SkymemError]]:
    for error in top.__subclasses__():
        yield error
        yield from _all_errors(error)


def test_each_error_ends_with_its_own_code() -> None:
    found = {
        error.__name__: error.exit_code
        for error in _all_errors(errors.SkymemError)
        if error.__module__ == errors.__name__
    }

    assert found == CODES


def test_each_error_shows_its_message_and_its_way_out() -> None:
    for error in _all_errors(errors.SkymemError):
        told = str(error("first", "second"))
        assert "first" in told
        assert told.endswith(error.hint)
