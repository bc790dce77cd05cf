"""What of the alarms is told: once, after it has held, and not again and again."""

from itertools import pairwise

from skymem.model.alarm import Alarm, AlarmRules, alarm
from skymem.policy.news import Seen, after_telling, key_of, looked, message, news

RULES = AlarmRules(hold_seconds=60.0, quiet_seconds=600.0)
FULL = alarm("disk_low", "the disk is nearly full: 7 bytes are free")


class Somebody:
    """One who is told, looked at as the clock goes."""

    def __init__(self) -> None:
        self.record: dict[str, Seen] = {}
        self.told: list[tuple[float, str]] = []

    def look(self, at: float, *alarms: Alarm, reached: bool = True) -> None:
        self.record = looked(self.record, alarms, RULES, at)
        due = news(self.record, RULES, at)
        if due and reached:
            self.told += [(at, f"+{key}") for key in due.raised]
            self.told += [(at, f"-{key}") for key in due.cleared]
            self.record = after_telling(self.record, due, at)


UP, DOWN = "+disk_low//", "-disk_low//"


def test_an_alarm_is_told_once_it_has_held_and_its_end_once() -> None:
    one = Somebody()
    for at in range(0, 1000, 30):
        one.look(at, FULL)
    for at in range(1000, 2000, 30):
        one.look(at)
    assert one.told == [(60, UP), (1060, DOWN)]
    assert one.record == {}, "and nothing of it is kept"


def test_one_that_is_gone_before_it_has_held_is_never_told() -> None:
    one = Somebody()
    for at in range(0, 3000, 50):
        one.look(at, *([FULL] if at % 100 else []))
    assert one.told == []


def test_one_that_comes_and_goes_is_told_at_most_once_in_the_quiet_time() -> None:
    one = Somebody()
    for at in range(0, 6000, 30):
        one.look(at, *([FULL] if at // 120 % 2 else []))
    times = [at for at, _ in one.told]
    assert len(times) > 1
    assert all(later - at >= 600 for at, later in pairwise(times))


def test_one_who_could_not_be_told_is_told_later_and_only_what_still_holds() -> None:
    one = Somebody()
    one.look(0, FULL, reached=False)
    one.look(100, FULL, reached=False)
    one.look(200, FULL)
    assert one.told == [(200, UP)]
    other = Somebody()
    other.look(0, FULL, reached=False)
    other.look(100, FULL, reached=False)
    other.look(200)
    other.look(400)
    assert other.told == []


def test_a_clock_that_is_set_back_silences_nothing_for_long() -> None:
    one = Somebody()
    one.look(1_000_000, FULL)
    one.look(1000, FULL)
    one.look(1060, FULL)
    assert one.told == [(1060, UP)]
    one.look(100)
    one.look(170)
    assert one.told == [(1060, UP), (170, DOWN)]


def test_an_alarm_is_known_again_though_its_numbers_change_and_jobs_are_told_apart() -> None:
    assert key_of(FULL) == key_of(FULL._replace(text="the disk is nearly full: 5 bytes are free"))
    failed = [alarm("job_failed", f"{name} failed: full") for name in ("promote", "prune")]
    assert len({*map(key_of, failed)}) == 2
    assert key_of(alarm("flood", "sky: x", "sky")) != key_of(alarm("flood", "hobbs: x", "hobbs"))


def test_a_message_says_what_began_what_ended_and_how_it_stands_now() -> None:
    other = alarm("engine", "engine: no model", since=5.0)
    record = looked({}, [FULL, other], RULES, 0.0)
    record = after_telling(record, news(record, RULES, 60.0), 60.0)
    record = looked(record, [other], RULES, 700.0)
    said = message(record, news(record, RULES, 800.0), "/home/x", 800.0)

    assert (said["health"], said["active"]) == ("degraded", 1)
    assert (said["raised"], said["raised_count"], said["cleared_count"]) == ([], 0, 1)
    assert said["cleared"] == [{**FULL.to_json(), "since": 0.0}]


def test_a_message_is_bounded_however_much_is_wrong() -> None:
    many = [alarm("flood", "x" * 5000, f"agent{number}") for number in range(500)]
    record = looked({}, many, RULES, 0.0)
    said = message(record, news(record, RULES, 60.0), "/", 60.0)
    assert (len(said["raised"]), said["raised_count"]) == (100, 500)
    assert all(len(one["text"]) == 500 for one in said["raised"])
