"""What `wordveil calibrate` found, in plain words."""

from wordveil.evaluation.calibration import Calibration
from wordveil.exposure import Exposure
from wordveil.mechanisms import Mechanism
from wordveil.report.explanation import setting_in_words
from wordveil.report.layout import in_rows
from wordveil.rounding import odds_limit, percent, significant_above, significant_below

__all__ = ["calibration_text"]


def calibration_text(
    mechanism: Mechanism, exposure: Exposure, result: Calibration, *, unchanged: bool
) -> str:
    """Return the ε that was found, and what the setting at the safe end of its interval is worth."""
    goal = (
        f"{percent(result.target)} of the words of the vocabulary stay"
        if unchanged
        else f"the best guess is right in {percent(result.target)} of cases"
    )
    low = significant_below(result.low)
    rows = {
        "ε": f"{result.epsilon:.3g} ({low} to {significant_above(result.high)}, a 95% interval): "
        f"there {goal}, at this setting: "
        f"{setting_in_words(mechanism.setting() | {'epsilon': result.epsilon})}.",
        "To be safe": f"--epsilon {low}, the lower end of the interval.",
        "What it is worth": exposure.headline,
        "Proven": "the odds between a typical word and its nearest neighbour change "
        f"{odds_limit(mechanism.guarantee.neighbours[1].median)}.",
    }
    return in_rows(rows)
