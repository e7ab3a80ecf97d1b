import pickle

import numpy as np
import pytest

from wordveil.errors import (
    MissingExtraError,
    ParameterError,
    UnknownNameError,
    WordveilError,
    check_real,
    check_whole,
    named_type,
    parameter_error,
)


def test_one_sentence_for_every_bad_parameter() -> None:
    message = str(parameter_error("lam", "Mahalanobis", "be in [0, 1]", 1.5))
    assert message == "The 'lam' parameter of Mahalanobis must be in [0, 1]. Got 1.5 instead."


def test_a_value_that_may_be_private_is_named_by_its_type() -> None:
    message = str(parameter_error("k", "f", "be a number", "my secret"))
    assert message == "The 'k' parameter of f must be a number. Got a str instead."


def named(name: str) -> object:
    return type(name, (), {})()


def test_a_type_is_named_with_its_article() -> None:
    an = [
        "Embedding",
        "int",
        "object",
        "ndarray",
        "NDArray",
        "NAType",
        "SVC",
        "XMLParser",
        "IndexError",
        "OrderedDict",
        "array",
    ]
    a = [
        "str",
        "list",
        "float",
        "bool",
        "NoneType",
        "Series",
        "UUID",
        "uint8",
        "Laplace",
        "method",
        "OneHotEncoder",
        "function",
    ]
    assert [named_type(named(name)) for name in an] == [f"an {name}" for name in an]
    assert [named_type(named(name)) for name in a] == [f"a {name}" for name in a]
    assert str(parameter_error("k", "f", "be a str", np.zeros(2))).endswith("Got an ndarray instead.")


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (ParameterError("x"), ValueError),
        (UnknownNameError("x"), KeyError),
        (MissingExtraError("p", "e", "Reading"), ImportError),
    ],
)
def test_errors_are_also_the_builtin_kind(error: WordveilError, builtin: type[Exception]) -> None:
    assert isinstance(error, WordveilError)
    assert isinstance(error, builtin)


def test_a_failed_lookup_reads_as_a_sentence() -> None:
    assert str(UnknownNameError("There is no such word.")) == "There is no such word."


def test_a_missing_extra_survives_a_worker_pool() -> None:
    error = MissingExtraError("p", "e", "This")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_missing_extra_says_what_to_install() -> None:
    message = str(MissingExtraError("pyarrow", "files", "Reading Parquet"))
    assert message == (
        "Reading Parquet needs pyarrow, which is not installed. Hint: pip install 'wordveil[files]'."
    )


@pytest.mark.parametrize("good", [0, 0.5, 1, np.float32(0.25), np.int64(1)])
def test_check_real_accepts(good: float) -> None:
    assert check_real(good, "x", "f", "be in [0, 1]", 0.0, 1.0) == float(good)


@pytest.mark.parametrize(
    "bad", [float("nan"), float("inf"), -0.1, 1.1, True, np.True_, "0.5", b"1", None, [0.5], 10**400]
)
def test_check_real_refuses(bad: object) -> None:
    with pytest.raises(ParameterError, match="must be in"):
        check_real(bad, "x", "f", "be in [0, 1]", 0.0, 1.0)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("bad", [0, 4, 1.0, True, "2", None])
def test_check_whole_refuses(bad: object) -> None:
    with pytest.raises(ParameterError, match="whole number from 1 to 3"):
        check_whole(bad, "k", "f", 1, 3)  # type: ignore[arg-type]  # that is the test


def test_check_whole_accepts_numpy_integers_and_no_upper_end() -> None:
    assert check_whole(np.int32(7), "k", "f", 1) == 7
    with pytest.raises(ParameterError, match="at least 1"):
        check_whole(0, "k", "f", 1)
