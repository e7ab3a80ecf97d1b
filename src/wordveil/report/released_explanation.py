"""What a manifest promises, in plain words. It says no more than the manifest does."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.errors import FormatError, MachineError, WordveilError
from wordveil.exposure import knows, measure_exposure
from wordveil.mechanisms import Mechanism, make_mechanism, mechanism_class, mechanism_names
from wordveil.prior import Prior
from wordveil.report.explanation import about_coverage, setting_in_words
from wordveil.report.layout import in_rows, wrapped
from wordveil.report.released import Released, ReleasedGuess
from wordveil.rounding import at_most, odds_limit, percent, percent_range

__all__ = ["Recomputed", "explain_manifest", "recompute"]

_TOLERANCE: Final = 1e-6  # far above the rounding of another machine
_EXPOSED_SLACK: Final = 5  # words near the limit, which another rounding may put on its other side


class Recomputed(NamedTuple):
    """Which numbers of a manifest were computed again, and agree."""

    promise: bool = False
    best_guess: bool = False


def recompute(released: Released, embedding: Embedding, path: Path) -> Recomputed:
    """Compute the numbers of a manifest again, from its vectors; say for which that was possible.

    Raises FormatError if the manifest promises more than its setting does.
    """
    name, dims = released.setting["mechanism"], released.setting.get("dims")
    if name not in mechanism_names():
        return Recomputed()
    options = {option.name for option in mechanism_class(name).options}
    chosen = {key: value for key, value in released.setting.items() if key in options}
    try:
        axes = embedding.project(dims) if isinstance(dims, int) and dims < embedding.dim else embedding
        listed = (
            BlockList.english()
        )  # the author's own list is not available here, and S does not depend on it
        blocked = listed if released.setting.get("block_list") == listed.fingerprint[:16] else None
        mechanism = make_mechanism(
            name, axes, released.setting.get("epsilon", 0.0), blocked=blocked, **chosen
        )
        promise = mechanism.guarantee
    except WordveilError:  # parameters that this version does not know, or a plugin that fails
        return Recomputed()
    too_small = released.worst < promise.worst_case.lower * (1.0 - _TOLERANCE)
    too_wide = released.covered_share > promise.covered_share * (1.0 + _TOLERANCE)
    unsaid = set(promise.shown_of_words) - set(released.not_covered)
    too_near = released.nearest < promise.neighbours[1].median * (1.0 - _TOLERANCE)
    if too_small or too_near or too_wide or unsaid:
        raise FormatError(f"{path}: promises more than its setting does. Hint: do not rely on it.")
    if released.guess is None:
        return Recomputed(promise=True)
    try:
        return Recomputed(True, _measured_again(released.guess, mechanism, path))
    except MachineError:  # the vectors that its map was made from are not here
        return Recomputed(True)


def _measured_again(guess: ReleasedGuess, mechanism: Mechanism, path: Path) -> bool:
    """Measure the attacker's number of a manifest again; say whether that was possible.

    The author's own counts are not available here, so guesses that use them can't be measured again. Guesses
    by someone who assumes equal frequencies can.
    """
    priors = (Prior.english, Prior.by_rank, Prior.uniform)
    known = [
        prior for prior in (_prior_or_none(make, mechanism.embedding) for make in priors) if prior is not None
    ]
    same = [prior for prior in known if prior.fingerprint == guess.prior_fingerprint]
    measured = measure_exposure(mechanism, same[0] if same else Prior.uniform(mechanism.embedding))
    lowest = measured.rate.success.low if same else 0.0
    if (
        min(guess.success.share, guess.success.high) < lowest
        or guess.exposed < len(measured.exposed) - _EXPOSED_SLACK
        or guess.watched < measured.watched
        or guess.sees != measured.sees
        or (bool(same) and abs(guess.alone - measured.rate.alone) > _TOLERANCE)
        or (not same and any(prior.name == guess.prior for prior in known))  # whose counts would be those
    ):
        raise FormatError(
            f"{path}: says that less is guessed than is measured here. Hint: do not rely on it."
        )
    return bool(same)


def _prior_or_none(make: Callable[[Embedding], Prior], embedding: Embedding) -> Prior | None:
    try:
        return make(embedding)
    except WordveilError:  # the counts of English are not installed
        return None


def explain_manifest(
    released: Released, here: str, registered: bool, recomputed: Recomputed = Recomputed()
) -> str:
    """Return what a manifest promises; `here` says which vectors available here are those it names.

    `here` is empty if there are none, and `registered` says whether its mechanism is known here.
    """
    near = (
        f"{about_coverage(released.covered_share)}seeing the output can change anyone's odds between a "
        f"typical word and its nearest neighbour {odds_limit(released.nearest)}. Between any two words the "
        f"exponent is at most {at_most(released.worst)}, the ε of local differential privacy for one word."
    )
    rows = {
        "Setting": setting_in_words(released.setting),
        "Protected": _protected(released),
        **_about_guess(released.guess),
        "Proven": near,
        "Whole texts": _about_texts(released),
        "Not protected": "; ".join([*released.not_covered, *_unsaid(released)])
        + ". Each further release of the same text weakens the promise.",
    }
    if released.void:
        rows = {"VOID": f"{released.void}. What follows would hold if the noise were secret."} | rows
    parts = [
        f"What the manifest of {released.output or 'a pipe'} says (made on {released.date} with wordveil "
        f"{released.made_with})",
        in_rows(rows),
        wrapped(_vectors_sentence(released, here, registered, recomputed)),
    ]
    if released.earlier:
        times = "once" if released.earlier == 1 else f"{released.earlier:,} times"
        parts.append(wrapped(f"The same content was released {times} before. {released.together}"))
    parts.append(
        wrapped(
            "All of this is what the manifest claims. Nothing here proves that the output was made that way; "
            f"to check that it belongs to the output, compare its SHA-256, {released.sha256}."
        )
    )
    return "\n\n".join(parts)


def _protected(released: Released) -> str:
    names = ", ".join(released.perturbed) or "the text"
    kept = (
        f" These columns are as they were, unprotected: {', '.join(released.kept)}." if released.kept else ""
    )
    if released.unsafe:
        choices = ", ".join(released.unsafe)
        return f"of {names}, only what the unsafe choices ({choices}) do not reveal, see below.{kept}"
    return f"which word was at each place of {names}.{kept}"


def _about_guess(guess: ReleasedGuess | None) -> dict[str, str]:
    if guess is None:
        return {}
    cases = f"in {percent(guess.success.share)} of cases ({percent_range(guess.success)})"
    if not guess.closed_form:
        cases = f"in {percent_range(guess.success)} of cases (bounds by draws)"
    public = "" if guess.prior_declared_public else " Nobody declared that prior public."
    counted = {0: "none is", 1: "1 is"}.get(guess.exposed, f"{guess.exposed} are")
    words = (
        f" Of {guess.watched} words on sensitive topics, {counted} recognised in more than four draws out of "
        "five."
    )
    return {
        "Best guess": f"someone who {knows(guess.prior)}, and {guess.sees}, names the word {cases}; "
        f"{percent(guess.alone)} by guessing alone. Context can raise this.{words}{public}"
    }


def _about_texts(released: Released) -> str:
    if released.worst_text is None:
        return (
            "the exponents of their words add up, for a text of n words to at most n × "
            f"{at_most(released.worst)}. Texts of different numbers of words are not covered."
        )
    return (
        f"each is padded or cut to {released.pad_to} words, so any two texts are covered, by an exponent of "
        f"at most {at_most(released.worst_text, 0)} in all."
    )


def _unsaid(released: Released) -> list[str]:
    """Return what the output shows although the manifest, of version 1, does not say so."""
    if released.version > 1 or released.pad_to is None:
        return []
    missing = "which texts are missing (wordveil 0.1.0 did not pad them in every format)"
    first = "which words came first in a text that was cut"
    return [missing, first] if released.bag else [missing]


def _vectors_sentence(released: Released, here: str, registered: bool, recomputed: Recomputed) -> str:
    mark = f"fingerprint {released.vectors[:16]}, {released.words:,} words"
    if here:
        first = f"The vectors ({mark}) are those called {here} here."
        first += _agreement(released, recomputed)
    else:
        first = (
            f"The vectors ({mark}) are none of those that are available here, so the numbers above were "
            "not computed again. Hint: --embedding PATH."
        )
    public = {
        True: "They were declared public.",
        False: "Nobody declared them public: if they were made from private text, the promise does not hold.",
        None: "The manifest does not say whether they were declared public.",
    }[released.declared_public]
    name = released.setting["mechanism"]
    unknown = "" if registered else f" The mechanism {name} is not installed here."
    return f"{first} {public}{unknown}"


def _agreement(released: Released, recomputed: Recomputed) -> str:
    if not recomputed.promise:
        return ""
    if released.guess is None or recomputed.best_guess:
        return " The numbers above were computed again, and agree."
    return (
        " What is proven was computed again, and agrees. How often a guess is right was not: the counts of "
        "words that it rests on are not here."
    )
