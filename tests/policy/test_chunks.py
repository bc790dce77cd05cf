"""Chunks are as long as they may be, lose nothing, and never reach over a heading (row W8)."""

from hypothesis import given
from hypothesis import strategies as st

from skymem.policy.chunks import Block, Piece, cut

SENTENCE = "The lamp of the north tower burns for seven hours and then it rests."

_texts = st.text(st.sampled_from("ab .!?\n\té水"), max_size=400)
_blocks = st.lists(
    st.builds(
        Block,
        _texts,
        st.just(()),
        st.tuples(st.integers(0, 2)),
        st.text("xyz ", max_size=90),
        st.none(),
        st.booleans(),
    ),
    max_size=12,
)


def said(pieces: list[Piece]) -> list[str]:
    return [piece.text for piece in pieces]


@given(_blocks, st.integers(200, 500), st.integers(0, 300))
def test_no_chunk_is_too_long_or_empty_and_no_character_is_lost(
    blocks: list[Block], chars: int, overlap: int
) -> None:
    pieces = list(cut(blocks, chars, overlap))

    assert all(piece.text.strip() and len(piece.text) <= chars for piece in pieces)
    rest = iter("".join("".join(said(pieces)).split()))
    assert all(letter in rest for block in blocks for letter in "".join(block.text.split()))


@given(_blocks, st.integers(200, 500))
def test_without_overlap_nothing_is_said_twice(blocks: list[Block], chars: int) -> None:
    bare = [block._replace(top="") for block in blocks]
    whole = "".join(said(list(cut(bare, chars, 0))))

    assert "".join(whole.split()) == "".join("".join(block.text for block in bare).split())


def test_a_heading_begins_a_chunk_and_stands_over_it() -> None:
    blocks = [Block("first", (), (1,), "A"), Block("second", (), (1,), "A"),
              Block("third", (), (2,), "A › B")]  # fmt: skip

    assert said(list(cut(blocks, 1200, 150))) == ["A\n\nfirst\n\nsecond", "A › B\n\nthird"]


def test_turns_stand_together_and_a_chunk_cites_where_its_own_part_begins() -> None:
    turns = [
        Block(f"Ann: {number} {SENTENCE}", (("at", number),), (), "", number * 10, tight=True)
        for number in range(9)
    ]
    pieces = list(cut(turns, 300, 100))

    assert pieces[0].text == f"{turns[0].text}\n{turns[1].text}\n{turns[2].text}"
    assert pieces[1].place == (("at", 3),)
    assert [piece.time_us for piece in pieces][:2] == [0, 30]
    assert SENTENCE in pieces[1].text.split("\n")[0]  # the end of the turn before


def test_the_end_of_a_chunk_begins_the_next_with_a_whole_sentence() -> None:
    first = "One thing is said here at some length. Another follows it."
    blocks = [Block(first), Block("x" * 150 + " end")]
    pieces = said(list(cut(blocks, 200, 40)))

    assert pieces == [first, "Another follows it.\n\n" + "x" * 150 + " end"]


def test_a_paragraph_is_cut_between_sentences_and_a_word_only_where_it_must() -> None:
    long = " ".join([SENTENCE] * 6)
    assert all(text.endswith(".") for text in said(list(cut([Block(long)], 200, 0))))

    assert said(list(cut([Block("y" * 450)], 200, 0))) == ["y" * 200, "y" * 200, "y" * 50]


def test_a_long_top_leaves_room_for_what_is_said() -> None:
    (piece,) = cut([Block("said", (), (), "t" * 900)], 200, 50)

    top, text = piece.text.split("\n\n")
    assert (len(top), top[0], text) == (50, "…", "said")
