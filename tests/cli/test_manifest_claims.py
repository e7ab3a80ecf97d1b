"""What a manifest says about the best guess: it is there, it is explained, and a better one is not believed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.embedding.store import save_store
from wordveil.watched_words import WATCHED_WORDS


@pytest.fixture
def released(vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    (tmp_path / "in.txt").write_text("tea at noon\n")
    target = tmp_path / "out.txt"
    command = ["perturb", str(tmp_path / "in.txt"), str(target), "--embedding", vectors, "--epsilon", "1"]
    assert main(command) == 0
    capsys.readouterr()
    return tmp_path / "out.txt.manifest.json"


def changed(path: Path, place: str, value: object) -> None:
    """Change one value of the attacker's facts; the place is "best_guess.share", for example."""
    facts = json.loads(path.read_text())
    *parents, name = place.split(".")
    part = facts["attacker"]
    for parent in parents:
        part = part[parent]
    if value is None:
        del part[name]
    else:
        part[name] = value
    path.write_text(json.dumps(facts))


def refusal(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert main(["explain", "--manifest", str(path), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_it_has_the_share_its_interval_the_prior_and_the_draws(released: Path, small: wv.Embedding) -> None:
    facts = json.loads(released.read_text())
    assert facts["manifest_version"] == 3
    exposure = wv.Perturber(wv.Mahalanobis(small, 1.0)).exposure()
    attacker = facts["attacker"]
    assert attacker == exposure.to_dict()
    guess = attacker["best_guess"]
    assert 0.0 < guess["low"] < guess["share"] < guess["high"] < 1.0
    assert guess["share"] > guess["guess_without_output"] == exposure.prior.guess
    assert (guess["draws"], guess["closed_form"]) == (1000, True)
    assert attacker["prior"] == {
        "name": "rank-based",
        "fingerprint": wv.Prior.by_rank(small).fingerprint,
        "declared_public": True,
    }


def test_it_is_explained(released: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", "--manifest", str(released), "--embedding", vectors]
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Best guess: someone who knows how often words are used (rank-based: guessed from" in shown
    assert "and sees the noisy vectors, names the word in 2" in shown
    assert "13.9% by guessing alone. Context can raise this. Of 0 words on sensitive topics, none is" in shown
    assert "The numbers above were computed again, and agree." in shown
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["recomputed"] == {"promise": True, "best_guess": True}
    attacker = json.loads(released.read_text())["attacker"]
    guess = attacker["best_guess"]
    assert facts["guess"]["success"] == {name: guess[name] for name in ("share", "low", "high")}
    assert (facts["guess"]["draws"], facts["guess"]["prior"]) == (1000, "rank-based")


def test_one_of_version_2_is_read(released: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(released.read_text())
    del facts["attacker"]
    released.write_text(json.dumps(facts | {"manifest_version": 2}))
    assert main(["explain", "--manifest", str(released), "--embedding", vectors, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["version"], shown["guess"]) == (2, None)
    assert shown["recomputed"] == {"promise": True, "best_guess": False}
    released.write_text(json.dumps(facts))  # which says that it is of version 3
    assert "its attacker is missing or malformed." in refusal(released, capsys)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("best_guess.share", 0.15),
        ("best_guess.high", 0.2),
        ("best_guess.guess_without_output", 0.26),
        ("best_guess.guess_without_output", 0.01),
        ("sees", "sees nothing at all"),
    ],
)
def test_less_than_is_measured_is_not_believed(
    place: str, value: object, released: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(released, place, value)
    if place == "best_guess.high":
        changed(released, "best_guess.share", value)
    changed(released, "best_guess.low", 0.1)
    assert main(["explain", "--manifest", str(released)]) == 0  # its vectors are not known by a name
    assert "not computed again" in capsys.readouterr().out
    message = refusal(released, capsys, "--embedding", vectors)
    assert "says that less is guessed than is measured here. Hint: do not rely on it." in message


@pytest.mark.parametrize("name", ["rank-based", "english", "uniform"])
def test_a_built_in_prior_has_its_own_counts(
    name: str, released: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(released, "prior.name", name)
    changed(released, "prior.fingerprint", "0" * 64)
    assert "says that less is guessed" in refusal(released, capsys, "--embedding", vectors)


def test_counts_that_are_not_here_can_not_be_checked(
    released: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(released, "prior", {"name": "ours", "fingerprint": "0" * 64, "declared_public": False})
    for place, value in (("share", 0.02), ("low", 0.01), ("high", 0.03), ("guess_without_output", 0.01)):
        changed(released, f"best_guess.{place}", value)
    assert main(["explain", "--manifest", str(released), "--embedding", vectors]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "someone who knows the counts of words that were used, and sees" in shown
    assert "Nobody declared that prior public." in shown
    assert "What is proven was computed again, and agrees. How often a guess is right was not:" in shown
    assert "numbers above were computed again" not in shown
    changed(released, "sees", "sees nothing at all")
    assert "says that less is guessed" in refusal(released, capsys, "--embedding", vectors)


@pytest.mark.parametrize(
    ("place", "value", "name"),
    [
        ("best_guess.low", 0.9, "best_guess"),
        ("best_guess.share", 1.5, "best_guess"),
        ("best_guess.high", 1.01, "best_guess"),
        ("best_guess.guess_without_output", 1.01, "best_guess"),
        ("best_guess.share", -0.1, "share"),
        ("best_guess.share", "0.1", "share"),
        ("best_guess.share", True, "share"),
        ("best_guess.draws", 0, "draws"),
        ("best_guess.draws", 1.5, "draws"),
        ("best_guess.closed_form", 1, "closed_form"),
        ("sensitive_words.exposed", 1, "sensitive_words"),
        ("sensitive_words.watched", -1, "watched"),
        ("prior.fingerprint", "0" * 63, "fingerprint"),
        ("prior.declared_public", "yes", "declared_public"),
        ("prior", [], "prior"),
        ("sees", 3, "sees"),
    ],
)
def test_what_no_run_would_write(
    place: str, value: object, name: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(released, place, value)
    assert f"its {name} is missing or malformed." in refusal(released, capsys)


def every_place(facts: dict[str, Any], path: str = "") -> list[str]:
    places = []
    for name, value in facts.items():
        places.append(f"{path}{name}")
        places += every_place(value, f"{path}{name}.") if isinstance(value, dict) else []
    return places


def test_nothing_may_be_missing_and_no_number_nan(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = released.read_text()
    attacker = json.loads(original)["attacker"]
    for place in every_place(attacker):
        released.write_text(original)
        changed(released, place, None)
        assert f"its {place.split('.')[-1]} is missing or malformed." in refusal(released, capsys), place
    for place in ("share", "low", "high", "guess_without_output"):
        released.write_text(original)
        changed(released, f"best_guess.{place}", float("nan"))
        assert "is not valid JSON" in refusal(released, capsys)


def test_exposed_words_can_not_be_denied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = list(WATCHED_WORDS)
    places = np.random.default_rng(5).normal(size=(len(words), 3))
    save_store(wv.Embedding(words, places, public=True), tmp_path / "v.safetensors")
    (tmp_path / "in.txt").write_text("tea at noon\n")
    options = ["--embedding", str(tmp_path / "v.safetensors")]
    paths = [str(tmp_path / "in.txt"), str(tmp_path / "out.txt")]
    assert main(["perturb", *paths, *options, "--epsilon", "30", "--lam", "0"]) == 0
    assert "protects little" in capsys.readouterr().err
    manifest = tmp_path / "out.txt.manifest.json"
    original = manifest.read_text()
    claimed = json.loads(original)["attacker"]["sensitive_words"]
    assert claimed["watched"] == len(words)
    assert claimed["exposed"] > 20
    for place, value in (("exposed", claimed["exposed"] - 15), ("exposed", 0), ("watched", len(words) - 1)):
        manifest.write_text(original)
        changed(manifest, f"sensitive_words.{place}", value)
        assert "says that less is guessed" in refusal(manifest, capsys, *options)
        # Nor by counts that are not here: a uniform guess recognises them too.
        changed(manifest, "prior", {"name": "ours", "fingerprint": "0" * 64, "declared_public": True})
        assert "says that less is guessed" in refusal(manifest, capsys, *options)
