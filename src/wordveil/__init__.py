"""Wordveil makes text differentially private, word by word.

The path of one word: `Embedding` takes it to its public vector, `Metric` says what is near, `sample_noise`
draws noise of that shape, a mechanism adds it and answers with the nearest word, and a `Guarantee` states
what is promised. `Perturber` does this for all words of a text, by a `Policy`; `perturb_file`,
`perturb_frame` and `spark.perturb` for all texts of a table.
"""

import importlib
from types import ModuleType

from wordveil.embedding import Embedding, Provenance, from_gensim, from_spacy, load_embedding
from wordveil.embedding.formats import ReadOptions, read_embedding
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
from wordveil.guarantee import Guarantee, MetricGuarantee
from wordveil.mechanisms import Laplace, Mahalanobis, Mechanism, Option, make_mechanism, register_mechanism
from wordveil.metric import Metric
from wordveil.noise import sample_noise
from wordveil.perturber import Perturber, PrivateReport
from wordveil.policy import Policy
from wordveil.randomness import RunKey, Stream, insecure_key, insecure_stream, secure_stream
from wordveil.runs import FileRun, Ledger, perturb_file, perturb_frame
from wordveil.tables import Layout
from wordveil.text_guarantee import TextGuarantee

__version__ = "0.1.0"

__all__ = [
    "Embedding",
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
    "PrivacyWarning",
    "PrivateReport",
    "Provenance",
    "ReadOptions",
    "RunKey",
    "Stream",
    "TextGuarantee",
    "UnknownNameError",
    "WordveilError",
    "from_gensim",
    "from_spacy",
    "insecure_key",
    "insecure_stream",
    "load_embedding",
    "make_mechanism",
    "perturb_file",
    "perturb_frame",
    "read_embedding",
    "register_mechanism",
    "sample_noise",
    "secure_stream",
    "spark",
]


def __getattr__(name: str) -> ModuleType:
    """Load `wordveil.spark` when it is first asked for: nobody else should wait for it."""
    if name == "spark":
        return importlib.import_module("wordveil.engines.spark")
    raise AttributeError(f"module 'wordveil' has no attribute {name!r}")
