"""Rows as lines: within the width, whatever the letters take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from skymem.live_view.columns import GAP, Cell, Column, Row, cut, folded, laid, widths_of

LETTERS = st.text(st.sampled_from("ab 記憶é\u0301👍🏽→"), max_size=60)


@given(LETTERS, st.integers(0, 30))
def test_a_cut_text_is_within_its_width_and_says_that_it_was_cut(text: str, width: int) -> None:
    shown = cut(text, width)

    assert cell_len(shown) <= width
    assert shown == text or width == 0 or shown.endswith("…")


@given(LETTERS, st.integers(1, 30), st.booleans())
def test_a_text_in_a_column_is_as_wide_as_the_column(text: str, width: int, right: bool) -> None:
    assert cell_len(laid(Column("x", right=right), text, width)) == width


@given(LETTERS, st.integers(2, 30))
def test_folding_keeps_every_letter(text: str, width: int) -> None:
    lines = folded(text, width)

    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_len(line) <= width for line in lines)


@pytest.mark.parametrize("width", range(30, 100, 7))
def test_columns_give_way_in_their_order_and_keep_their_least(width: int) -> None:
    columns = (Column("name", gives=1, least=6), Column("when"), Column("why", gives=2, least=4))
    rows = [
        Row("a", (Cell("n" * 20), Cell("5 min ago"), Cell("w" * 40))),
        Row("", (Cell("x" * 90),)),
    ]
    name, when, why = widths_of(columns, rows, width)

    assert when == len("5 min ago")
    assert name + when + why + 2 * len(GAP) <= width
    assert name == 20 or why == 4  # the last to give gives only when the first has given all
    assert name >= 6
