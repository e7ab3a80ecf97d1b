"""The settings of a sweep."""

from dataclasses import dataclass

from wordveil.errors import ParameterError, check_real, check_whole
from wordveil.noise import check_epsilon

__all__ = ["Grid"]


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings of a sweep: every ε with every λ, so many draws of each word.

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
        for name in ("epsilons", "lams"):
            values = getattr(self, name)
            if not values or list(values) != sorted(set(values)):
                raise ParameterError(f"The {name} of a sweep must be different numbers in ascending order.")
        for epsilon in self.epsilons:
            check_epsilon(epsilon, "Grid", "epsilons")
        for lam in self.lams:
            check_real(lam, "lams", "Grid", "be in [0, 1]", 0.0, 1.0)
        check_whole(self.draws, "draws", "Grid", 1, 60_000)
        check_real(self.eta, "eta", "Grid", "be in [0, 1]", 0.0, 1.0)
        check_whole(self.seed, "seed", "Grid", 0)
