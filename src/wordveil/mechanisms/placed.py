"""What mechanisms on the positions of words share: checked ε and λ, the metric, and pickles that keep it."""

from dataclasses import dataclass, field
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.errors import check_real
from wordveil.mechanisms.base import Mechanism
from wordveil.mechanisms.options import Option
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.white import White, white_of
from wordveil.metric import Metric
from wordveil.noise import check_epsilon

__all__ = ["LAM", "PlacedMechanism"]

LAM: Final = Option(
    "lam",
    float,
    "λ of the distance: 0 is Euclidean, 1 is Mahalanobis",
    default=0.0,
    low=0.0,
    high=1.0,
)


@dataclass(frozen=True, eq=False, repr=False)
class PlacedMechanism(Mechanism):
    """A mechanism with an ε and one of our metrics; a subclass adds its options."""

    embedding: Embedding
    epsilon: float
    lam: float = 0.0
    metric: Metric = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = type(self).__name__
        epsilon = check_epsilon(self.epsilon, owner)
        lam = check_real(self.lam, "lam", owner, "be in [0, 1]", 0.0, 1.0)
        metric = Metric.from_embedding(self.embedding, lam)
        for name, value in {"epsilon": epsilon, "lam": lam, "metric": metric}.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # As numbers, because on another machine the eigenbasis may differ.
        rows = None if self.embedding.pickles_by_name else places_of(self.embedding)
        names = {option.name for option in self.options} | {"embedding", "epsilon", "lam", "metric"}
        return {name: getattr(self, name) for name in sorted(names)} | {"rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = state.pop("rows")
        vars(self).update(state)
        if rows is not None:
            places_of(self.embedding, rows)

    @property
    def _white(self) -> White:
        return white_of(self.embedding, self.metric)
