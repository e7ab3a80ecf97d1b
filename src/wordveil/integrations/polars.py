"""Polars: an expression that makes texts private, also in lazy and streaming queries (extra `polars`)."""

from typing import Any, Final

from wordveil.errors import parameter_error, sealed
from wordveil.integrations.library import checked_perturber, library, perturbed_column
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.tables.columns import not_text

__all__ = ["perturb"]

pl: Final = library("polars", "polars", "wv.polars")


@sealed
def perturb(expression: Any, perturber: Perturber) -> Any:
    """Return an expression for private versions of the texts of another one.

    The same as `expression.wordveil.perturb(perturber)`, which exists once `wv.polars` was used. A query that
    is collected twice draws new noise twice, which adds to what is revealed: collect it once.

    Parameters
    ----------
    expression : polars.Expr or str
        Texts, or the name of a column of texts. Nulls stay null, unless the policy pads.
    perturber : Perturber
        Makes the texts private.

    Examples
    --------
    >>> import polars as pl
    >>> import wordveil as wv
    >>> frame = pl.LazyFrame({"message": ["book a flight", None], "label": [1, 2], "id": [7, 8]})
    >>> perturber = wv.Perturber.from_profile("balanced")
    >>> private = frame.select(wv.polars.perturb("message", perturber), "label").collect()
    >>> private.columns, len(private["message"][0].split()), private["message"][1]
    (['message', 'label'], 3, None)
    """
    checked_perturber(perturber, "wv.polars.perturb")
    texts = pl.col(expression) if isinstance(expression, str) else expression
    if not isinstance(texts, pl.Expr):
        must = "be a polars.Expr or the name of a column"
        raise parameter_error("expression", "wv.polars.perturb", must, expression)
    warn_if_weak(perturber, None)
    return texts.map_batches(_PerturbSeries(perturber), return_dtype=pl.String, is_elementwise=True)


class _PerturbSeries:
    """What a thread does with a batch of rows. Its pickle, as in a serialized query, has no key."""

    def __init__(self, perturber: Perturber) -> None:
        self._perturber = perturber

    @sealed
    def __call__(self, texts: Any) -> Any:
        if texts.dtype not in (pl.String, pl.Categorical, pl.Enum, pl.Null):
            raise not_text(texts.name, "The frame", type(texts.dtype).__name__)
        private = perturbed_column(self._perturber, texts.to_list())
        return pl.Series(texts.name, private, dtype=pl.String)


@pl.api.register_expr_namespace("wordveil")
class _Namespace:
    """What `pl.Expr.wordveil` is."""

    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def perturb(self, perturber: Perturber) -> Any:
        """Return an expression for private versions of the texts of this one."""
        return perturb(self._expression, perturber)
