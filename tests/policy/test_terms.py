"""What a query looks for: stems of its telling words, and what any other language writes."""

import pytest

from skymem.policy.rank import tokens
from skymem.policy.terms import STEMMED_LETTERS_MAX, STOP_WORDS, stem, stems, terms


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("running", "run"),
        ("runs", "run"),
        ("ran", "ran"),  # no stem of its letters
        ("studies", "studi"),
        ("studying", "studi"),
        ("camping", "camp"),
        ("camped", "camp"),
        ("tea", "tea"),
        ("", ""),
        ("2023", "2023"),
        ("v2s", "v2s"),
        ("straße", "straße"),
        ("cafés", "cafés"),
        ("report_ids", "report_ids"),
        ("s" * STEMMED_LETTERS_MAX, "s" * STEMMED_LETTERS_MAX),
        ("s" * STEMMED_LETTERS_MAX + "ings", "s" * STEMMED_LETTERS_MAX + "ings"),
    ],
)
def test_english_words_are_cut_to_their_stems_and_others_stay_whole(
    word: str, expected: str
) -> None:
    assert stem(word) == expected


def test_a_query_looks_for_the_stems_of_its_telling_words() -> None:
    assert terms("When did Melanie go camping?") == {"melani", "go", "camp"}
    assert terms("What is the name of her DOG's vet") == {"name", "dog", "vet"}


def test_a_query_of_stop_words_alone_looks_for_those() -> None:
    assert terms("what is this") == {"what", "is", "this"}
    assert terms("To be, or not to be") == {"to", "be", "or", "not"}
    assert tokens("to be or not") <= STOP_WORDS


def test_a_query_without_a_word_looks_for_nothing() -> None:
    assert terms("") == terms("?! …") == frozenset()


def test_of_a_clause_without_spaces_its_pairs_are_looked_for() -> None:
    assert terms("茶を飲む") == {"茶を", "を飲", "飲む"}
    assert terms("ดื่มชา") == {"ด", "มช", "ชา"}  # a vowel's mark is no letter to a regex
    assert terms("서울에서") == {"서울", "울에", "에서"}
    assert terms("서울") == {"서울"}
    assert terms("茶") == {"茶"}


def test_a_part_of_another_script_in_a_query_is_looked_for_as_well() -> None:
    assert terms("東京 camping") == {"東京", "camp"}
    assert "東京tower" not in terms("東京tower")


def test_a_short_word_of_a_script_with_spaces_is_no_pair_of_a_longer_one() -> None:
    assert terms("où est née Marie, né ici") == {"où", "est", "née", "mari", "né", "ici"}


def test_a_memory_has_the_stems_of_all_its_words() -> None:
    assert stems(tokens("She was camping; it rained.")) == {"she", "was", "camp", "it", "rain"}
    assert stems([]) == set()
    assert terms("서울") <= stems(tokens("서울에서 만나요"))
    assert terms("茶を飲") <= stems(tokens("毎朝お茶を飲む"))
