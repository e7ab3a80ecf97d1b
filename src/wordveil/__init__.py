"""Wordveil makes text differentially private, word by word.

The path of one word: `Embedding` takes it to its public vector, `Metric` says what is near, `sample_noise`
draws noise of that shape, a mechanism adds it and answers with the nearest word, and a `Guarantee` states
what is promised; `Exposure` says what a guessing attacker gains. `Perturber` does this for all words of a
text, by a `Policy`; `perturb_file`, `perturb_frame` and `spark.perturb` for all texts of a table. `sklearn`,
`datasets`, `polars`, `duckdb`, `presidio` and `spacy` do it inside of those libraries, and `PromptGuard`
for conversations. `evaluation` measures what a setting does to words and to classifiers, and `make_report`
shows it.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

# Names are imported when they are first used (PEP 562), so `import wordveil` is quick. This block is for type
# checkers and editors; at run time `_MODULES` says where each name is. A test compares the two.
if TYPE_CHECKING:
    from wordveil import evaluation
    from wordveil.block_list import BlockList
    from wordveil.embedding import Embedding, Provenance, from_gensim, from_spacy, load_embedding
    from wordveil.embedding.formats import ReadOptions, read_embedding
    from wordveil.engines import spark
    from wordveil.errors import (
        FormatError,
        IntegrityError,
        MachineError,
        MissingExtraError,
        ParameterError,
        PrivacyWarning,
        UnknownNameError,
        WordveilError,
    )
    from wordveil.exposure import Exposure
    from wordveil.guarantee import Guarantee, MetricGuarantee
    from wordveil.integrations import datasets as datasets
    from wordveil.integrations import duckdb as duckdb
    from wordveil.integrations import polars as polars
    from wordveil.integrations import presidio as presidio
    from wordveil.integrations import sklearn as sklearn
    from wordveil.integrations import spacy as spacy
    from wordveil.integrations.prompts import PromptGuard
    from wordveil.mechanisms import (
        Channel,
        Clustered,
        CusText,
        Exponential,
        Laplace,
        Mahalanobis,
        Mechanism,
        Option,
        TruncatedExponential,
        Vickrey,
        make_mechanism,
        register_mechanism,
    )
    from wordveil.metric import Bracket, Metric
    from wordveil.noise import check_epsilon, sample_noise
    from wordveil.perturber import Perturber, PrivateReport
    from wordveil.policy import Policy
    from wordveil.prior import Prior
    from wordveil.profiles import PROFILES, Profile
    from wordveil.randomness import RunKey, Stream, insecure_key, insecure_stream, secure_stream
    from wordveil.report.report import Report, make_report
    from wordveil.runs import FileRun, Ledger, perturb_file, perturb_frame
    from wordveil.tables import Layout
    from wordveil.text_guarantee import TextGuarantee

__version__ = "0.1.0"

__all__ = [
    "PROFILES",
    "BlockList",
    "Bracket",
    "Channel",
    "Clustered",
    "CusText",
    "Embedding",
    "Exponential",
    "Exposure",
    "FileRun",
    "FormatError",
    "Guarantee",
    "IntegrityError",
    "Laplace",
    "Layout",
    "Ledger",
    "MachineError",
    "Mahalanobis",
    "Mechanism",
    "Metric",
    "MetricGuarantee",
    "MissingExtraError",
    "Option",
    "ParameterError",
    "Perturber",
    "Policy",
    "Prior",
    "PrivacyWarning",
    "PrivateReport",
    "Profile",
    "PromptGuard",
    "Provenance",
    "ReadOptions",
    "Report",
    "RunKey",
    "Stream",
    "TextGuarantee",
    "TruncatedExponential",
    "UnknownNameError",
    "Vickrey",
    "WordveilError",
    "check_epsilon",
    "evaluation",
    "from_gensim",
    "from_spacy",
    "insecure_key",
    "insecure_stream",
    "load_embedding",
    "make_mechanism",
    "make_report",
    "perturb_file",
    "perturb_frame",
    "read_embedding",
    "register_mechanism",
    "sample_noise",
    "secure_stream",
    "spark",
]

_MODULES: Final = {
    "wordveil.block_list": "BlockList",
    "wordveil.embedding": "Embedding Provenance from_gensim from_spacy load_embedding",
    "wordveil.embedding.formats": "ReadOptions read_embedding",
    "wordveil.errors": (
        "FormatError IntegrityError MachineError MissingExtraError ParameterError PrivacyWarning "
        "UnknownNameError WordveilError"
    ),
    "wordveil.exposure": "Exposure",
    "wordveil.guarantee": "Guarantee MetricGuarantee",
    "wordveil.integrations.prompts": "PromptGuard",
    "wordveil.mechanisms": (
        "Channel Clustered CusText Exponential Laplace Mahalanobis Mechanism Option TruncatedExponential "
        "Vickrey make_mechanism register_mechanism"
    ),
    "wordveil.metric": "Bracket Metric",
    "wordveil.noise": "check_epsilon sample_noise",
    "wordveil.perturber": "Perturber PrivateReport",
    "wordveil.policy": "Policy",
    "wordveil.prior": "Prior",
    "wordveil.profiles": "PROFILES Profile",
    "wordveil.randomness": "RunKey Stream insecure_key insecure_stream secure_stream",
    "wordveil.report.report": "Report make_report",
    "wordveil.runs": "FileRun Ledger perturb_file perturb_frame",
    "wordveil.tables": "Layout",
    "wordveil.text_guarantee": "TextGuarantee",
}
# Not in `__all__`: `from wordveil import *` must not import libraries that are not installed.
_INTEGRATIONS: Final = ("datasets", "duckdb", "polars", "presidio", "sklearn", "spacy")
_MODULE_OF: Final = {name: module for module, names in _MODULES.items() for name in names.split()}

if not TYPE_CHECKING:  # for which every name would exist

    def __getattr__(name: str) -> object:
        """Import a public name, or a module of this package, when it is first used."""
        if name in _MODULE_OF:
            value = getattr(importlib.import_module(_MODULE_OF[name]), name)
        elif name == "spark":
            value = importlib.import_module("wordveil.engines.spark")
        elif name in _INTEGRATIONS:
            value = importlib.import_module(f"wordveil.integrations.{name}")
        elif not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            value = importlib.import_module(f"{__name__}.{name}")
        else:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_INTEGRATIONS})
