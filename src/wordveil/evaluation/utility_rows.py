"""The rows of a utility result: every score of every setting, with its interval and its baselines."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.scores import baseline_scores, interval_of, p_not_better, score_columns, scores_of
from wordveil.evaluation.settings import Setting

__all__ = ["Scored", "utility_rows"]

_NO_SETTING = ("setting", "vectors", "mechanism", "dims", "lam", "epsilon", "answer", "options")


class Scored(NamedTuple):
    """Confusion matrices, (repetitions, labels, labels), of a setting on one kind of test text."""

    setting: Setting | None
    tested_on: str
    matrices: NDArray[np.int64]


def utility_rows(data: LabelledTexts, parts: list[Scored], overlap: float | None) -> Iterator[dict[str, Any]]:
    """Yield one row per setting, kind of test text and statistic; the first part is unperturbed text."""
    always, guessed = baseline_scores(parts[0].matrices)
    unperturbed = scores_of(parts[0].matrices).mean(axis=0)
    statistics = score_columns(data.classes)
    for setting, tested_on, matrices in parts:
        facts = dict.fromkeys(_NO_SETTING) if setting is None else setting.facts()
        scores = scores_of(matrices)
        intervals = interval_of(matrices, scores, overlap)
        for column, statistic in enumerate(statistics):
            low, high = intervals[column]
            yield {
                "data": data.name,
                **facts,
                "tested_on": tested_on,
                "statistic": statistic.name,
                "label": statistic.label,
                "mean": float(scores[:, column].mean()),
                "low": low,
                "high": high,
                "unperturbed": float(unperturbed[column]),
                "majority": float(always[column]),
                "chance": float(guessed[column]),
                "p_majority": p_not_better(matrices) if statistic.name == "accuracy" else None,
            }
