"""The report "paper against ours": claim by claim, and the comparisons of its parts."""

from dataclasses import replace

from wordveil.evaluation.results import PaperResult, result_from_dict
from wordveil.report.grids import tally
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["paper_report"]


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
            f"All experiments of the paper were run here on {result.settings['vectors']}: "
            f"{'; '.join(result.settings['parts'])}.",
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
