"""Which of a query's stems a memory has: as if all its words had been stemmed (row R5)."""

from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.rank import tokens
from skymem.policy.terms import stems, terms, terms_in

CHANGED = ("dying", "lying", "tying", "skies", "skis", "idly", "gently", "ugly", "only", "ying")
WORDS = st.one_of(
    st.text(min_size=1, max_size=12),
    st.text("abcdeilnrstuy'", min_size=1, max_size=9),
    st.sampled_from(CHANGED),
)


@given(st.lists(WORDS, max_size=12), st.lists(WORDS, max_size=5))
def test_it_is_what_the_stems_of_all_words_say(memory: list[str], query: list[str]) -> None:
    words, wanted = tokens(" ".join(memory)), terms(" ".join(query))
    assert terms_in(words, wanted) == stems(words) & wanted
