"""Texts like those agents write, made up: remarks, results, decisions, now and then a page."""

import random

_SAID = (
    "the user wants report deploy failed because server database token refresh morning meeting "
    "decided to keep branch review latency cache disk full restart agent memory threshold build "
    "customer invoice weekly garmin sleep heart rate run project deadline moved friday prefers "
    "short answers no emoji dark theme postgres migration index rollback error timeout"
)


def texts(count: int, seed: int = 1) -> list[str]:
    """Make `count` different texts; half of them have 8 to 20 words, one in fifty some hundred."""
    chance, words = random.Random(seed), _SAID.split()
    made = []
    for number in range(count):
        length = chance.choice((8, 12, 16, 20, 30, 45)) if number % 50 else 250
        made.append(f"{' '.join(chance.choices(words, k=length))} #{number}")
    return made
