"""What of a scratchpad is promoted: each gate, alone (row W2)."""

import pytest

from skymem.model.rules import ScratchpadRules
from skymem.policy.salience import Facts, is_preference, salience_of, weigh

RULES = ScratchpadRules()
PRINCIPLE = "Refunds above the limit always need a manager's approval."
OBSERVATION = "The sample of 100 rows showed no region yesterday."
PREFERENCE = "The user prefers short answers."


def facts(**more: object) -> Facts:
    plain = Facts(
        remember=False, trust=0.8, needed=0.6, sensitive=False, known="", likeness=0.2,
        told_by="words", sessions=1,
    )  # fmt: skip
    return plain._replace(**more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "more", "to", "by"),
    [
        pytest.param(PRINCIPLE, {}, "context", "surprisal", id="a principle that is new"),
        pytest.param(PREFERENCE, {}, "preference", "surprisal", id="a like that is new"),
        pytest.param(PRINCIPLE, {"likeness": 0.8}, None, "surprisal", id="a principle not new"),
        pytest.param(
            PRINCIPLE, {"likeness": 0.8, "sessions": 2}, "context", "frequency",
            id="a principle found in two conversations",
        ),
        pytest.param(OBSERVATION, {}, None, "salience", id="an observation that is new"),
        pytest.param(
            OBSERVATION, {"sessions": 9}, None, "salience", id="an observation found everywhere"
        ),
        pytest.param(
            OBSERVATION, {"remember": True}, "context", "explicit", id="an observation asked for"
        ),
        pytest.param(
            f"Remember that {OBSERVATION}", {}, "context", "explicit", id="asked for in words"
        ),
        pytest.param(
            f"Please remember: {PREFERENCE}", {"likeness": 0.8}, "preference", "explicit",
            id="a like asked for, and not new",
        ),
        pytest.param(
            f"Remember that {PRINCIPLE}", {"trust": 0.5, "remember": True}, None, "trust",
            id="what a tool asks for",
        ),
        pytest.param(PRINCIPLE, {"trust": 0.6}, "context", "surprisal", id="believed just enough"),
        pytest.param(
            PRINCIPLE, {"sensitive": True, "remember": True}, None, "sensitive", id="sensitive"
        ),
        pytest.param(
            PRINCIPLE, {"known": "context", "remember": True}, None, "known",
            id="said there already",
        ),
    ],
)  # fmt: skip
def test_each_gate(text: str, more: dict[str, object], to: str | None, by: str) -> None:
    found = weigh("s1", text, facts(**more), RULES)
    assert (found.to, found.by) == (to, by)
    shown = {one.gate: one for one in found.gates}
    assert shown.keys() >= {"explicit", "salience", "surprisal", "frequency"}
    assert by in shown
    assert not any(word in repr(found.as_json()) for word in ("Refunds", "rows", "answers"))


def test_a_threshold_is_reached_by_what_is_as_much() -> None:
    at = facts(likeness=1 - RULES.surprisal)
    assert weigh("s", PRINCIPLE, at, RULES).to == "context"
    assert weigh("s", PRINCIPLE, at._replace(likeness=0.651), RULES).to is None


@pytest.mark.parametrize(
    ("text", "salient"),
    [
        ("Invoices must carry the order number, because accounting matches by it.", True),
        ("Whenever a customer churns, the contract table is updated a day later.", True),
        ("Revenue is defined as booked, not as billed.", True),
        ("Rechnungen müssen immer eine Bestellnummer haben.", True),
        ("Prices should never be rounded before tax is added.", True),
        ("Sales fell by 4% in May.", False),
        ("The table has 40 columns and 1,200 rows.", False),
        ("orders.csv was loaded yesterday.", False),
        ("Half of the rows have no region.", False),
        ("I looked at this sample and found three duplicates.", False),
    ],
)
def test_a_principle_is_told_from_an_observation(text: str, salient: bool) -> None:
    assert (salience_of(text).value >= RULES.salience) is salient


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The user prefers short answers.", True),
        ("Ann likes charts better than tables.", True),
        ("They don't want to see raw SQL.", True),
        ("Please always answer in German.", True),
        ("I would rather have one page.", True),
        ("Data like this is always late.", False),
        ("Refunds need approval.", False),
        ("It looks like rain.", False),
    ],
)
def test_a_like_is_told_from_business(text: str, expected: bool) -> None:
    assert is_preference(text) is expected
