"""What mechanisms on the positions of words share: checked ε and λ, the metric, and pickles that keep it."""

from dataclasses import dataclass, field, fields
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.errors import check_real
from wordveil.mechanisms.base import JSON, Mechanism
from wordveil.mechanisms.options import fraction_option
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.white import White, white_of
from wordveil.metric import Metric
from wordveil.noise import check_epsilon

__all__ = ["LAM", "PlacedMechanism"]

LAM: Final = fraction_option("lam", "λ of the distance: 0 is Euclidean, 1 is Mahalanobis", default=0.0)


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

    def _values_of_options(self) -> dict[str, JSON]:
        """Return ε and the options, which are all parameters unless something is fitted with them."""
        return {"epsilon": self.epsilon} | {
            option.name: getattr(self, option.name) for option in self.options
        }

    def __getstate__(self) -> dict[str, Any]:
        # The metric, and what a subclass has fitted to the vectors, are included as numbers: on another
        # machine the eigenbasis and k-means may round differently.
        rows = None if self.embedding.pickles_by_name else places_of(self.embedding)
        names = {option.name for option in self.options} | {field.name for field in fields(self)}
        return {name: getattr(self, name) for name in sorted(names)} | {"rows": rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = state.pop("rows")
        vars(self).update(state)
        if rows is not None:
            places_of(self.embedding, rows)

    @property
    def _white(self) -> White:
        return white_of(self.embedding, self.metric)
