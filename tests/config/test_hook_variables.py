"""The environment variables of hooks and contexts: two names, and every slip is named (row R13)."""

import pytest

from skymem.config.hook_variables import HookSettings, hook_settings
from skymem.errors import ConfigurationError


def test_nothing_said_is_on_and_stores_nothing() -> None:
    assert hook_settings({}) == HookSettings(True, False, None, 8000)
    assert hook_settings({"SKYMEM_ENABLED": "", "SKYMEM_CONTEXT_LIMIT": " "}) == HookSettings()


@pytest.mark.parametrize("prefix", ["SKYMEM_", "MILTON_MEMORY_"])
def test_both_names_are_read(prefix: str) -> None:
    given = {
        "ENABLED": "false",
        "STORE_RESPONSES": "TRUE",
        "CONTEXT_LIMIT": "3",
        "CONTEXT_MAX_CHARS": "900",
    }
    found = hook_settings({f"{prefix}{name}": value for name, value in given.items()})
    assert found == HookSettings(False, True, 3, 900)


def test_ours_goes_before_the_sources() -> None:
    both = {"MILTON_MEMORY_CONTEXT_LIMIT": "9", "SKYMEM_CONTEXT_LIMIT": "3"}
    assert hook_settings(both).limit == 3


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("on", True), ("Yes", True), ("0", False), ("OFF", False)]
)
def test_a_switch_is_said_in_many_ways(text: str, value: bool) -> None:
    assert hook_settings({"SKYMEM_ENABLED": text}).enabled is value


def test_all_that_can_not_be_is_told_at_once_with_what_may_be() -> None:
    given = {
        "SKYMEM_ENABLED": "maybe",
        "MILTON_MEMORY_STORE_RESPONSES": "2",
        "SKYMEM_CONTEXT_LIMIT": "0",
        "SKYMEM_CONTEXT_MAX_CHARS": "1e3",
    }
    with pytest.raises(ConfigurationError) as raised:
        hook_settings(given)
    assert str(raised.value).split("\n") == [
        "SKYMEM_ENABLED: 'maybe' is not true or false",
        "MILTON_MEMORY_STORE_RESPONSES: '2' is not true or false",
        "SKYMEM_CONTEXT_LIMIT: '0' is not a whole number from 1 to 10000",
        "SKYMEM_CONTEXT_MAX_CHARS: '1e3' is not a whole number from 1 to 10000000",
    ]


@pytest.mark.parametrize("text", ["-1", "²", "9" * 30, "nan", "10001", "3.0", "0x3"])
def test_a_number_is_a_whole_one_in_range(text: str) -> None:
    with pytest.raises(ConfigurationError, match="SKYMEM_CONTEXT_LIMIT"):
        hook_settings({"SKYMEM_CONTEXT_LIMIT": text})
