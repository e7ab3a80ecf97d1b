"""The setting that a command line asks for: a profile or a mechanism with its ε; and the attacker's prior."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, NamedTuple

import typer

from wordveil.block_list import BlockList
from wordveil.cli.config import is_from_file, is_written
from wordveil.cli.options import (
    Answer,
    Dims,
    EmbeddingName,
    Lam,
    MechanismOption,
    MechanismOptions,
    mechanism_of,
)
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.errors import FormatError, ParameterError, sealed
from wordveil.mechanisms import Mechanism
from wordveil.nearest.devices import DeviceName
from wordveil.prior import Prior, default_prior, read_counts
from wordveil.profiles import PROFILES, Profile, load_profile
from wordveil.tokens import Tokenizer, split
from wordveil.watched_words import YOUR_LIST

__all__ = [
    "HOW_TO_CHOOSE",
    "AttackerOptions",
    "ChosenProfile",
    "ChosenSetting",
    "OptionalEpsilon",
    "ProfileForFigure",
    "SettingOptions",
    "WatchFile",
    "chosen_prior",
    "chosen_profile",
    "chosen_setting",
    "profile_option",
    "watched_topics",
]

_about_attacker: Final = partial(typer.Option, rich_help_panel="The attacker")
_SET_BY_PROFILE: Final = ("epsilon", "lam", "dims", "answer", "mechanism", "option", "embedding")
_MOST_WATCHED: Final = 2000  # each is drawn tens of times: on two cores this takes about a minute
HOW_TO_CHOOSE: Final = (
    "A setting is missing. Hint: --profile balanced is a start ('gentle' protects less, 'strong' more), or "
    "choose --epsilon yourself: 'wordveil explain' says what one is worth, 'wordveil calibrate' finds one."
)


def profile_option(replaced: str) -> Any:
    """Return the option --profile of a command, whose help names the options that a profile replaces."""
    return typer.Option(
        "--profile", metavar="|".join(PROFILES), help=f"A ready-made setting, in place of {replaced}."
    )


ChosenProfile = Annotated[
    str | None,
    profile_option("--epsilon, --answer, --dims, --lam, --mechanism, --option and --embedding"),
]
ProfileForFigure = Annotated[str | None, profile_option("--epsilon and --embedding")]
OptionalEpsilon = Annotated[
    float | None,
    typer.Option("--epsilon", help="ε, per unit of distance: smaller is more private. No default."),
]
Frequencies = Annotated[
    Path | None,
    _about_attacker(
        "--frequencies",
        metavar="FILE",
        help="How often words are used, which the attacker knows: 'word count' per line "
        "(default: in English).",
    ),
]
FrequenciesArePublic = Annotated[
    bool,
    _about_attacker(
        "--frequencies-are-public",
        help="Declare that --frequencies was not made from the private text.",
    ),
]
WatchFile = Annotated[
    Path | None,
    _about_attacker(
        "--watch", metavar="FILE", help="Also say how exposed these public words are, one word per line."
    ),
]


@dataclass(frozen=True)
class SettingOptions:
    """A profile, or a mechanism with its ε and other options."""

    profile: ChosenProfile = None
    epsilon: OptionalEpsilon = None
    lam: Lam = None
    dims: Dims = None
    answer: Answer = None
    mechanism: MechanismOption = "mahalanobis"
    option: MechanismOptions = None
    embedding: EmbeddingName = DEFAULT_NAME


@dataclass(frozen=True)
class AttackerOptions:
    """What the attacker knows."""

    frequencies: Frequencies = None
    frequencies_are_public: FrequenciesArePublic = False


class ChosenSetting(NamedTuple):
    """A mechanism, and the vectors that it may use a projection of."""

    mechanism: Mechanism
    vectors: Embedding


def chosen_profile(context: typer.Context, profile: str | None, others: Sequence[str]) -> Profile | None:
    """Return the profile, unless the command line overrides the settings file; refuse both in one place.

    `others` are the options that the profile sets in this command.
    """
    if profile is None:
        return None
    ready = load_profile(profile)
    if is_from_file(context, "profile"):
        if any(is_from_file(context, name) for name in others):
            listed = _listed(context, others)
            raise ParameterError(
                f"The settings file has a profile, which sets {listed}. Hint: keep one of them."
            )
        return None if any(is_written(context, name) for name in others) else ready
    if any(is_written(context, name) for name in others):
        listed = _listed(context, others)
        raise ParameterError(f"--profile sets {listed}. Hint: leave out the profile, or the others.")
    return ready


def _listed(context: typer.Context, names: Sequence[str]) -> str:
    """Return the options as the command calls them."""
    written = {parameter.name: parameter.opts[0] for parameter in context.command.params}
    options = [written[name] for name in names]
    return f"{', '.join(options[:-1])} and {options[-1]}" if len(options) > 1 else options[0]


def chosen_setting(
    context: typer.Context,
    options: SettingOptions,
    *,
    device: DeviceName = "cpu",
    blocked: BlockList | None = None,
) -> ChosenSetting:
    """Return the setting of a profile, or of the single options; words of a list are never answered."""
    ready = chosen_profile(context, options.profile, _SET_BY_PROFILE)
    if ready is not None:
        return ChosenSetting(ready.load(device=device, blocked=blocked), load_embedding(ready.embedding))
    if options.epsilon is None:
        raise ParameterError(HOW_TO_CHOOSE)
    vectors = load_embedding(options.embedding)
    chosen = mechanism_of(
        context,
        options.mechanism,
        vectors,
        options.epsilon,
        lam=options.lam,
        dims=options.dims,
        options=options.option or (),
        answer=options.answer,
        device=device,
    )
    return ChosenSetting(chosen if blocked is None else chosen.blocking(blocked), vectors)


def chosen_prior(embedding: Embedding, attacker: AttackerOptions) -> Prior:
    """Return what the attacker knows about the use of words."""
    if attacker.frequencies is None:
        if attacker.frequencies_are_public:
            raise ParameterError("--frequencies-are-public is about --frequencies. Hint: --frequencies FILE.")
        return default_prior(embedding)
    counts = read_counts(attacker.frequencies)
    return Prior.from_counts(embedding, counts, public=attacker.frequencies_are_public)


@sealed
def watched_topics(path: Path | None, embedding: Embedding) -> dict[str, str]:
    """Return the words of a user's list, one per line, with the topic "your list".

    What has no vector of its own is split as in a text: for "hiv-positive", both parts are watched.
    """
    words: dict[str, str] = {}
    if path is None:
        return words
    tokenizer = Tokenizer(embedding.index)
    for line in read_word_list(path):
        known = [embedding.words[number] for number in tokenizer.ids(line) if number >= 0]
        words |= dict.fromkeys(known or split(line)[:1], YOUR_LIST)
    if len(words) > _MOST_WATCHED:
        raise FormatError(f"{path}: has over {_MOST_WATCHED:,} words, too many to watch. Hint: fewer.")
    return words
