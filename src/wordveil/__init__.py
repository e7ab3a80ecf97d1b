"""Wordveil makes text differentially private, word by word.

The path of one word: `Embedding` takes it to its public vector, `Metric` says what is near, `sample_noise`
draws noise of that shape, a mechanism adds it and answers with the nearest word, and `Guarantee` says what is
promised. `Perturber` does so for all words of a text, by a `Policy`.
"""

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
from wordveil.guarantee import Guarantee
from wordveil.mechanisms import Laplace, Mahalanobis, Mechanism
from wordveil.metric import Metric
from wordveil.noise import sample_noise
from wordveil.perturber import Perturber, PrivateReport
from wordveil.policy import Policy
from wordveil.randomness import RunKey, Stream, insecure_stream, secure_stream
from wordveil.text_guarantee import TextGuarantee

__version__ = "0.1.0"

__all__ = [
    "Embedding",
    "FormatError",
    "Guarantee",
    "IntegrityError",
    "Laplace",
    "MachineError",
    "Mahalanobis",
    "Mechanism",
    "Metric",
    "MissingExtraError",
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
    "insecure_stream",
    "load_embedding",
    "read_embedding",
    "sample_noise",
    "secure_stream",
]
