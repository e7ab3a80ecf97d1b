"""The report "paper against ours": claim by claim, and the comparisons of its parts."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from wordveil.evaluation.paper_statements import DRAWS, REPETITIONS
from wordveil.evaluation.results import PaperResult, result_from_dict
from wordveil.report.grids import tally
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["paper_report"]

_DATA: Final = {"sms": "SMS", "tweets": "tweets"}
"""The paper's data sets, each with an experiment on density and one on utility."""


@make_report.register
def paper_report(result: PaperResult) -> Report:
    """Return the report of all experiments of the paper."""
    parts = [make_report(result_from_dict(facts)) for facts in result.parts]
    claims = StatTable(
        "Claim by claim",
        ("claim", "data", "the paper", "ours", "verdict"),
        tuple(
            (row["claim"], row["data"], row["paper"], row["ours"], row["outcome"]) for row in result.rows()
        ),
        is_text=True,
        outcome_column="verdict",
    )
    compared = [
        table
        for part in parts
        for table in part.tables
        if "paper" in f"{table.title} {table.rows}" or part.name == "density"
    ]
    return Report(
        "paper",
        "The paper against ours",
        (
            _what_ran(result),
            tally(result.verdicts()),
            "Absolute numbers are not expected to agree, because N_w depends on how far apart the vectors "
            "are; the claims are about directions and differences.",
        ),
        result.verdicts(),
        [
            replace(chart, name=f"{facts['kind']}-{facts['name']}-{chart.name}")
            for part, facts in zip(parts, result.parts, strict=True)
            for chart in part.charts[:1]
        ],
        compared,
        result.rows(),
        result.settings,
        result.is_private,
        result.to_dict(),
        claims,
    )


def _what_ran(result: PaperResult) -> str:
    """Return which experiments of the paper were run, which were not, and what was smaller."""
    settings = result.settings
    ran = f"were run here on {settings['vectors']}: {'; '.join(settings['parts'])}."
    missing, smaller = list(_left_out(result)), list(_smaller(result))
    sentences = [f"{'These' if missing else 'All'} experiments of the paper {ran}"]
    if missing:
        sentences.append(f"Left out: {'; '.join(missing)}.")
    if smaller:
        sentences.append(f"Smaller than by default: {', '.join(smaller)}.")
    return " ".join(sentences)


def _left_out(result: PaperResult) -> Iterator[str]:
    if not any(part["kind"] == "privacy" for part in result.parts):
        yield "privacy"
    used = {part["settings"].get("paper") for part in result.parts}
    yield from (f"density and utility, {title}" for name, title in _DATA.items() if name not in used)


def _smaller(result: PaperResult) -> Iterator[str]:
    """Yield each number that is below the default of the command; old results lack some of them."""
    settings = result.settings
    words, all_words = settings.get("words", 0), settings.get("words_of_the_vectors", 0)
    if words < all_words:
        yield f"{words:,} of {all_words:,} words"
    draws = settings.get("draws", DRAWS)
    if draws < DRAWS:
        yield f"{draws} draws per word instead of {DRAWS}"
    repetitions = min(
        (part["settings"].get("repetitions", REPETITIONS) for part in result.parts), default=REPETITIONS
    )
    if repetitions < REPETITIONS:
        yield f"{repetitions} repetition{'s'[: repetitions > 1]} instead of {REPETITIONS}"
