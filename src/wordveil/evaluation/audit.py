"""Tries to break a mechanism: black box, noise, replay, and the environment that it runs in.

Nothing private is read: all words and texts are made up, or those of the public vocabulary.
"""

from collections.abc import Callable, Sequence
from typing import Final

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, parameter_error
from wordveil.evaluation.audit_black_box import DRAWS, Factory, black_box
from wordveil.evaluation.audit_confusion import noisy_mechanism
from wordveil.evaluation.audit_noise import claimed_distance, differing_answers, grey_box, replay, shows_noise
from wordveil.evaluation.audit_result import Audit, Check, not_tested
from wordveil.evaluation.audit_search import search
from wordveil.evaluation.audit_short_calls import noisy_short_calls, short_calls
from wordveil.evaluation.audit_streams import streams
from wordveil.evaluation.audit_texts import files, texts
from wordveil.evaluation.audit_words import independence
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey

__all__ = ["GROUPS", "Audit", "Check", "Factory", "audit_callable", "audit_mechanism", "factory_of"]

GROUPS: Final = ("black box", "noise", "replay", "streams", "texts", "files", "search")
LOW_DIMS: Final = (1, 2, 3)
_MANY_DIMS: Final = 10  # above these, black boxes find only gross mistakes
_NO_POWER: Final = (
    "black boxes have no power in {dims} dimensions: the noise is about {dims}/ε long, so two close words "
    "have nearly the same answers, and the factor exp(ε·d) shows only in events too rare to be drawn. The "
    "same code is tested in 1, 2 and 3 dimensions{instead}"
)


def factory_of(mechanism: Mechanism) -> Factory:
    """Return a factory for mechanisms of the same class and options, on other vectors and with another ε.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> factory_of(wv.Mahalanobis(emb, 10.0, lam=0.5))(emb.project(2), 3.0).parameters()
    {'epsilon': 3.0, 'lam': 0.5, 'answer': 'nearest'}
    """
    parameters = mechanism.parameters()
    missing = [option.name for option in mechanism.options if option.name not in parameters]
    if missing:
        raise ParameterError(f"The parameters() of the mechanism must have its option '{missing[0]}'.")
    options = {option.name: parameters[option.name] for option in mechanism.options}
    blocked = mechanism.blocked
    return lambda embedding, epsilon: type(mechanism).make(embedding, epsilon, options).blocking(blocked)


def audit_mechanism(
    mechanism: Mechanism,
    *,
    make: Factory | None = None,
    perturb: Callable[[Mechanism], Perturber] = Perturber,
    groups: Sequence[str] = GROUPS,
    low_dims: Sequence[int] = LOW_DIMS,
    draws: int = DRAWS,
    key: RunKey | None = None,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> Audit:
    """Return what an audit of a mechanism finds.

    Parameters
    ----------
    mechanism : Mechanism
        The setting to audit, on its own vectors.
    make : callable
        (embedding, ε) → the mechanism with the other parameters of this setting, for audits in low dimension
        (default: `factory_of(mechanism)`).
    perturb : callable
        Makes the perturber around a mechanism (default: with the safe policy).
    groups : sequence of str
        Which of "black box", "noise", "replay", "streams", "texts", "files" and "search".
    low_dims, draws : sequence of int, int
        The dimensions of the black boxes, of 1, 2 and 3, and how often each word is drawn there.
    key : RunKey
        Where the noise comes from (default: a new key).
    watch : callable
        Called with (groups done, all groups).

    Examples
    --------
    >>> import wordveil as wv
    >>> result = audit_mechanism(wv.Laplace(wv.load_embedding().project(10), 6.0), groups=["noise", "replay"])
    >>> result.passed
    True
    """
    if not isinstance(mechanism, Mechanism):
        raise parameter_error("mechanism", "audit_mechanism", "be a Mechanism", mechanism)
    unknown = [name for name in groups if name not in GROUPS]
    if unknown or not groups:
        raise ParameterError(f"The groups of an audit are {', '.join(GROUPS)}.")
    if not set(low_dims) <= set(LOW_DIMS):
        raise ParameterError("The 'low_dims' parameter of audit_mechanism must be of 1, 2 and 3.")
    groups = list(dict.fromkeys(groups))
    make = factory_of(mechanism) if make is None else make
    key = RunKey() if key is None else key
    epsilon = _epsilon_of(mechanism)
    checks: list[Check] = []
    for number, group in enumerate(groups):
        watch(number, len(groups))
        if group == "black box":
            checks += _black_boxes(mechanism, make, epsilon, low_dims, draws, key)
        else:
            checks += _group(group, mechanism, make, perturb, epsilon, key)
    watch(len(groups), len(groups))
    settings = mechanism.setting() | {
        "vectors": mechanism.embedding.fingerprint,
        "groups": list(groups),
        "draws_per_word_in_low_dimension": draws,
    }
    return Audit(settings, tuple(checks))


def _epsilon_of(mechanism: Mechanism) -> float:
    epsilon = mechanism.parameters().get("epsilon")
    if not isinstance(epsilon, int | float) or isinstance(epsilon, bool):
        raise ParameterError("The parameters() of an audited mechanism must have a number 'epsilon'.")
    return float(epsilon)


def _group(
    group: str,
    mechanism: Mechanism,
    make: Factory,
    perturb: Callable[[Mechanism], Perturber],
    epsilon: float,
    key: RunKey,
) -> list[Check]:
    match group:
        case "noise":
            return [claimed_distance(mechanism), *grey_box(mechanism, key)]
        case "replay":
            return replay(mechanism, key)
        case "streams":
            return streams(make, epsilon, perturb, key)
        case "texts":
            noisy = perturb(noisy_mechanism(make, epsilon))
            return [*texts(noisy, key), *noisy_short_calls(noisy, key), *short_calls(perturb(mechanism), key)]
        case "files":
            return files(perturb(noisy_mechanism(make, epsilon)), key)
    return search(mechanism, key)


def _black_boxes(
    mechanism: Mechanism, make: Factory, epsilon: float, dims: Sequence[int], draws: int, key: RunKey
) -> list[Check]:
    follows = shows_noise(mechanism) and not differing_answers(mechanism, key)
    tight = follows and bool(getattr(mechanism.channel(), "answers_nearest", False))
    checks = [check for dim in dims for check in black_box(make, epsilon, dim, key, draws=draws, tight=tight)]
    checks.append(independence(make, epsilon, key))
    if mechanism.embedding.dim > _MANY_DIMS:
        name = f"the claimed exponent in {mechanism.embedding.dim} dimensions"
        instead = ", and here the law of the noise" if follows else ""
        why = _NO_POWER.format(dims=mechanism.embedding.dim, instead=instead)
        checks.append(not_tested("black box", name, why))
    return checks


def audit_callable(perturb_text: Callable[[str], str], vocabulary: Embedding) -> Audit:
    """Return what an audit finds about a bare function from text to text; its law can't be tested.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> audit_callable(lambda text: text, emb).passed
    False
    >>> audit_callable(wv.Perturber(wv.Laplace(emb, 5.0)), emb).passed
    True
    """
    words = [word for word in vocabulary.words if word.isascii() and word.isalpha()][:400]
    text = " ".join(words)
    first, second = (perturb_text(text).split() for _ in range(2))
    unknown = "qzxvkjwq"
    leaked = unknown in perturb_text(f"{unknown} {words[0]}").lower()
    why = "a bare function can't be made in low dimension, and shows no noise"
    return Audit(
        {"mechanism": getattr(perturb_text, "__name__", type(perturb_text).__name__)},
        (
            not_tested("black box", "the law of its answers", why),
            _calls_of_function(first, second, words),
            _changes_of_function(first, second, words),
            _unknown_of_function(leaked),
        ),
        states_error=False,
    )


def _unknown_of_function(leaked: bool) -> Check:
    name, mistake = "no unknown token passes verbatim", "a function that copies every unknown word"
    return Check("texts", name, not leaked, "an unknown word was tried", 0.0, mistake)


def _same(words: Sequence[str], others: Sequence[str]) -> int:
    return sum(a == b for a, b in zip(words, others, strict=False))


def _calls_of_function(first: list[str], second: list[str], words: list[str]) -> Check:
    """Fail only if two outputs are equal and most words have changed: chance is not known."""
    name, equal = "calls share no noise", _same(first, second)
    if first == second and 2 * _same(first, words) < len(words):
        return Check(
            "streams",
            name,
            False,
            f"two calls have the same output, in which most of {len(words)} words differ from the input",
        )
    why = "how many agree by chance is not known"
    return not_tested("streams", name, f"{equal} of {len(words)} words agree between two calls; {why}")


def _changes_of_function(first: list[str], second: list[str], words: list[str]) -> Check:
    """Fail only if no word has changed in either call."""
    kept = [_same(output, words) for output in (first, second)]
    evidence = f"{kept[0]} and {kept[1]} of {len(words)} words stay in two calls"
    if min(kept) == len(words):
        return Check("texts", "words change", False, evidence)
    return not_tested("texts", "words change", f"{evidence}; how many may stay is not known")
