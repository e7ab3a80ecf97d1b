"""The settings that an experiment compares: mechanisms, each with a name of its own if it has one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, check_whole, parameter_error
from wordveil.evaluation.blocked_settings import with_block_list
from wordveil.evaluation.grid import check_settings
from wordveil.mechanisms import Laplace, Mahalanobis, Mechanism, make_mechanism, mechanism_class
from wordveil.nearest.devices import DeviceName

__all__ = ["EPSILONS", "LAMS", "Family", "Setting", "as_settings", "families_of", "make_grid", "vectors_of"]

EPSILONS: Final = (1.0, 5.0, 10.0, 20.0, 40.0)
"""The paper's ε."""
LAMS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The paper's λ."""

_COLUMNS: Final = ("mechanism", "dims", "lam", "epsilon", "answer")


@dataclass(frozen=True, eq=False)
class Setting:
    """A mechanism, and the name that the user gave to it."""

    mechanism: Mechanism
    name: str = ""

    @property
    def epsilon(self) -> float | None:
        """The ε of the mechanism, if it has one."""
        value = self.mechanism.parameters().get("epsilon", getattr(self.mechanism, "epsilon", None))
        return float(value) if isinstance(value, int | float) else None

    def facts(self) -> dict[str, Any]:
        """Return the columns that identify the setting in a row of a result."""
        facts: dict[str, Any] = self.mechanism.setting()
        facts["epsilon"] = self.epsilon
        others = ", ".join(f"{name}={facts[name]}" for name in facts if name not in _COLUMNS)
        return {
            "setting": self.name or None,
            "vectors": self.mechanism.embedding.provenance.name,
            **{name: facts.get(name) for name in _COLUMNS},
            "options": others,
        }


def as_settings(
    mechanisms: "Mechanism | Setting | Iterable[Mechanism | Setting]", owner: str
) -> list[Setting]:
    """Return settings from one or several mechanisms."""
    if isinstance(mechanisms, Mechanism | Setting):
        mechanisms = [mechanisms]
    items = list(mechanisms) if isinstance(mechanisms, Iterable) else []
    settings = [item if isinstance(item, Setting) else Setting(item) for item in items]
    wrong = [setting.mechanism for setting in settings if not isinstance(setting.mechanism, Mechanism)]
    if not settings or wrong:
        raise parameter_error(
            "mechanisms", owner, "be one or several mechanisms", wrong[0] if wrong else mechanisms
        )
    return settings


def make_grid(
    embedding: Embedding,
    epsilons: Iterable[float] | float = EPSILONS,
    lams: Iterable[float] | float = LAMS,
    *,
    dims: Iterable[int] | int = (),
    mechanisms: Iterable[str] | str = ("mahalanobis",),
    device: DeviceName = "cpu",
    blocked: BlockList | None = None,
    **options: Any,
) -> list[Setting]:
    """Return every mechanism with every number of dimensions, every λ (if it has one) and every ε.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors.
    epsilons, lams : lists of float, or float
        In ascending order.
    dims : list of int, or int
        Numbers of principal axes (default: all of the vectors).
    mechanisms : list of str, or str
        Names of mechanisms.
    device : str
        Where those that can use a GPU search for words.
    blocked : BlockList, optional
        Words that are never answered.
    **options
        Other options, for the mechanisms that have them.

    Examples
    --------
    >>> import wordveil as wv
    >>> grid = wv.evaluation.make_grid(wv.load_embedding(), [5.0, 10.0], [0.0, 1.0], dims=[20])
    >>> len(grid), grid[0].facts()["dims"], grid[-1].mechanism.parameters()["lam"]
    (4, 20, 1.0)
    """
    if not isinstance(embedding, Embedding):
        raise parameter_error("embedding", "make_grid", "be vectors, as load_embedding() returns", embedding)
    chosen_epsilons, chosen_lams = _listed(epsilons), _listed(lams)
    check_settings(chosen_epsilons, chosen_lams, "make_grid")
    axes = [check_whole(k, "dims", "make_grid", 1, embedding.dim) for k in _listed(dims)]
    spaces = [embedding if k == embedding.dim else embedding.project(k) for k in axes] or [embedding]
    names = _listed(mechanisms)
    if not names or not all(isinstance(name, str) for name in names):
        raise parameter_error("mechanisms", "make_grid", "be one or several names of mechanisms", mechanisms)
    settings = []
    for space, name in product(spaces, names):
        known = {option.name for option in mechanism_class(name).options}
        chosen = {option: value for option, value in options.items() if option in known}
        variants = [chosen | {"lam": lam} for lam in chosen_lams] if "lam" in known else [chosen]
        settings += [
            Setting(make_mechanism(name, space, epsilon, device=device, **variant))
            for variant in variants
            for epsilon in chosen_epsilons
        ]
    unused = set(options).difference(
        option.name for name in names for option in mechanism_class(name).options
    )
    if unused:
        raise ParameterError(f"None of the mechanisms has an option '{min(unused)}'.")
    return with_block_list(settings, blocked)


def _listed(values: Any) -> tuple[Any, ...]:
    """Return several values, or a single one, as a tuple."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        return (values,)
    return tuple(values)


def vectors_of(settings: Iterable[Setting]) -> dict[str, str]:
    """Return the names and the fingerprints of all vectors that settings use, in the same order."""
    spaces = {setting.mechanism.embedding.fingerprint: setting.mechanism.embedding for setting in settings}
    named = sorted((space.provenance.name, fingerprint) for fingerprint, space in spaces.items())
    return {
        "vectors": ", ".join(dict.fromkeys(name for name, _ in named)),
        "fingerprint": ", ".join(fingerprint for _, fingerprint in named),
    }


@dataclass(frozen=True, eq=False)
class Family:
    """Settings that differ in λ and ε only: every one of `lams` with every one of `epsilons`.

    `lams` is (None,) if the mechanism has no λ; `members` has a list of settings for each λ.
    """

    lams: tuple[float | None, ...]
    epsilons: tuple[float | None, ...]
    members: list[list[Setting]]

    @property
    def first(self) -> Setting:
        """The first setting, which stands for what all have in common."""
        return self.members[0][0]

    def distinction(self, others: "Sequence[Family]") -> str:
        """Return in words what sets this family apart from the others: its name, if that is enough."""
        facts, rest = _told(self), [_told(other) for other in others if other is not self]
        if facts["setting"] and all(other["setting"] != facts["setting"] for other in rest):
            return str(facts["setting"])
        parts = {
            "setting": f"{facts['setting']}",
            "vectors": f"{facts['vectors']}",
            "mechanism": f"{facts['mechanism']}",
            "dims": f"on {facts['dims']} axes",
            "answer": f"{facts['answer']} answer",
            "options": f"{facts['options']}",
        }
        differing = [
            text
            for name, text in parts.items()
            if facts[name] and any(other[name] != facts[name] for other in rest)
        ]
        return ", ".join(differing) or f"ε from {self.epsilons[0]} to {self.epsilons[-1]}"

    @property
    def is_additive(self) -> bool:
        """Whether all add the paper's noise and answer with the nearest of all words: a sweep is faster."""
        return all(
            type(setting.mechanism) in (Mahalanobis, Laplace)
            and setting.mechanism.parameters()["answer"] == "nearest"
            and setting.mechanism.blocked is None
            for row in self.members
            for setting in row
        )


def _told(family: Family) -> dict[str, Any]:
    """Return the facts about a family; the vectors without [k], which are their dimensions."""
    facts = family.first.facts()
    return facts | {"vectors": facts["vectors"].partition("[")[0]}


def families_of(settings: Sequence[Setting]) -> list[Family]:
    """Return the settings in families, in the order of their first members.

    Examples
    --------
    >>> import wordveil as wv
    >>> grid = make_grid(wv.load_embedding(), [5.0, 10.0], [0.0, 1.0], mechanisms=["mahalanobis", "laplace"])
    >>> [(family.lams, family.epsilons) for family in families_of(grid)]
    [((0.0, 1.0), (5.0, 10.0)), ((0.0,), (5.0, 10.0))]
    """
    kinds: dict[tuple[Any, ...], dict[float | None, dict[float | None, Setting]]] = {}
    for setting in settings:
        facts = setting.facts()
        lam, epsilon = facts.pop("lam"), facts.pop("epsilon")
        kind = (id(setting.mechanism.embedding), *facts.values())
        kinds.setdefault(kind, {}).setdefault(lam, {})[epsilon] = setting
    families = []
    for by_lam in kinds.values():
        # λ with the same ε can be compared with each other.
        by_epsilons: dict[tuple[float | None, ...], dict[float | None, dict[float | None, Setting]]] = {}
        for lam, row in by_lam.items():
            by_epsilons.setdefault(_ascending(row), {})[lam] = row
        for epsilons, rows in by_epsilons.items():
            lams = _ascending(rows)
            members = [[rows[lam][epsilon] for epsilon in epsilons] for lam in lams]
            families.append(Family(lams, epsilons, members))
    return families


def _ascending(values: Iterable[float | None]) -> tuple[float | None, ...]:
    return tuple(sorted(values, key=lambda value: -1.0 if value is None else value))
