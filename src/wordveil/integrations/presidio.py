"""Presidio: an operator, and texts that are perturbed around its entities (extra `presidio`)."""

import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from numbers import Integral, Real
from typing import Any, Final

from wordveil.errors import ParameterError, PrivacyWarning, parameter_error, sealed
from wordveil.integrations.library import checked_perturber, library
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.tokens import check_text

__all__ = ["WordveilOperator", "pattern_analyzer", "perturb_around"]

library("presidio_anonymizer", "presidio", "wv.presidio")
library("presidio_analyzer", "presidio", "wv.presidio")
from presidio_analyzer import AnalyzerEngine, RecognizerRegistry, predefined_recognizers  # noqa: E402
from presidio_analyzer.nlp_engine import SpacyNlpEngine  # noqa: E402
from presidio_anonymizer.operators import Operator, OperatorType  # noqa: E402

_OWNER: Final = "wv.presidio.perturb_around"


class WordveilOperator(Operator):  # type: ignore[misc]  # Presidio has no types
    """The operator `wordveil`: perturbs the words of an entity, and only them.

    Everything that Presidio has not recognized stays as it is, with a PrivacyWarning; see `perturb_around`.

    Examples
    --------
    >>> from presidio_anonymizer import AnonymizerEngine, OperatorConfig, RecognizerResult
    >>> import wordveil as wv
    >>> engine = AnonymizerEngine()
    >>> engine.add_anonymizer(WordveilOperator)
    >>> perturber = wv.Perturber.from_profile("balanced")
    >>> operators = {"DEFAULT": OperatorConfig("wordveil", {"perturber": perturber})}
    >>> entities = [RecognizerResult("LOCATION", 3, 9, 1.0)]
    >>> engine.anonymize("to Boston", entities, operators).text.split()[0]
    'to'
    """

    @sealed
    def operate(self, text: str, params: dict[str, Any] | None = None) -> str:
        """Return a private version of an entity."""
        return checked_perturber((params or {}).get("perturber"), "the operator 'wordveil'")(text)

    def validate(self, params: dict[str, Any] | None = None) -> None:
        """Check that the parameters have a perturber; warn of what stays as it is."""
        perturber = checked_perturber((params or {}).get("perturber"), "the operator 'wordveil'")
        warnings.warn(
            "The operator perturbs entities only. What Presidio did not recognize stays as it is, and no "
            "guarantee covers it. Hint: perturb_around.",
            PrivacyWarning,
            stacklevel=5,  # the call of AnonymizerEngine.anonymize
        )
        warn_if_weak(perturber, None, stacklevel=6)

    def operator_name(self) -> str:
        """Return the name that an OperatorConfig has."""
        return "wordveil"

    def operator_type(self) -> OperatorType:
        """Return that this is not an operator that restores texts."""
        return OperatorType.Anonymize


@sealed
def perturb_around(
    text: str, results: Iterable[Any], *, perturber: Perturber, unsafe_keep_placeholders: bool = False
) -> str:
    """Return a private version of a text in which each entity is replaced by its type, as `<CREDIT_CARD>`.

    The output shows where the entities are, of which type, and how many words are between them. The guarantee
    covers the words between them, for texts that agree in that; hence the name of the option, which must be
    set. Without placeholders, call the perturber on the whole text.

    Parameters
    ----------
    text : str
        The text that was analyzed.
    results : iterable of RecognizerResult
        The entities. Where they overlap, the type is that of the highest score.
    perturber : Perturber
        Makes the words between them private. Its policy must not pad or sort.
    unsafe_keep_placeholders : bool
        Must be True.

    Examples
    --------
    >>> from presidio_analyzer import RecognizerResult
    >>> import wordveil as wv
    >>> entities = [RecognizerResult("PHONE_NUMBER", 8, 16, 1.0)]
    >>> perturber = wv.Perturber.from_profile("balanced")
    >>> options = {"perturber": perturber, "unsafe_keep_placeholders": True}
    >>> private = perturb_around("call me 555-0101 at noon", entities, **options)
    >>> private.split()[2], len(private.split())
    ('<PHONE_NUMBER>', 5)
    """
    checked_perturber(perturber, _OWNER)
    check_text(text, 0)
    if unsafe_keep_placeholders is not True:
        raise ParameterError(f"{_OWNER} reveals where entities are. Hint: unsafe_keep_placeholders=True.")
    if perturber.policy.pad_to is not None or perturber.policy.bag:
        raise ParameterError(
            f"The policy of {_OWNER} must not pad or sort: placeholders would show the rest."
        )
    warnings.warn(
        "The output shows where entities are, and of which type. The guarantee does not cover that.",
        PrivacyWarning,
        stacklevel=3,
    )
    warn_if_weak(perturber, None)
    pieces, types, end = [], [], 0
    for start, stop, entity_type in _merged(results, len(text)):
        pieces.append(text[end:start])
        types.append(f"<{entity_type}>")
        end = stop
    private = perturber.perturb([*pieces, text[end:]])
    return " ".join(part for pair in zip(private, [*types, ""], strict=True) for part in pair if part)


def _merged(results: Iterable[Any], length: int) -> Iterator[tuple[int, int, str]]:
    """Yield where the entities are, in order. Those that overlap are one: nothing of either may be left."""
    if not isinstance(results, Iterable):
        raise parameter_error("results", _OWNER, "be a list of RecognizerResult", results)
    spans = sorted(map(_span, results))
    if any(not 0 <= start <= end <= length for start, end, *_ in spans):
        raise ParameterError(f"The 'results' parameter of {_OWNER} must be those of this text.")
    while spans:
        start, stop, score, entity_type = spans.pop(0)
        while spans and spans[0][0] < stop:
            _, other_stop, other_score, other_type = spans.pop(0)
            stop = max(stop, other_stop)
            score, entity_type = min((score, entity_type), (other_score, other_type))
        yield start, stop, entity_type


def _span(result: Any) -> tuple[int, int, float, str]:
    """Return where an entity is, and of which type; the highest score comes first."""
    place: tuple[Any, ...] = tuple(
        getattr(result, name, None) for name in ("start", "end", "score", "entity_type")
    )
    kinds = (Integral, Integral, Real, str)
    if not all(isinstance(value, kind) for value, kind in zip(place, kinds, strict=True)):
        raise parameter_error("results", _OWNER, "be a list of RecognizerResult", result)
    start, end, score, entity_type = place
    return start, end, -score, entity_type


def pattern_analyzer() -> AnalyzerEngine:
    """Return an analyzer of English that needs no model and no network: patterns only, no names or places.

    It finds card numbers, crypto wallets, e-mail addresses, IBANs, IP addresses, phone numbers and US social
    security numbers. Presidio's own default downloads a model, and its e-mail recognizer a list of
    domains.

    Examples
    --------
    >>> [result.entity_type for result in pattern_analyzer().analyze("write to a@example.org", "en")]
    ['EMAIL_ADDRESS']
    """
    recognizers = [
        predefined_recognizers.CreditCardRecognizer(),
        predefined_recognizers.CryptoRecognizer(),
        _OfflineEmailRecognizer(),
        predefined_recognizers.IbanRecognizer(),
        predefined_recognizers.IpRecognizer(),
        predefined_recognizers.PhoneRecognizer(),
        predefined_recognizers.UsSsnRecognizer(),
    ]
    registry = RecognizerRegistry(recognizers, supported_languages=["en"])
    return AnalyzerEngine(registry=registry, nlp_engine=_BlankEngine(), supported_languages=["en"])


class _BlankEngine(SpacyNlpEngine):  # type: ignore[misc]
    """A spaCy pipeline that only splits words."""

    def load(self) -> None:
        spacy = library("spacy", "presidio", "wv.presidio")
        self.nlp = {"en": spacy.blank("en")}


class _OfflineEmailRecognizer(predefined_recognizers.EmailRecognizer):  # type: ignore[misc]
    """Finds e-mail addresses by the list of domains that tldextract ships with."""

    def validate_result(self, pattern_text: str) -> bool:
        return bool(_domains()(pattern_text).fqdn)


@cache
def _domains() -> Any:
    return library("tldextract", "presidio", "wv.presidio").TLDExtract(cache_dir=None, suffix_list_urls=())
