"""The settings of a result for readers: what each is called, and its value."""

import re
from collections.abc import Mapping
from typing import Any, Final

__all__ = ["labelled_settings", "plain"]

_LABELS: Final = {
    "answer": "answer",
    "attacks": "S aimed at, % of words guessed",
    "block_list": "fingerprint of the block list",
    "blocks": "blocks of words that share noise",
    "compare_paper": "beside the paper's numbers",
    "data": "texts",
    "device": "searched on",
    "dims": "dimensions",
    "draws": "draws",
    "epsilon": "ε",
    "epsilons": "ε",
    "eta": "η, the least share of the draws that an answer in S_w has",
    "failed_fits": "fits that failed",
    "fingerprint": "fingerprint of the vectors",
    "fingerprints": "fingerprints of the vectors",
    "lam": "λ",
    "lams": "λ",
    "linked_texts": "texts that are linked",
    "optimised": "what is optimised",
    "paper": "the paper's data set",
    "prior": "how often words are used",
    "records": "number of texts",
    "reference_attack": "S that settings are compared at, % of words guessed",
    "repetitions": "repetitions",
    "split": "texts to learn from",
    "tested_records": "tested texts per repetition",
    "word_draws": "draws per word",
    "words_for_n_w": "words for N_w",
    "words_without_vector": "words without a vector",
}
_VALUES: Final = {
    "classifier": {"bow": "bag of words", "fasttext": "fastText", "embeddings": "mean of vectors"},
    "tested_on": {"private": "private text", "clean": "clean text"},
}
"""What a value is called, for settings whose values are names."""
_NOTHING: Final = {"eta": 0.0}  # values that leave something out
_IN_PERCENT: Final = ("attacks", "reference_attack")
_AXES: Final = re.compile(r"\[(\d+)\]")  # the number of principal axes, behind a name of vectors
_MANY: Final = 1e4  # from here on a fraction says nothing, and thousands are separated


def labelled_settings(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the name and the value of each setting in words; those without a value are left out.

    Examples
    --------
    >>> labelled_settings({"lams": [0.0, 1.0], "words": 33752, "epsilons": [], "attacks": [0.15, 0.3]})
    [('λ', '0, 1'), ('words', '33,752'), ('S aimed at, % of words guessed', '15, 30')]
    >>> labelled_settings({"vectors": "glove-840b-300d[10]", "eta": 0.0, "classifier": "bow"})
    [('vectors', 'glove-840b-300d, 10 axes'), ('classifier', 'bag of words')]
    """
    return [
        (_label(name), plain(_scaled(value) if name in _IN_PERCENT else _worded(name, value)))
        for name, value in settings.items()
        if value is not None and value not in ([], (), {}, "") and _NOTHING.get(name) != value
    ]


def _label(name: str) -> str:
    return _LABELS.get(name, name.replace("_", " "))


def _worded(name: str, value: Any) -> Any:
    """Return a value, or each item of a list, as readers call it."""
    if isinstance(value, list | tuple):
        return [_worded(name, item) for item in value]
    if name == "vectors" and isinstance(value, str):
        return _AXES.sub(r", \1 axes", value)
    return _VALUES.get(name, {}).get(value, value) if isinstance(value, str) else value


def _scaled(value: Any) -> Any:
    return [100.0 * item for item in value] if isinstance(value, list | tuple) else 100.0 * value


def plain(value: object) -> str:
    """Return a value of the settings as text; the items of a list are separated by commas.

    Examples
    --------
    >>> plain([0.0, 0.5]), plain({"numpy": "2.4"}), plain(None), plain(5574)
    ('0, 0.5', 'numpy 2.4', 'none', '5,574')
    >>> plain(["density, sms-spam", "utility, sms-spam"])
    'density, sms-spam; utility, sms-spam'
    """
    if isinstance(value, Mapping):
        return ", ".join(f"{_label(name)} {plain(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        items = [plain(item) for item in value]
        return ("; " if any(", " in item for item in items) else ", ").join(items)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= _MANY else f"{value:g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
