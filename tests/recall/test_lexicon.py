"""Who is worth a look, told from arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skymem.recall import lexicon


@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.2, 0.9]), min_size=1, max_size=60),
    st.integers(1, 60),
)
def test_the_nth_highest_is_that_of_all_sorted(values: list[float], place: int) -> None:
    place = min(place, len(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon, "BLOCK", 4)
        found = lexicon.nth_highest(np.array(values), place)

    assert found == sorted(values, reverse=True)[place - 1]
