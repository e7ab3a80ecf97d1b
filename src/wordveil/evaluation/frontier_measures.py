"""Measures settings: attacks, exposed words, what is proven, closeness, and what texts are worth.

Every measurement draws the same words and directions at all settings, which are then compared in pairs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

from wordveil.embedding import Embedding, load_parent
from wordveil.evaluation.classifiers import Classifier
from wordveil.evaluation.closeness import WordSample, draw_words
from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.estimator_digest import classifier_digest
from wordveil.evaluation.frontier_cache import FactCache, open_fact_cache
from wordveil.evaluation.frontier_probes import PRIVATE, PROBES
from wordveil.evaluation.mechanism_draws import class_digest
from wordveil.evaluation.utility_experiment import TestedOn
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.channel import AdditiveChannel
from wordveil.prior import Prior, default_prior
from wordveil.randomness import insecure_stream

__all__ = ["Effort", "Measurer"]

_OF_ANSWERS: Final = ("answer", "answer_prior", "answer_vectors")
_ACCURACY_FACTS: Final = 3  # raised when facts about accuracy are others, so older ones are not used

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is drawn: a first look needs a tenth of what an interval does.

    Attributes
    ----------
    draws : int
        Words that are drawn for the attacker and for closeness.
    word_draws : int
        How often each watched word, and each word for N_w, is drawn.
    repetitions : int
        Splits of the labelled texts.
    seed : int

    Examples
    --------
    >>> Effort(draws=500).seed
    0
    """

    draws: int = 2000
    word_draws: int = 20
    repetitions: int = 3
    seed: int = 0


@dataclass(eq=False)
class Measurer:
    """Measures settings, and keeps what it has measured.

    Parameters
    ----------
    prior : function
        Returns how often the words of an embedding are used (default: in English).
    data : LabelledTexts, optional
        What classifiers learn from and texts are linked in.
    classifier : str or estimator
    tested_on : str
        "private" or "clean".
    linked : int
        At most this many of the texts are linked.
    pad_to : int, optional
        The length that texts are padded to before they are linked.
    words : int
        Words of the vocabulary that N_w is measured on.
    cache : bool or Path
        Where measurements are kept, so that an interrupted run continues.

    Examples
    --------
    >>> import wordveil as wv
    >>> mechanism = wv.Laplace(wv.load_embedding().project(10), 6.0)
    >>> facts = Measurer(cache=False).measure("attack", mechanism, Effort(draws=300))
    >>> facts["attack_low"] < facts["attack"] < facts["attack_high"]
    True
    """

    prior: Callable[[Embedding], Prior] = default_prior
    data: LabelledTexts | None = None
    classifier: Classifier = "bow"
    tested_on: TestedOn = "private"
    linked: int = 2000
    pad_to: int | None = None
    words: int = 200
    cache: Path | bool = True
    _known: dict[str, Facts] = field(default_factory=dict, init=False)
    _samples: dict[tuple[Any, ...], WordSample] = field(default_factory=dict, init=False)

    @cached_property
    def _public_cache(self) -> FactCache | None:
        return open_fact_cache(self.cache)

    @cached_property
    def _private_cache(self) -> FactCache | None:
        data = self.data
        assert data is not None
        is_test = "".join("1" if test else "0" for test in data.is_test or ())
        return open_fact_cache(self.cache, [*data.texts, *data.labels, is_test])

    def measure(self, probe: str, mechanism: Mechanism, effort: Effort) -> Facts:
        """Return the facts of one of the probes: "attack", "content", "answers", "watched" and so on."""
        key = self._key(probe, mechanism, effort)
        if key is None:
            return PROBES[probe](self, mechanism, effort)
        name = repr(key)
        if name in self._known:
            return self._known[name]
        cache = self._private_cache if probe in PRIVATE else self._public_cache
        facts = None if cache is None else cache.load_facts(key)
        if facts is None:
            facts = PROBES[probe](self, mechanism, effort)
            if cache is not None:
                cache.save_facts(key, facts)
        self._known[name] = facts
        return facts

    def _key(self, probe: str, mechanism: Mechanism, effort: Effort) -> dict[str, Any] | None:
        """Return everything that the facts depend on besides private texts; None if it can't be known."""
        code = class_digest(type(mechanism))
        if not code:
            return None
        setting: Mapping[str, Any] = mechanism.setting()
        # The noisy vector does not depend on the answer. A subclass of the channel may see something else.
        if probe in ("attack", "content") and type(mechanism.valid_channel()) is AdditiveChannel:
            setting = {name: value for name, value in setting.items() if name not in _OF_ANSWERS}
            setting["mechanism"], code = "additive", ""
        key: dict[str, Any] = {
            "probe": probe,
            "setting": setting,
            "code": code,
            "versions": [version("wordveil"), np.__version__],
            "vectors": mechanism.embedding.fingerprint,
            "prior": self.prior(mechanism.embedding).fingerprint,
            "effort": [effort.draws, effort.word_draws, effort.seed],
        }
        if probe in ("unchanged_each", "n_w"):
            key |= {"words": self.words}
        if probe == "linkage":
            key |= {"linked": self.linked, "pad_to": self.pad_to}
        if probe == "accuracy":
            classifier = classifier_digest(self.classifier)
            if not classifier:
                return None
            key |= {"classifier": classifier, "tested_on": self.tested_on, "repetitions": effort.repetitions}
            key |= {"facts": _ACCURACY_FACTS}
        return key

    def priors(self, mechanism: Mechanism) -> dict[str, Prior]:
        """Return how words are drawn, for each kind of word."""
        tokens = self.prior(mechanism.embedding)
        return {
            "tokens": tokens,
            "content": tokens.content(),
            "uniform": Prior.uniform(mechanism.embedding),
        }

    def sample(self, mechanism: Mechanism, kind: str, effort: Effort) -> WordSample:
        """Return the words that answers are compared with: the same for all spaces of the same vectors."""
        prior = self.priors(mechanism)[kind]
        parent = load_parent(mechanism.embedding).fingerprint
        key = parent, prior.fingerprint, effort.draws, effort.seed
        if key not in self._samples:
            stream = insecure_stream(effort.seed)
            self._samples[key] = draw_words(mechanism.embedding, prior, draws=effort.draws, stream=stream)
        return self._samples[key]
