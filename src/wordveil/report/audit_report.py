"""The report of an audit: every check with its verdict, its evidence and its power."""

from typing import Final

from wordveil.evaluation.audit_result import Audit
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["audit_report"]

_WORDS: Final = {True: "passed", False: "FAILED", None: "not tested"}


@make_report.register
def audit_report(audit: Audit) -> Report:
    """Return the report of an audit."""
    setting = str(audit.settings["mechanism"])
    if "epsilon" in audit.settings:
        setting += f", ε = {audit.settings['epsilon']:g}"
    advice = "Do not use this setting before the failed checks are understood."
    if audit.passed:
        advice = (
            "A passed audit does not prove a mechanism; the power says which mistakes it would have found."
        )
    return Report(
        audit.name,
        f"An audit of {setting}",
        ("All words and texts of the audit are made up or public.", audit.headline, advice),
        audit.verdicts(),
        (),
        [_table(audit)],
        audit.rows(),
        audit.settings,
        audit.is_private,
        audit.to_dict(),
    )


def _table(audit: Audit) -> StatTable:
    rows = tuple(
        (f"{check.group}: {check.name}", _WORDS[check.passed], check.power_in_words or "")
        for check in audit.checks
    )
    return StatTable("Checks", ("check", "verdict", "power"), rows)
