"""Frames in memory, of pandas, polars or Arrow, through narwhals (extra `files`)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from wordveil.engines.base import perturbed_texts
from wordveil.errors import FormatError, MissingExtraError, ParameterError, sealed
from wordveil.perturber import Perturber, check_prior, checked_run_key, warn_if_weak
from wordveil.prior import Prior
from wordveil.randomness import RunKey
from wordveil.tables.arrow import bare_schema, first_not_utf8
from wordveil.tables.columns import checked_names, not_text, positions

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrameT

__all__ = ["perturb_frame"]

_WHERE: Final = "The frame"
_BATCH: Final = 0  # a frame is a single batch of a single partition


@sealed
def perturb_frame(
    frame: "IntoDataFrameT",
    *,
    perturber: Perturber,
    text: str | Iterable[str],
    keep: str | Iterable[str] = (),
    key: RunKey | None = None,
    prior: Prior | None = None,
) -> "IntoDataFrameT":
    """Return a frame of the same kind with the texts made private, and the kept columns as they are.

    All other columns are left out, and so are the index and `attrs` of a pandas frame and the metadata of an
    Arrow table: they are not protected. Rows keep their order. Nulls stay null, unless the policy pads. The
    ledger does not record it.

    Parameters
    ----------
    frame : pandas.DataFrame, polars.DataFrame, pyarrow.Table or similar
        The table.
    perturber : Perturber
        Makes the texts private.
    text, keep : names of columns
        Those to perturb, and those to keep as they are.
    key : RunKey, optional
        For a repeatable experiment, `insecure_key`; by default a new key from the operating system. Each
        column has noise of its own, which depends on its name and its texts.
    prior : Prior, optional
        How often words are used (default: in English). There is a PrivacyWarning if the setting protects
        little.

    Examples
    --------
    >>> import pyarrow as pa
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> table = pa.table({"id": [1, 2], "message": ["book a flight", None], "label": ["ham", "ham"]})
    >>> private = perturb_frame(table, perturber=perturber, text="message", keep=["label"])
    >>> private.column_names, private["message"].null_count, len(private["message"][0].as_py().split())
    (['message', 'label'], 1, 3)
    """
    key = checked_run_key(perturber, key, "perturb_frame")
    check_prior(perturber, prior, "perturb_frame")
    narwhals = _narwhals()
    chosen, kept = checked_names(text, keep)
    if not chosen:
        raise ParameterError("Which column is to be perturbed? Hint: text=….")
    table = _opened(frame)
    names = list(table.columns)
    if not all(isinstance(name, str) for name in names):  # a pandas MultiIndex has tuples
        raise FormatError(f"{_WHERE}: must have columns whose names are str. Hint: rename them.")
    places = positions(names, [*chosen, *kept], _WHERE)
    table = narwhals.maybe_reset_index(table.select([name for name in names if name in places]))
    texts = {name: _texts(table[name], name) for name in chosen}
    answers, _ = perturbed_texts(perturber, key, _BATCH, _BATCH, texts)
    for name, private in answers.items():
        column = narwhals.new_series(name, private, narwhals.String, backend=table.implementation)
        table = table.with_columns(column)
    warn_if_weak(perturber, prior)
    return _bare(table)  # type: ignore[no-any-return]  # narwhals returns the kind of frame that it got


def _opened(frame: Any) -> Any:
    """Return a frame as narwhals sees it; refuse anything else, and two columns with the same name."""
    narwhals = _narwhals()
    try:
        return narwhals.from_native(frame, eager_only=True)
    except TypeError:
        raise ParameterError(
            "The 'frame' parameter of perturb_frame must be a pandas, polars or Arrow table in memory. "
            "Hint: collect() a lazy one; wv.spark.perturb takes Spark's."
        ) from None
    except (narwhals.exceptions.NarwhalsError, ValueError):
        raise FormatError(
            f"{_WHERE}: has more than one column with the same name. Hint: rename them."
        ) from None


def _bare(table: Any) -> Any:
    """Return the native frame without metadata, which may describe the columns that were left out."""
    native = table.to_native()
    if table.implementation.is_pyarrow():
        return native.cast(bare_schema(native.schema))
    if table.implementation.is_pandas_like():
        native.attrs = {}
        native.columns.names = [None]
    return native


def _texts(column: Any, name: str) -> list[str | None]:
    """Return the texts of a column, with None for each null."""
    narwhals = _narwhals()
    kind = column.dtype
    if kind not in (narwhals.String, narwhals.Object, narwhals.Categorical, narwhals.Enum, narwhals.Unknown):
        raise not_text(name, _WHERE, type(kind).__name__)  # str(kind) may list values or names of fields
    try:
        values = column.to_list()
    except UnicodeDecodeError:
        raise FormatError(f"{_WHERE}, row {_first_bad_row(column)}: '{name}' is not valid UTF-8.") from None
    nulls = column.is_null().to_list()
    texts: list[str | None] = []
    for number, (value, null) in enumerate(zip(values, nulls, strict=True), start=1):
        if not null and not isinstance(value, str):
            raise FormatError(f"{_WHERE}, row {number}: '{name}' is not text.")
        texts.append(None if null else value)
    return texts


def _first_bad_row(column: Any) -> int:
    return 1 + first_not_utf8(column.to_arrow())


def _narwhals() -> Any:
    try:
        import narwhals
    except ImportError:
        raise MissingExtraError("narwhals", "files", "A frame") from None
    return narwhals
