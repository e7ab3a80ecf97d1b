"""The report of an audit: every check with its verdict, its evidence and its power."""

from wordveil.evaluation.audit_result import Audit
from wordveil.report.report import Report, make_report

__all__ = ["audit_report"]


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
        (),  # the verdicts tell everything
        audit.rows(),
        audit.settings,
        audit.is_private,
        audit.to_dict(),
    )
