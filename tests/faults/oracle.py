"""What must hold once the next run is over, whatever happened before it (promise 1, promise 2)."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skymem import app
from skymem.jobs.fsck import fsck

from .world import look, memories


@dataclass(frozen=True, slots=True)
class Expected:
    """What an undisturbed run leaves: each memory's tier, and what is in quarantine."""

    places: Mapping[str, str]
    short: Counter[str]
    """Lines of each memory in short-term: repeats are counted, and never made by us."""

    damage: Counter[bytes]

    def without(self, name: str) -> "Expected":
        """Expect the same but for a memory nobody was told to be safe."""
        places = {one: place for one, place in self.places.items() if one != name}
        short = Counter({one: times for one, times in self.short.items() if one != name})
        return Expected(places, short, self.damage)


def undisturbed(root: Path) -> Expected:
    """Take a home after an undisturbed run for the measure."""
    sight = look(root)
    places = {name: "+".join(sorted(tiers)) for name, tiers in sight.places().items()}
    expected = Expected(places, sight.tiers["short"], sight.damaged.get("quarantine", Counter()))
    check_sound(root, expected)
    return expected


def check_sound(root: Path, expected: Expected, *, exact: bool = True) -> None:
    """Check each memory for its one tier, damage for its bytes, and the records around them.

    Args:
        root: the home.
        expected: what an undisturbed run leaves.
        exact: no write was cut, so there is no damage but what was put there.
    """
    sight = look(root)
    assert sight.places() == {name: frozenset([tier]) for name, tier in expected.places.items()}
    for tier in ("long", "archive"):
        doubled = sight.tiers.get(tier, Counter()) - Counter(set(expected.places))
        assert not doubled, f"{tier} has it twice: {doubled}"
    assert len(sight.ids) == len(set(sight.ids)), "one id, two memories"
    kept = sight.damaged.get("quarantine", Counter())
    for piece, times in expected.damage.items():
        found = sum(kept[one] for one in kept if one == piece or one.rstrip(b"\0") == piece)
        assert found == times, f"{piece[:60]!r} is in quarantine {found} times"
    for piece in kept:
        assert not any(memories(raw) for raw in piece.split(b"\n")), "a memory is in quarantine"
    if exact:
        assert sight.tiers["short"] == expected.short, "short-term has other lines"
        assert sight.damaged == {"quarantine": expected.damage}
    check_records(root)


def check_records(root: Path) -> None:
    """Check the ledger's chain, the status files, and that nothing half made lies around."""
    work = app.open_home(str(root)).workplace()
    findings = fsck(work, ["sky"])
    assert findings.entries
    assert not findings.problems, findings.problems
    counts = Counter(entry["op"] for _, entry in work.ledger().read_from(0))
    assert counts["begin"] == counts["end"], "a run was never finished"
    for path in [*root.glob("status/*.json"), *root.glob("status/jobs/*.json")]:
        assert json.loads(path.read_bytes())["detail"]["ok"]
    left = [str(path.relative_to(root)) for path in root.rglob(".*.new")]
    assert not left, f"temporary files stay: {left}"
