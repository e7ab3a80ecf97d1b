"""Reads a manifest that somebody else may have released: nothing in it is trusted."""

import json
import math
import re
from datetime import date
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from wordveil.errors import FormatError, sealed
from wordveil.guarantee import COLUMNS, EMPTY, LENGTH, ORDER, ROW_ORDER
from wordveil.intervals import Share

__all__ = ["Released", "ReleasedGuess", "read_manifest"]

_MOST_BYTES: Final = 16 << 20  # an exempt list can be long; anything larger is another file
_VERSIONS: Final = (1, 2, 3)
_LARGEST: Final = 1e300  # far beyond any real exponent, and a sum of two of them is still finite
_SHOWN: Final = 400  # characters of one text; those that wordveil writes are shorter
_SHOWN_ITEMS: Final = 20  # of a list; chosen by judgement
_SECURE: Final = "cryptographic"
_NAME: Final = re.compile("[a-z0-9_-]{1,100}")
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_CODE_VERSION: Final = re.compile("[0-9][0-9a-z.+-]{0,40}")
_SAFE: Final[tuple[object, ...]] = (False, None, [])


class ReleasedGuess(NamedTuple):
    """What a manifest says about the best guess of an attacker."""

    sees: str
    success: Share
    alone: float
    closed_form: bool
    draws: int
    prior: str
    prior_fingerprint: str
    prior_declared_public: bool
    watched: int
    exposed: int


class Released(NamedTuple):
    """What a manifest says, checked: every text is printable and short, and every number is in range."""

    version: int
    date: str
    made_with: str
    setting: dict[str, Any]
    vectors: str
    declared_public: bool | None
    """Whether somebody declared the vectors public; None if the manifest does not say."""

    words: int
    covered_share: float
    """The share of all pairs of words that anything is promised about."""

    nearest: float
    worst: float
    worst_text: float | None
    guess: ReleasedGuess | None
    """The attacker's number; None before version 3."""

    not_covered: list[str]
    pad_to: int | None
    bag: bool
    unsafe: list[str]
    void: str
    """Why nothing is promised; empty if something is."""

    perturbed: list[str]
    kept: list[str]
    earlier: int | None
    together: str
    output: str
    sha256: str

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        guess = self.guess
        facts = None if guess is None else guess._asdict() | {"success": guess.success._asdict()}
        return self._asdict() | {"guess": facts}


@sealed
def read_manifest(path: Path) -> Released:
    """Return what a manifest says; raise FormatError for anything that wordveil would not have written."""
    with path.open("rb") as file:
        data = file.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise FormatError(f"{path}: is over {_MOST_BYTES >> 20} MiB. Hint: is it a manifest?")
    try:
        facts = json.loads(data.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise FormatError(f"{path}: is not valid JSON. Hint: is it a manifest?") from None
    if not isinstance(facts, dict) or facts.get("made_by") != "wordveil":
        raise FormatError(f"{path}: is not a manifest of wordveil. Hint: OUT.manifest.json is one.")
    if type(facts.get("manifest_version")) is not int or facts["manifest_version"] not in _VERSIONS:
        raise FormatError(f"{path}: is of a version that is not known here. Hint: update wordveil.")
    try:
        return _checked(facts)
    except _MalformedError as error:
        raise FormatError(f"{path}: its {error} is missing or malformed.") from None


class _MalformedError(Exception):
    """The place in a manifest that is not as it must be."""


def _refuse(_: str) -> NoReturn:
    raise ValueError


def _checked(facts: dict[str, Any]) -> Released:
    version = facts["manifest_version"]
    promise, policy = _get(facts, "guarantee", dict), _get(facts, "policy", dict)
    noise = _get(facts, "noise", str)
    earlier = _get(facts, "earlier_releases", dict) if "earlier_releases" in facts else {}
    nearest = _neighbour(promise)
    bracket = _get(promise, "worst_case_exponent", dict)
    lower, worst = _number(bracket, "lower"), _number(bracket, "upper")
    if not lower <= worst or nearest > worst:
        raise _MalformedError("worst_case_exponent")
    void = _shown(_get(promise, "void", str)) if "void" in promise else ""
    if not noise.startswith(_SECURE):
        void = void or "the manifest does not say that its noise was secret: nothing is promised"
    columns, output = _get(facts, "columns", dict), _get(facts, "output", dict)
    parameters, vectors = (
        _get(facts, "parameters", dict),
        _digest(_get(facts, "fingerprints", dict), "vectors"),
    )
    for name, value in (parameters | {"fingerprint": vectors}).items():
        if promise.get(name, value) != value:  # the promise is about another setting
            raise _MalformedError("guarantee")
    return Released(
        version=version,
        date=_date(facts),
        made_with=_version(facts),
        setting=_setting(parameters),
        vectors=vectors,
        declared_public=_get(facts, "vectors_declared_public", bool) if version > 1 else None,
        words=_count(promise, "words"),
        covered_share=_covered_share(promise),
        nearest=nearest,
        worst=worst,
        worst_text=_for_texts(promise, policy, worst),
        guess=_guess(_get(facts, "attacker", dict)) if version > 2 else None,
        not_covered=_not_covered(promise, policy),
        pad_to=None if policy.get("pad_to") is None else _count(policy, "pad_to"),
        bag=_get(policy, "bag", bool),
        unsafe=_unsafe(policy),
        void=void,
        perturbed=_texts(columns, "perturbed"),
        kept=_texts(columns, "kept_as_they_were"),
        earlier=_count(earlier, "known", least=0) if earlier else None,
        together=_shown(_get(earlier, "together", str)) if "together" in earlier else "",
        output=_shown(_get(output, "name", str)),
        sha256=_digest(output, "sha256"),
    )


def _guess(attacker: dict[str, Any]) -> ReleasedGuess:
    rate, prior = _get(attacker, "best_guess", dict), _get(attacker, "prior", dict)
    words = _get(attacker, "sensitive_words", dict)
    success = Share(*(_number(rate, name) for name in ("share", "low", "high")))
    alone = _number(rate, "guess_without_output")
    if not success.low <= success.share <= success.high <= 1.0 or alone > 1.0:
        raise _MalformedError("best_guess")
    watched, exposed = _count(words, "watched", least=0), _count(words, "exposed", least=0)
    if exposed > watched:
        raise _MalformedError("sensitive_words")
    return ReleasedGuess(
        sees=_shown(_get(attacker, "sees", str)),
        success=success,
        alone=alone,
        closed_form=_get(rate, "closed_form", bool),
        draws=_count(rate, "draws"),
        prior=_shown(_get(prior, "name", str)),
        prior_fingerprint=_digest(prior, "fingerprint"),
        prior_declared_public=_get(prior, "declared_public", bool),
        watched=watched,
        exposed=exposed,
    )


def _date(facts: dict[str, Any]) -> str:
    try:
        return date.fromisoformat(_get(facts, "date", str)).isoformat()
    except ValueError:
        raise _MalformedError("date") from None


def _version(facts: dict[str, Any]) -> str:
    value = str(_get(facts, "code_version", str))
    if not _CODE_VERSION.fullmatch(value):
        raise _MalformedError("code_version")
    return value


def _unsafe(policy: dict[str, Any]) -> list[str]:
    """Return the unsafe choices; they must be those that the single choices say."""
    chosen = [name for name, value in policy.items() if name.startswith("unsafe_") and value not in _SAFE]
    if chosen == ["unsafe_drop"] and policy.get("pad_to") is not None:
        chosen = []
    if sorted(_texts(policy, "unsafe")) != sorted(chosen):
        raise _MalformedError("policy")
    return chosen


def _not_covered(promise: dict[str, Any], policy: dict[str, Any]) -> list[str]:
    """Return what is not covered; what the policy implies must be among it."""
    facts = _texts(promise, "not_covered")
    implied = {COLUMNS, ROW_ORDER if policy.get("bag") else ORDER}
    if policy.get("pad_to") is None or _unsafe(policy):
        implied |= {LENGTH, EMPTY}
    if not implied <= set(facts):
        raise _MalformedError("not_covered")
    return facts


def _covered_share(promise: dict[str, Any]) -> float:
    """Return the share of pairs that are covered; a manifest that does not say so covers all."""
    share = _number(promise, "covered_share_of_pairs") if "covered_share_of_pairs" in promise else 1.0
    if share > 1.0:
        raise _MalformedError("covered_share_of_pairs")
    return share


def _neighbour(promise: dict[str, Any]) -> float:
    exponents = _get(_get(promise, "exponent_to_neighbour", dict), "1", dict)
    low, median, high = (_number(exponents, name) for name in ("p5", "median", "p95"))
    if not low <= median <= high:
        raise _MalformedError("exponent_to_neighbour")
    return median


def _for_texts(promise: dict[str, Any], policy: dict[str, Any], worst: float) -> float | None:
    """Return the exponent for any two texts; None if texts of different lengths are not covered."""
    if not _get(promise, "covers_texts_of_different_lengths", bool):
        return None
    total = _number(promise, "local_dp_epsilon_per_text")
    if _unsafe(policy):  # what passes verbatim differs between texts, and no number bounds that
        raise _MalformedError("covers_texts_of_different_lengths")
    if not math.isclose(total, worst * _count(policy, "pad_to"), rel_tol=1e-9):
        raise _MalformedError("local_dp_epsilon_per_text")
    return total


def _get(facts: dict[str, Any], name: str, kind: type) -> Any:
    if type(facts.get(name)) is not kind:
        raise _MalformedError(name)
    return facts[name]


def _number(facts: dict[str, Any], name: str) -> float:
    value = facts.get(name)
    if type(value) not in (int, float) or not 0 <= value <= _LARGEST:  # type: ignore[operator]  # a number here
        raise _MalformedError(name)
    return float(value)  # type: ignore[arg-type]  # checked above


def _count(facts: dict[str, Any], name: str, least: int = 1) -> int:
    value = _get(facts, name, int)
    if not least <= value <= 1 << 53:
        raise _MalformedError(name)
    return int(value)


def _digest(facts: dict[str, Any], name: str) -> str:
    value = str(_get(facts, name, str))
    if not _DIGEST.fullmatch(value):
        raise _MalformedError(name)
    return value


def _texts(facts: dict[str, Any], name: str) -> list[str]:
    texts = _get(facts, name, list)
    if not all(isinstance(text, str) for text in texts):
        raise _MalformedError(name)
    return [_shown(text) for text in texts[:_SHOWN_ITEMS]] + ["…"] * (len(texts) > _SHOWN_ITEMS)


def _shown(text: str) -> str:
    """Return a text that can't move the cursor, change colours or fill the screen."""
    printable = "".join(letter if letter.isprintable() else "?" for letter in text[: _SHOWN + 1])
    return printable if len(printable) <= _SHOWN else f"{printable[:_SHOWN]}…"


def _setting(parameters: dict[str, Any]) -> dict[str, Any]:
    name = _get(parameters, "mechanism", str)
    if not _NAME.fullmatch(name):
        raise _MalformedError("mechanism")
    # Version 1 repeated what the vectors call themselves, which anyone can change.
    others = [(key, value) for key, value in parameters.items() if key not in ("mechanism", "embedding")]
    return {"mechanism": name} | {_shown(key): _plain(value) for key, value in others[:_SHOWN_ITEMS]}


def _plain(value: Any) -> bool | float | str:
    if isinstance(value, float) and not math.isfinite(value):
        raise _MalformedError("parameters")
    if isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if abs(value) <= 1 << 53 else "…"
    return _shown(value if isinstance(value, str) else json.dumps(value))
