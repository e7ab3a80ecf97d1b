"""Polars: lazy, streaming and serialized queries."""

import pickle
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import wordveil as wv
from wordveil.integrations.library import perturbed_column

from .checks import SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, check_pickle, run

wv.polars  # noqa: B018  # registers the namespace


@pytest.fixture
def frame() -> pl.LazyFrame:
    return pl.LazyFrame({"message": [TEXT] * 5 + [None, ""], "label": range(7)})


def private(perturber: wv.Perturber) -> Any:
    return pl.col("message").wordveil.perturb(perturber)  # type: ignore[attr-defined]


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_every_row_and_query_draws_anew(engine: Any, frame: pl.LazyFrame, perturber: wv.Perturber) -> None:
    query = frame.select(private(perturber), "label")
    results = [query.collect(engine=engine) for _ in range(2)]
    check_distinct([text for result in results for text in result["message"][:5]])
    assert results[0]["message"].to_list()[5:] == [None, ""]
    assert results[0]["label"].to_list() == [*range(7)]
    assert results[0].schema["message"] == frame.collect_schema()["message"] == pl.String


def test_threads_draw_different_noise(perturber: wv.Perturber) -> None:
    seen: set[int] = set()
    expression = wv.integrations.polars._PerturbSeries(perturber)

    def traced(texts: pl.Series) -> pl.Series:
        seen.add(threading.get_ident())
        return expression(texts)  # type: ignore[no-any-return]

    frame = pl.LazyFrame({"message": [TEXT] * 2_000})
    query = frame.select(pl.col("message").map_batches(traced, return_dtype=pl.String, is_elementwise=True))
    check_distinct(query.collect(engine="streaming")["message"])
    assert len(seen) > 1


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts each call gets."""
    sizes: list[int] = []

    def counted(perturber: wv.Perturber, texts: Any) -> Any:
        sizes.append(len(texts))
        return perturbed_column(perturber, texts)

    monkeypatch.setattr("wordveil.integrations.polars.perturbed_column", counted)
    return sizes


def test_nothing_is_drawn_to_know_the_type_of_a_lazy_query(
    frame: pl.LazyFrame, perturber: wv.Perturber, sizes: list[int]
) -> None:
    """Polars calls a function on the texts if it does not know what type it returns."""
    query = frame.select(private(perturber), "label")
    assert query.collect_schema()["message"] == pl.String
    assert not sizes
    query.collect(engine="in-memory")
    assert sizes == [7]


def test_batches_of_a_stream(
    frame: pl.LazyFrame, perturber: wv.Perturber, tmp_path: Path, sizes: list[int]
) -> None:
    pl.concat([frame] * 200).sink_parquet(tmp_path / "in.parquet", row_group_size=100)
    query = pl.scan_parquet(tmp_path / "in.parquet").select(private(perturber), "label")
    query.sink_parquet(tmp_path / "private.parquet", engine="streaming")
    result = pl.read_parquet(tmp_path / "private.parquet")
    assert result["label"].to_list() == [*range(7)] * 200
    assert sum(sizes) == 1400
    assert max(sizes) < 1400  # never all rows in memory at once
    check_distinct(result["message"].drop_nulls().filter(result["message"].drop_nulls() != ""))
    (tmp_path / "in.parquet").unlink()
    check_no_secret(tmp_path)


def test_filters_and_names(frame: pl.LazyFrame, perturber: wv.Perturber) -> None:
    result = (
        frame.with_columns(reply=wv.polars.perturb("message", perturber))
        .filter(pl.col("label") < 3)
        .collect()
    )
    assert result["message"].to_list() == [TEXT] * 3
    check_distinct(result["reply"])


def test_categories_are_drawn_by_row(frame: pl.LazyFrame, perturber: wv.Perturber) -> None:
    """And not once for each category, which would reveal equal texts."""
    categories = frame.select(pl.col("message").cast(pl.Categorical).wordveil.perturb(perturber))  # type: ignore[attr-defined]
    result = categories.collect()
    check_distinct(result["message"][:5])
    assert result.schema == {"message": pl.String}


def test_a_literal_is_drawn_a_few_times(perturber: wv.Perturber) -> None:
    """What docs/integrations/polars.md says. If this fails, Polars has changed."""
    literal = pl.lit(TEXT).wordveil.perturb(perturber)  # type: ignore[attr-defined]
    query = pl.LazyFrame({"label": range(300_000)}).select("label", message=literal)
    draws = [query.collect(engine="in-memory")["message"], query.collect(engine="streaming")["message"]]
    assert all(0 < texts.n_unique() < 1_000 for texts in draws)
    check_distinct([text for texts in draws for text in texts.unique()])


def test_padding_covers_nulls(frame: pl.LazyFrame, small: wv.Embedding) -> None:
    padded = wv.Perturber(wv.Mahalanobis(small, 0.01), wv.Policy(pad_to=4))
    result = frame.select(private(padded)).collect()
    assert [len(text.split()) for text in result["message"]] == [4] * 7


def test_a_serialized_query_has_no_key_and_no_vectors(frame: pl.LazyFrame) -> None:
    perturber = wv.Perturber.from_profile("balanced")
    perturber(TEXT)
    query = pl.LazyFrame({"message": ["tea"]}).select(private(perturber))
    data = query.serialize()
    assert len(data) < 20_000
    assert b"randomness" not in data
    check_pickle(pickle.dumps(wv.integrations.polars._PerturbSeries(perturber)), most_bytes=20_000)


def test_what_is_written(watched: Path) -> None:
    lines = run(
        """
        import polars as pl
        frame = pl.LazyFrame({"message": [TEXT] * 5, "label": range(5)})
        for name in ("one", "two"):
            query = frame.select(wv.polars.perturb("message", small_perturber()), "label")
            query.sink_parquet(name + ".parquet")
            query.sink_ipc(name + ".arrow")
            for kind in (pl.read_parquet(name + ".parquet"), pl.read_ipc(name + ".arrow")):
                print(*kind["message"], sep=chr(10))
        """,
        watched,
    )
    assert len(lines) == 20
    check_distinct(lines)
    assert len(check_no_secret(watched)) >= 4
    check_no_keys(watched)


def test_numbers_are_refused(frame: pl.LazyFrame, perturber: wv.Perturber) -> None:
    with pytest.raises(Exception, match="'label' is not text") as caught:
        frame.select(wv.polars.perturb("label", perturber)).collect()
    assert SECRET not in str(caught.value)
    with pytest.raises(wv.ParameterError, match="must be a Perturber"):
        wv.polars.perturb("message", print)  # type: ignore[arg-type]


@pytest.mark.parametrize("expression", [3, None, pl.Series([TEXT]), ["message"]])
def test_what_is_no_expression_is_refused(expression: Any, perturber: wv.Perturber) -> None:
    with pytest.raises(
        wv.ParameterError, match=r"'expression' .* must be a polars\.Expr or the name"
    ) as caught:
        wv.polars.perturb(expression, perturber)
    assert SECRET not in str(caught.value)


def test_a_weak_setting_warns_at_the_call(glove: wv.Embedding) -> None:
    weak = wv.Perturber(wv.Mahalanobis(glove.project(10), 1e6))
    with pytest.warns(wv.PrivacyWarning, match="protects little") as caught:
        wv.polars.perturb("message", weak)
    assert [warning.filename for warning in caught] == [__file__]
