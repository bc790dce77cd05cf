"""The configuration keys of `importance:`: whom a trained model is asked about (row P12)."""

from typing import Final, get_args

from skymem.config.key import IMPORTANCE, RULES_FILE, TOP, Key
from skymem.model.rules import ByVectors, ImportanceRules, Predict

IMPORTANCE_KEYS: Final = (
    Key(
        RULES_FILE, TOP, "importance", "mapping", "none",
        "What a model says of a memory's worth, once one was trained: `skymem train`.",
        "importance: {predict: missing}", "P12",
    ),
    Key(
        RULES_FILE, IMPORTANCE, "predict", "word", ImportanceRules().predict,
        "Which memories it is asked about: none, those whose writer gave no importance, or all; "
        "what a writer gave counts all the same, and the second opinion is shown beside it.",
        "predict: second_opinion", "P12", choices=get_args(Predict),
    ),
    Key(
        RULES_FILE, IMPORTANCE, "vectors", "word", ImportanceRules().vectors,
        "Whether it may go by what a text means as well, as the engine's vectors have it: where "
        "that is surely better on memories it did not learn from. Where the engine is away, it "
        "goes by the text alone.",
        "vectors: off", "P12", choices=get_args(ByVectors),
    ),
)  # fmt: skip
"""The table, in the order of the reference."""
