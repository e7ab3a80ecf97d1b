"""What a class that somebody else wrote may return, and what is refused: never a promise that does not hold."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import wordveil as wv
from wordveil.metric import Bracket

from .response import Response, ResponseGuarantee


@pytest.mark.parametrize("name", ["name", "device", "epsilon", "embedding", "block_list"])
def test_options_that_would_be_swallowed(name: str) -> None:
    class Odd(Response):
        options: ClassVar = (wv.Option(name, int, "something", default=1),)

    with pytest.raises(wv.ParameterError, match=f"must not be called '{name}'"):
        wv.register_mechanism(Odd)


def test_whole_numbers_stay_whole() -> None:
    option = wv.Option("count", int, "how many", low=0)
    assert option.check(2**53 + 1, "Odd") == 2**53 + 1
    for wrong in (1.0, True, -1, "3"):
        with pytest.raises(wv.ParameterError, match="'count' parameter of Odd must be a whole number"):
            option.check(wrong, "Odd")


def make_options(**facts: Any) -> dict[str, Any]:
    return {"name": "n", "type": int, "help": "something", "default": 1} | facts


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"name": ""}, "must have the name of a keyword argument"),
        ({"name": "two words"}, "must have the name of a keyword argument"),
        ({"type": list}, "must have the type float, int, bool or str"),
        ({"choices": (1, 2)}, "only if its type is str"),
        ({"type": str, "default": "a", "choices": "ab"}, "must have a tuple of choices"),
        ({"low": "0"}, "must have numbers as its range"),
        ({"type": str, "default": "a", "low": 0}, "must have numbers as its range"),
        ({"low": 3, "high": 1}, "must have a finite range, from low to high"),
        ({"low": float("nan")}, "must have a finite range"),
        ({"low": 2}, "'n' parameter of Option must be a whole number"),
        ({"default": np.float32(1)}, "'n' parameter of Option must be a whole number"),
    ],
)
def test_an_option_that_could_not_be_enforced_is_refused(facts: dict[str, Any], message: str) -> None:
    wv.Option(**make_options())
    with pytest.raises(wv.ParameterError, match=message):
        wv.Option(**make_options(**facts))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("n",), "must be a tuple of wv.Option"),
        ((wv.Option("n", int, "a"), wv.Option("n", int, "b")), "must have different names"),
    ],
)
def test_options_are_checked_where_a_class_is_registered(options: Any, message: str) -> None:
    odd = type("Odd", (Response,), {"options": options})
    with pytest.raises(wv.ParameterError, match=message):
        wv.register_mechanism(odd)


@pytest.mark.parametrize(
    "answers",
    [
        lambda ids: np.full(ids.shape, -1),
        lambda ids: ids + 1_000,
        lambda ids: ids.astype(float),
        lambda ids: ids.tolist(),
        lambda ids: ids[1:],
        lambda ids: ids[:, None],
        lambda ids: ids >= 0,
        lambda ids: None,
    ],
)
def test_answers_that_are_no_words_are_refused(small: wv.Embedding, answers: Any) -> None:
    class Odd(Response):
        def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> Any:
            return answers(ids)

    with pytest.raises(wv.ParameterError, match=r"Odd\._perturb must return a flat array"):
        Odd(small, 1.0).perturb_ids([0, 1])


def test_answers_may_have_any_type_of_whole_numbers(small: wv.Embedding) -> None:
    class Short(Response):
        def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
            return ids.astype(np.uint8)

    answers = Short(small, 1.0).perturb_ids([[0, 1]])
    assert answers.tolist() == [[0, 1]]
    assert answers.dtype == np.dtype(np.int64)


def test_a_parameter_must_not_be_hidden_by_the_block_list(small: wv.Embedding) -> None:
    blocked = wv.BlockList(["ale"], public=True)

    class Child(wv.Laplace):
        def parameters(self) -> dict[str, Any]:
            return super().parameters() | {"more": 1}

    assert Child(small, 1.0).blocking(blocked).parameters()["block_list"] == blocked.fingerprint[:16]
    for values in ({"block_list": "x"}, {"block_list": "y"}):
        hidden = Response(small, 1.0, tuple(values.items()))
        for mechanism in (hidden, hidden.blocking(blocked)):
            with pytest.raises(wv.ParameterError, match="must not have the key 'block_list'"):
                mechanism.setting()


@pytest.mark.parametrize("parameters", [None, [], {1: 2}])
def test_parameters_must_be_a_dict_with_names(small: wv.Embedding, parameters: Any) -> None:
    class Odd(Response):
        def parameters(self) -> dict[str, Any]:
            return parameters  # type: ignore[no-any-return]

    with pytest.raises(wv.ParameterError, match="must return a dict whose keys are str"):
        Odd(small, 1.0).setting()


def test_a_class_that_redefines_perturb_ids_has_no_block_list(small: wv.Embedding) -> None:
    class Own(Response):
        def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> NDArray[np.int64]:
            return np.zeros(np.shape(ids), np.int64)

    wv.Perturber(Own(small, 1.0))
    with pytest.raises(wv.ParameterError, match="redefines perturb_ids"):
        wv.Perturber(Own(small, 1.0).blocking(wv.BlockList(["ale"], public=True)))


def test_a_guarantee_may_have_numbers_of_numpy(small: wv.Embedding, tmp_path: Path) -> None:
    class Whole(ResponseGuarantee):
        def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[Any]:
            return np.where(np.asarray(ids) != np.asarray(others), 2, 0)

        @property
        def worst_case(self) -> Bracket:
            return Bracket(np.float64(2.0), np.float64(2.0))

        @property
        def distance(self) -> tuple[float, str]:
            return np.float32(2.0), "hops"  # type: ignore[return-value]  # the case under test

    class Odd(Response):
        @property
        def guarantee(self) -> ResponseGuarantee:
            return Whole(self.embedding, self.epsilon)

    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    wv.perturb_file(
        tmp_path / "in.csv",
        tmp_path / "a.csv",
        perturber=wv.Perturber(Odd(small, 2.0)),
        text="m",
        ledger=ledger,
    )
    assert [entry.setting["worst_case_exponent"] for entry in ledger.entries()] == [2.0]
    guarantee = Odd(small, 2.0).guarantee
    assert guarantee.neighbours[1].median == 2.0
    assert guarantee.nearest("tea", 1)[0][1] == 2.0


@pytest.mark.parametrize("promised", [None, 2.0, (2.0, 2.0)])
def test_something_else_than_a_guarantee_is_refused(
    small: wv.Embedding, tmp_path: Path, promised: Any
) -> None:
    class Odd(Response):
        @property
        def guarantee(self) -> Any:
            return promised

    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    with pytest.raises(wv.ParameterError, match="The guarantee of Odd must be a Guarantee"):
        wv.perturb_file(
            tmp_path / "in.csv", tmp_path / "a.csv", perturber=wv.Perturber(Odd(small, 2.0)), text="m"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_parameters_that_change_after_the_guarantee_was_read(small: wv.Embedding, tmp_path: Path) -> None:
    class Thawed(Response):
        pass

    perturber = wv.Perturber(Thawed(small, 2.0))
    assert perturber.guarantee.word.worst_case.upper == 2.0
    object.__setattr__(perturber.mechanism, "epsilon", 3.0)
    (tmp_path / "in.csv").write_text("m\ntea at noon\n")
    with pytest.raises(wv.IntegrityError, match="Thawed were changed after its first use"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "a.csv", perturber=perturber, text="m")
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]
