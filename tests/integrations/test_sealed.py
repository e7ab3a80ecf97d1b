"""An error in an integration leads to no text: not by its message, nor by its causes, nor by its frames."""

import warnings
from collections.abc import Callable
from typing import Any

import datasets as hf
import duckdb
import polars as pl
import pyarrow as pa
import pytest
import spacy
from presidio_analyzer import RecognizerResult
from presidio_anonymizer import AnonymizerEngine, OperatorConfig

import wordveil as wv

from .checks import SECRET, TEXT

LONG = f"{TEXT} {'tea ' * 200}"
"""A text that is over the limit of these tests: the perturber refuses it."""


@pytest.fixture(autouse=True)
def _limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.tokens.LARGEST_TEXT", len(TEXT) + 100)
    warnings.simplefilter("ignore", wv.PrivacyWarning)


def private_stream(perturber: wv.Perturber, *texts: str) -> Any:
    stream = hf.Dataset.from_dict({"message": [*texts]}).to_iterable_dataset()
    return wv.datasets.perturb(stream, perturber=perturber, text="message")


def read_twice(perturber: wv.Perturber) -> None:
    private = private_stream(perturber, TEXT)
    assert len([*private, *private]) == 1


def data_set(perturber: wv.Perturber, column: str = "message", num_proc: int | None = None) -> None:
    rows = hf.Dataset.from_dict({column: [LONG, LONG]})
    wv.datasets.perturb(rows, perturber=perturber, text="message", num_proc=num_proc)


class FakeConnection(duckdb.DuckDBPyConnection):  # type: ignore[misc]
    """Calls the function itself: DuckDB shows no more of an error than its message."""

    def __init__(self) -> None:
        pass

    def create_function(self, name: str, function: Any, *_: Any, **__: Any) -> None:
        function(pa.array([LONG]))


def query(perturber: wv.Perturber, engine: Any) -> None:
    frame = pl.LazyFrame({"message": [TEXT, LONG]})
    frame.select(wv.polars.perturb("message", perturber)).collect(engine=engine)


def around(perturber: wv.Perturber, text: str, *places: Any) -> None:
    wv.presidio.perturb_around(text, places, perturber=perturber, unsafe_keep_placeholders=True)


def operator(perturber: wv.Perturber) -> None:
    engine = AnonymizerEngine()
    engine.add_anonymizer(wv.presidio.WordveilOperator)
    operators = {"DEFAULT": OperatorConfig("wordveil", {"perturber": perturber})}
    engine.anonymize(LONG, [RecognizerResult("NAME", 0, len(LONG), 1.0)], operators)


def transformer(perturber: wv.Perturber, **options: Any) -> Any:
    return wv.sklearn.PerturbTransformer(0.01, embedding=perturber.mechanism.embedding, **options)


def clean(perturber: wv.Perturber) -> None:
    transformer(perturber, unsafe_clean_at_predict=True).fit([TEXT]).transform([[[TEXT]]])


def pipeline(perturber: wv.Perturber) -> Any:
    nlp = spacy.blank("en")
    component = nlp.add_pipe("wordveil", config={"profile": "balanced"})
    object.__setattr__(component, "perturber", perturber)
    return nlp


FAILS: dict[str, Callable[[wv.Perturber], object]] = {
    "a data set": data_set,
    "a data set in two processes": lambda perturber: data_set(perturber, num_proc=2),
    "a data set with other columns": lambda perturber: data_set(perturber, SECRET),
    "a stream": lambda perturber: [*private_stream(perturber, TEXT, LONG)],
    "a stream that is read twice": read_twice,
    "DuckDB": lambda perturber: wv.duckdb.register(FakeConnection(), perturber),
    "Polars": lambda perturber: query(perturber, "in-memory"),
    "Polars, streaming": lambda perturber: query(perturber, "streaming"),
    "a Series": lambda perturber: wv.polars.perturb(pl.Series([TEXT]), perturber),
    "around placeholders": lambda perturber: around(perturber, LONG),
    "around placeholders of another text": lambda perturber: around(
        perturber, TEXT, RecognizerResult("NAME", 0, 10_000, 1.0)
    ),
    "around what is no result": lambda perturber: around(perturber, TEXT, {"start": 0, "note": SECRET}),
    "an operator": operator,
    "a component": lambda perturber: pipeline(perturber)(LONG),
    "a component, by pipe": lambda perturber: [*pipeline(perturber).pipe([LONG, TEXT])],
    "a component that gets a text": lambda perturber: pipeline(perturber).get_pipe("wordveil")(TEXT),
    "fit": lambda perturber: transformer(perturber).fit([[[TEXT]]]),
    "fit_transform": lambda perturber: transformer(perturber).fit_transform([TEXT, LONG]),
    "transform": lambda perturber: transformer(perturber).transform([TEXT, LONG]),
    "transform of clean texts": clean,
}


@pytest.mark.parametrize("name", FAILS)
def test_an_error_leads_to_no_text(name: str, perturber: wv.Perturber, check_sealed: Any) -> None:
    with pytest.raises(wv.WordveilError) as caught:
        FAILS[name](perturber)
    assert SECRET not in str(caught.value)
    check_sealed(caught.value, SECRET)
