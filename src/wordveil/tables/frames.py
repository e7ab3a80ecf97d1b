"""Frames in memory: pandas, polars and Arrow alike, through narwhals (extra `files`)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from wordveil.errors import FormatError, MissingExtraError, ParameterError, parameter_error
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey, Stream
from wordveil.tables.columns import checked_names, not_text, positions

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrameT

__all__ = ["perturb_frame"]

_WHERE = "The frame"


def perturb_frame(
    frame: "IntoDataFrameT",
    *,
    perturber: Perturber,
    text: str | Iterable[str],
    keep: str | Iterable[str] = (),
    stream: Stream | None = None,
) -> "IntoDataFrameT":
    """Return a frame of the same kind with the texts made private, and the kept columns as they are.

    All other columns are left out, and so is the index of a pandas frame: they are not protected. Rows keep
    their order and nulls stay null. The ledger does not know of it.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or alike
        The table.
    perturber : Perturber
        What makes text private.
    text, keep : names of columns
        Those to perturb, and those to keep as they are.
    stream : Stream, optional
        For a repeatable experiment; by default a new key from the operating system.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import wordveil as wv
    >>> veil = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> table = pa.table({"id": [1, 2], "message": ["book a flight", None], "label": ["ham", "ham"]})
    >>> private = perturb_frame(table, perturber=veil, text="message", keep=["label"])
    >>> private.column_names, private["message"].null_count, len(private["message"][0].as_py().split())
    (['message', 'label'], 1, 3)
    """
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", "perturb_frame", "be a Perturber", perturber)
    narwhals = _narwhals()
    chosen, kept = checked_names(text, keep)
    if not chosen:
        raise ParameterError("Which column is to be perturbed? Hint: text=….")
    try:
        table = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise ParameterError(
            "The 'frame' parameter of perturb_frame must be a pandas, polars or Arrow table in memory. "
            "Hint: collect() a lazy one; wv.spark.perturb takes Spark's."
        ) from None
    names = list(table.columns)
    places = positions(names, [*chosen, *kept], _WHERE)
    table = narwhals.maybe_reset_index(table.select([name for name in names if name in places]))
    key = RunKey()
    for name in chosen:
        texts = _texts(table[name], name)
        answers = iter(
            perturber.perturb((each for each in texts if each is not None), stream=stream or key.stream(name))
        )
        private = [None if each is None else next(answers) for each in texts]
        table = table.with_columns(
            narwhals.new_series(name, private, narwhals.String, backend=table.implementation)
        )
    return table.to_native()  # type: ignore[no-any-return]  # narwhals gives back what it was given


def _texts(column: Any, name: str) -> list[str | None]:
    """Return the texts of a column, None for each null."""
    narwhals = _narwhals()
    kind = column.dtype
    if kind not in (narwhals.String, narwhals.Object, narwhals.Categorical, narwhals.Unknown):
        raise not_text(name, _WHERE, str(kind))
    texts: list[str | None] = []
    for number, (value, null) in enumerate(
        zip(column.to_list(), column.is_null().to_list(), strict=True), start=1
    ):
        if not null and not isinstance(value, str):
            raise FormatError(f"{_WHERE}, row {number}: '{name}' is not text.")
        texts.append(None if null else value)
    return texts


def _narwhals() -> Any:
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("narwhals", "files", "A frame") from None
    return narwhals
