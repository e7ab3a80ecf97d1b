"""Grids of settings, what they are called beside others, and the vectors of all of them."""

from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation import Setting, make_grid, privacy_sweep, utility
from wordveil.evaluation.settings import families_of


@pytest.mark.parametrize(
    ("one", "several"),
    [
        ({"epsilons": 5.0}, {"epsilons": [5.0]}),
        ({"epsilons": np.float64(5.0), "lams": 0}, {"epsilons": (5.0,), "lams": [0.0]}),
        ({"dims": 2}, {"dims": [2]}),
        ({"mechanisms": "laplace"}, {"mechanisms": ["laplace"]}),
        ({"lams": iter([0.0, 1.0]), "dims": [2, 3]}, {"lams": [0.0, 1.0], "dims": iter([2, 3])}),
    ],
)
def test_one_value_is_a_list_of_one(small: wv.Embedding, one: Any, several: Any) -> None:
    facts = [[setting.facts() for setting in make_grid(small, **chosen)] for chosen in (one, several)]
    assert facts[0] == facts[1]


@pytest.mark.parametrize(
    ("bad", "name"),
    [
        ({"embedding": "glove"}, "embedding"),
        ({"embedding": None}, "embedding"),
        ({"epsilons": []}, "epsilons"),
        ({"epsilons": "5,10"}, "epsilons"),
        ({"epsilons": None}, "epsilons"),
        ({"epsilons": [1.0, "x"]}, "epsilons"),
        ({"epsilons": [10.0, 5.0]}, "epsilons"),
        ({"epsilons": [5.0, 5.0]}, "epsilons"),
        ({"lams": [1.0, 0.0]}, "lams"),
        ({"lams": [0.0, 2.0]}, "lams"),
        ({"lams": "0"}, "lams"),
        ({"dims": 2.5}, "dims"),
        ({"dims": "3"}, "dims"),
        ({"dims": [4]}, "dims"),
        ({"dims": True}, "dims"),
        ({"mechanisms": []}, "mechanisms"),
        ({"mechanisms": 5}, "mechanisms"),
        ({"mechanisms": [wv.Laplace]}, "mechanisms"),
    ],
)
def test_what_is_none_is_refused_in_the_sentence_of_every_parameter(
    small: wv.Embedding, bad: dict[str, Any], name: str
) -> None:
    chosen = {"embedding": small} | bad
    with pytest.raises(wv.ParameterError, match=rf"^The '{name}' parameter of make_grid must .*\. Got .*\.$"):
        make_grid(**chosen)


def test_a_family_is_called_by_what_differs(small: wv.Embedding, glove: wv.Embedding) -> None:
    grid = make_grid(glove, 5.0, [0.0, 1.0], dims=[2, 3])
    families = families_of(grid)
    assert [family.distinction(families) for family in families] == ["on 2 axes", "on 3 axes"]
    named = [Setting(wv.Laplace(glove.project(2), 5.0), "flat"), *grid]
    families = families_of(named)
    assert families[0].distinction(families) == "flat"
    assert [family.distinction(families) for family in families[1:]] == [
        "mahalanobis, on 2 axes",
        "mahalanobis, on 3 axes",
    ]
    both = families_of([*make_grid(glove, 5.0, 0.0, dims=3), *make_grid(small, 5.0, 0.0)])
    assert both[0].distinction(both) == "glove-840b-300d"


def test_names_that_several_families_share_are_not_enough(glove: wv.Embedding) -> None:
    settings = [Setting(wv.Laplace(glove.project(dims), 5.0), "flat") for dims in (2, 3)]
    families = families_of(settings)
    assert [family.distinction(families) for family in families] == ["on 2 axes", "on 3 axes"]


def test_the_fingerprint_covers_all_vectors(glove: wv.Embedding) -> None:
    grid = make_grid(glove, 5.0, [0.0, 1.0], dims=[2, 3])
    prints = [glove.project(dims).fingerprint for dims in (2, 3)]
    data = ["tea", "house"] * 4, ["x", "y"] * 4
    results = (
        privacy_sweep(grid, words=64, draws=2, cache=False),
        utility(data, grid, repetitions=1, cache=False),
    )
    for result in results:
        assert result.settings["vectors"] == "glove-840b-300d[2], glove-840b-300d[3]"
        assert result.settings["fingerprint"] == ", ".join(prints)
    alone = privacy_sweep(grid[:2], words=64, draws=2, cache=False)
    assert alone.settings["fingerprint"] == prints[0]
