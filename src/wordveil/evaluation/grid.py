"""The settings of a sweep."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from wordveil.errors import check_real, check_whole, parameter_error
from wordveil.noise import check_epsilon

__all__ = ["Grid", "check_settings"]

_MAX_DRAWS: Final = 60_000  # counts of draws are stored as uint16, which ends at 65,535


def check_settings(epsilons: tuple[float, ...], lams: tuple[float, ...], owner: str) -> None:
    """Raise a ParameterError unless the ε and the λ are in range, different and in ascending order."""
    for epsilon in epsilons:
        check_epsilon(epsilon, owner, "epsilons")
    for lam in lams:
        check_real(lam, "lams", owner, "be in [0, 1]", 0.0, 1.0)
    for name, values in (("epsilons", epsilons), ("lams", lams)):
        if not values:
            raise parameter_error(name, owner, "be one or several numbers", values)
        for before, after in pairwise(values):
            if before >= after:
                must = "be different numbers in ascending order, each above the one before it"
                raise parameter_error(name, owner, must, after)


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings of a sweep: every ε with every λ, and that many draws of each word.

    An answer counts for S_w only if it has at least the share `eta` of the draws.

    Examples
    --------
    >>> Grid((1.0, 10.0), (0.0, 1.0)).draws
    100
    """

    epsilons: tuple[float, ...] = (1.0, 5.0, 10.0, 20.0, 40.0)
    lams: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    draws: int = 100
    eta: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        check_settings(self.epsilons, self.lams, "Grid")
        check_whole(self.draws, "draws", "Grid", 1, _MAX_DRAWS)
        check_real(self.eta, "eta", "Grid", "be in [0, 1]", 0.0, 1.0)
        check_whole(self.seed, "seed", "Grid", 0)
