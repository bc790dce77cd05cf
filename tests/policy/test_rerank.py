"""The second look takes what answers best, and not the same passage ten times (row W8)."""

from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.rerank import Candidate, rerank

_candidates = st.lists(
    st.builds(
        Candidate,
        st.text("ab c", max_size=20),
        st.floats(0, 1),
        st.none() | st.floats(-1, 1),
    ),
    max_size=20,
)


@given(_candidates, st.text("ab c", max_size=10), st.integers(1, 12))
def test_so_many_are_taken_each_once_with_a_weight_from_0_to_1(
    found: list[Candidate], query: str, limit: int
) -> None:
    taken = rerank(query, found, limit)

    assert len({one.place for one in taken}) == len(taken) == min(limit, len(found))
    assert all(0 <= one.weight <= 1 + 1e-9 for one in taken)
    assert taken == rerank(query, found, limit)


def order(query: str, *found: Candidate, limit: int = 10) -> list[int]:
    return [one.place for one in rerank(query, found, limit)]


def test_rare_words_and_words_that_stand_together_count_more() -> None:
    common = Candidate("the lamp is in the tower", 0.5, None)
    rare = Candidate("the gasket", 0.5, None)
    assert order("the gasket lamp", common, common, rare)[0] == 2

    apart = Candidate("box of the red junction", 0.5, None)
    together = Candidate("the red junction box of", 0.5, None)
    assert order("junction box", apart, together) == [1, 0]


def test_meaning_decides_where_no_word_is_shared() -> None:
    assert order("laptop stolen", Candidate("x", 0.5, 0.1), Candidate("y", 0.5, 0.6)) == [1, 0]


def test_what_says_the_same_again_comes_later() -> None:
    same = "the duty of the keeper is to wind the clock at dusk"
    found = [
        Candidate(same, 0.9, 0.8),
        Candidate(same + " each day", 0.89, 0.79),
        Candidate("clock and keeper: other hours on Sundays", 0.7, 0.7),
    ]

    assert order("keeper clock", *found, limit=2) == [0, 2]
