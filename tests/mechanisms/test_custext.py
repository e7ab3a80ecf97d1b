"""CusText: groups, exact probabilities inside them, and a promise that says what it does not cover."""

import json
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.mechanisms import CusText
from wordveil.mechanisms.group_guarantee import UNCOVERED
from wordveil.prior import default_prior
from wordveil.report.explanation import explain_setting
from wordveil.report.released import read_manifest
from wordveil.report.released_explanation import explain_manifest, recompute
from wordveil.report.setting_facts import setting_facts


@pytest.fixture(scope="module")
def embedding() -> wv.Embedding:
    vectors = np.random.default_rng(6).normal(size=(107, 4))
    return wv.Embedding([f"w{i}" for i in range(107)], vectors, public=True)


@pytest.fixture(scope="module")
def mechanism(embedding: wv.Embedding) -> CusText:
    return CusText(embedding, 2.0, k=10, unsafe_no_uniform_guarantee=True)


def test_it_must_be_asked_for(embedding: wv.Embedding) -> None:
    with pytest.raises(wv.ParameterError, match="promises nothing about words of different groups"):
        CusText(embedding, 2.0)
    with pytest.raises(wv.ParameterError, match="--option unsafe_no_uniform_guarantee=true"):
        wv.make_mechanism("custext", embedding, 2.0)


def test_groups_are_greedy_and_cover_all_words(embedding: wv.Embedding, mechanism: CusText) -> None:
    rows = embedding.vectors.astype(np.float64)
    distances = cdist(rows, rows)
    left = list(range(107))
    labels = mechanism.members.labels
    while len(left) >= 20:
        group = sorted(left, key=lambda word: distances[left[0], word])[:10]
        assert len(set(labels[group].tolist())) == 1
        assert (labels == labels[group[0]]).sum() in (10, 11)  # the centroid may be in it
        left = [word for word in left if word not in group]
    assert len(set(labels[left].tolist())) == 1
    assert len(left) == 17
    assert sorted(mechanism.members.table[mechanism.members.table >= 0].tolist()) == list(range(107))


def test_the_formula_and_the_promise(embedding: wv.Embedding, mechanism: CusText) -> None:
    rows = embedding.vectors.astype(np.float64)
    places = np.vstack((rows, rows.mean(axis=0)))
    table, labels = mechanism.probabilities(np.append(np.arange(107), -1)), mechanism.members.labels
    for word in range(108):
        group = np.flatnonzero(labels[:-1] == labels[word])
        distances = np.linalg.norm(rows[group] - places[word], axis=1)
        scaled = (distances - distances.min()) / (distances.max() - distances.min())
        weights = np.exp(-2.0 / 2.0 * scaled)
        np.testing.assert_allclose(table[word, group], weights / weights.sum(), rtol=1e-6)
        assert table[word].sum() == pytest.approx(1.0)
    ids = np.append(np.arange(107), -1)
    allowed = mechanism.guarantee.exponents(ids[:, None], ids[None, :])
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.nanmax(np.log(table[:, None, :]) - np.log(table[None, :, :]), axis=2)
    assert ((largest <= allowed + 1e-9) | (allowed == UNCOVERED)).all()
    assert np.isinf(largest[allowed == UNCOVERED]).all()  # nothing could be promised there
    assert largest[(allowed > 0.0) & (allowed < UNCOVERED)].max() > 0.5 * 2.0


def test_draws_follow_the_formula(mechanism: CusText) -> None:
    """χ², n = 200,000 for each of three inputs, α = 1e-6."""
    for word in (0, 106, -1):
        counts = np.bincount(mechanism.perturb_ids(np.full(200_000, word)), minlength=107)
        row = mechanism.probabilities(word)
        assert counts[row == 0.0].sum() == 0
        kept = row > 0.0
        assert stats.chisquare(counts[kept], row[kept] * 200_000).pvalue > 1e-6 / 3


def test_the_attackers_number(embedding: wv.Embedding, mechanism: CusText) -> None:
    prior = default_prior(embedding)
    table = prior.shares[:, None] * mechanism.probabilities(np.append(np.arange(107), -1))
    rate = guess_rate(mechanism, prior, draws=4000)
    assert rate.exact
    assert rate.success.low <= table.max(axis=0).sum() <= rate.success.high


def test_the_promise_says_what_it_does_not_cover(mechanism: CusText) -> None:
    text = str(mechanism.guarantee)
    assert "inside groups of words only" in text
    assert "nothing is promised about the others" in text
    facts = mechanism.guarantee.to_dict()
    assert json.loads(json.dumps(facts, allow_nan=False)) == facts
    assert facts["groups"] == 10
    assert 0.0 < facts["covered_share_of_pairs"] < 0.2


GROUP = "which group of words each word is from"


@pytest.mark.parametrize("policy", [wv.Policy(), wv.Policy(pad_to=5, bag=True)])
def test_texts_of_a_perturber_show_groups_too(mechanism: CusText, policy: wv.Policy) -> None:
    promise = wv.Perturber(mechanism, policy).guarantee
    assert promise.not_covered[0] == GROUP
    assert promise.not_covered.count("whatever else is published beside the text") == 1
    assert f"Not covered: {GROUP};" in str(promise)


def test_explanations_say_first_what_is_not_promised(mechanism: CusText, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("w1 w2 w70\n")
    wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=wv.Perturber(mechanism))
    released = read_manifest(tmp_path / "out.txt.manifest.json")
    assert released.covered_share == mechanism.guarantee.covered_share
    assert released.not_covered[0] == GROUP
    text = " ".join(explain_manifest(released, "these", True).split())
    missing = 100.0 * (1.0 - mechanism.guarantee.covered_share)
    assert f"Proven: nothing at all for {int(missing * 100) / 100}% of all pairs of words" in text
    exposure = wv.Perturber(mechanism).exposure()
    facts = setting_facts(wv.Perturber(mechanism), mechanism.embedding, exposure, {})
    explained = explain_setting(wv.Perturber(mechanism), mechanism.embedding, exposure, facts)
    flat = " ".join(explained.split())
    assert "Proven: nothing at all for" in flat
    assert f"Not protected: {GROUP};" in flat
    assert "calibrate" not in flat  # no ε reaches a target: the group shows the word


@pytest.mark.parametrize("claim", [{"covered_share_of_pairs": 1.0}, {"not_covered": 1}])
def test_a_manifest_that_hides_groups_is_refused(
    mechanism: CusText, tmp_path: Path, claim: dict[str, object]
) -> None:
    (tmp_path / "in.txt").write_text("w1 w2 w70\n")
    wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=wv.Perturber(mechanism))
    path = tmp_path / "out.txt.manifest.json"
    facts = json.loads(path.read_text())
    if "not_covered" in claim:
        claim = {"not_covered": facts["guarantee"]["not_covered"][1:]}
    assert recompute(read_manifest(path), mechanism.embedding, path).promise
    path.write_text(json.dumps(facts | {"guarantee": facts["guarantee"] | claim}))
    with pytest.raises(wv.FormatError, match="promises more than its setting does"):
        recompute(read_manifest(path), mechanism.embedding, path)


def test_files_and_the_ledger(mechanism: CusText, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("w1 w2 w70\nw3 zanzibar\n")
    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    for name, again in (("a.txt", False), ("b.txt", True)):
        with pytest.warns(wv.PrivacyWarning) if again else nullcontext():
            wv.perturb_file(
                tmp_path / "in.txt",
                tmp_path / name,
                perturber=wv.Perturber(mechanism),
                ledger=ledger,
                again=again,
            )
    assert ledger.entries()[0].setting["unsafe"] == ["unsafe_no_uniform_guarantee"]


@pytest.mark.parametrize("count", [211, 212, 230, 405])
def test_no_number_of_200_digits_is_printed(count: int) -> None:
    """With 211 words and k = 10, the 5% quantile is halfway between a promise and none."""
    vectors = np.random.default_rng(2).normal(size=(count, 3))
    embedding = wv.Embedding([f"w{i}" for i in range(count)], vectors, public=True)
    mechanism = CusText(embedding, 2.0, k=10, unsafe_no_uniform_guarantee=True)
    assert max(len(line) for line in str(mechanism.guarantee).splitlines()) < 130
    assert "∞" in str(mechanism.guarantee)
