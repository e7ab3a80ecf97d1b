"""Experiments with mechanisms, on public words and on labelled texts; each returns a plain result.

`privacy_sweep` measures how often words stay and how many answers they have, `density` how densely the words
of texts lie, `utility` how well classifiers learn from private text, `frontier` what settings are worth at
equal attack; `tune` chooses one for a goal. `audit_mechanism` tries to break a mechanism, `attack` says what
it gives away. A result has `rows()`, `to_frame()`, `verdicts()` and `to_dict()`.
"""

import importlib
from typing import TYPE_CHECKING, Final

# Imported when they are first used, as in `wordveil` itself: commands that need one module load only that.
if TYPE_CHECKING:
    from wordveil.evaluation.attacks import Attacks, Bigrams, attack
    from wordveil.evaluation.audit import Audit, audit_callable, audit_mechanism
    from wordveil.evaluation.datasets import LabelledTexts, load_labelled
    from wordveil.evaluation.density_experiment import density
    from wordveil.evaluation.frontier_experiment import frontier
    from wordveil.evaluation.frontier_spaces import Space
    from wordveil.evaluation.privacy_experiment import privacy_sweep
    from wordveil.evaluation.results import (
        DensityResult,
        FrontierResult,
        PaperResult,
        PrivacyResult,
        Result,
        TuningResult,
        UtilityResult,
        load_result,
        result_from_dict,
    )
    from wordveil.evaluation.settings import Setting, make_grid
    from wordveil.evaluation.tuning import tune
    from wordveil.evaluation.utility_experiment import utility
    from wordveil.evaluation.verdicts import Verdict

__all__ = [
    "Attacks",
    "Audit",
    "Bigrams",
    "DensityResult",
    "FrontierResult",
    "LabelledTexts",
    "PaperResult",
    "PrivacyResult",
    "Result",
    "Setting",
    "Space",
    "TuningResult",
    "UtilityResult",
    "Verdict",
    "attack",
    "audit_callable",
    "audit_mechanism",
    "density",
    "frontier",
    "load_labelled",
    "load_result",
    "make_grid",
    "privacy_sweep",
    "result_from_dict",
    "tune",
    "utility",
]

_MODULES: Final = {
    "wordveil.evaluation.attacks": "Attacks Bigrams attack",
    "wordveil.evaluation.audit": "Audit audit_callable audit_mechanism",
    "wordveil.evaluation.datasets": "LabelledTexts load_labelled",
    "wordveil.evaluation.density_experiment": "density",
    "wordveil.evaluation.frontier_experiment": "frontier",
    "wordveil.evaluation.frontier_spaces": "Space",
    "wordveil.evaluation.privacy_experiment": "privacy_sweep",
    "wordveil.evaluation.results": (
        "DensityResult FrontierResult PaperResult PrivacyResult Result TuningResult UtilityResult "
        "load_result result_from_dict"
    ),
    "wordveil.evaluation.settings": "Setting make_grid",
    "wordveil.evaluation.tuning": "tune",
    "wordveil.evaluation.utility_experiment": "utility",
    "wordveil.evaluation.verdicts": "Verdict",
}
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # for which every name would exist

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used."""
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
