"""`wordveil explain`: a setting as for `perturb`, any mechanism, and manifests that somebody else released."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli.main import main

MANIFESTS = Path(__file__).parent / "manifests"


def explained(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["explain", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


def failure(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 2) -> str:
    assert main(["explain", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_the_policy_is_explained(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    setting = ["--epsilon", "1", "--embedding", vectors]
    shown = explained(capsys, *setting, "--pad-to", "7", "--bag")
    assert "Each text is padded or cut to 7 words. The words of each text are sorted." in shown
    assert "Not protected: the order of the texts; whatever else" in shown
    assert "--pad-to L hides" not in shown
    assert "--bag hides" not in shown
    assert "--pad-to L hides" in explained(capsys, *setting)
    assert "so any two texts are covered" in explained(capsys, *setting, "--pad-to", "7", "--full")


def test_unsafe_choices_are_said_first(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["explain", "--epsilon", "1", "--embedding", vectors, "--unsafe-keep", "--unsafe-keep-case"])
        == 0
    )
    captured = capsys.readouterr()
    shown = " ".join(captured.out.split())
    assert "UNSAFE CHOICES WERE MADE (--unsafe-keep, --unsafe-keep-case)" in shown
    assert "which word was at each place" not in shown
    assert "Not protected: the words outside of the vocabulary themselves" in shown
    assert captured.err.startswith("wordveil: warning: This policy reveals")


def test_a_seed_voids_everything(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    setting = ["--epsilon", "1", "--embedding", vectors, "--unsafe-seed", "3"]
    assert explained(capsys, *setting).startswith("VOID: the noise came from a seed: nothing is promised.")
    assert main(["explain", *setting, "--json"]) == 0
    assert "seed" in json.loads(capsys.readouterr().out)["guarantee"]["void"]
    assert "--unsafe-seed must be" in failure(capsys, *setting, "--unsafe-seed", "-1")


def test_the_settings_file_of_perturb_is_understood(
    vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "settings.toml"
    config.write_text(
        f'epsilon = 2\nembedding = "{vectors}"\ntext = "message"\nkeep = ["label"]\npad-to = 4\nworkers = 1\n'
        '[mechanism]\nname = "mahalanobis"\nlam = 0.5\n'
    )
    assert "ε = 2, λ = 0.5, answer = nearest, dims = 3" in explained(capsys, "--config", str(config))
    assert "λ = 0.25" in explained(capsys, "--config", str(config), "--lam", "0.25")
    assert "λ = 0.25" in explained(capsys, "--config", str(config), "--option", "lam=0.25")
    assert "laplace with ε = 3, λ = 0" in explained(
        capsys, "--config", str(config), "--mechanism", "laplace", "--epsilon", "3"
    )
    (tmp_path / "in.csv").write_text("message,label\nbook a flight,x\n")
    table = ["--config", str(config), "--file", str(tmp_path / "in.csv")]
    assert "1 texts of 3 words at the median" in explained(capsys, *table)
    assert "since each is padded or cut" in explained(capsys, *table)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('[mechanism]\nname = "Zanzibar"', "There is no mechanism of that name. Hint: there are "),
        ('[mechanism]\nname = "laplce"', "Hint: did you mean 'laplace'?"),
        ("[mechanism]\nname = 3", "'mechanism' must be a name, or a table with a name."),
        ("[mechanism]\nlam = 0.5", "'mechanism' must be a name, or a table with a name."),
        ("mechanism = 3", "'mechanism' must be a name, or a table with a name."),
        ('mechanism = "Zanzibar"', "There is no mechanism of that name."),
        ('[mechanism]\nname = "mahalanobis"\nlam = 4711', "'lam' of [mechanism] must be in [0, 1]."),
        ('[mechanism]\nname = "mahalanobis"\nlam = "4711"', "'lam' of [mechanism] must be in [0, 1]."),
        ('[mechanism]\nname = "mahalanobis"\nlam = true', "'lam' of [mechanism] must be in [0, 1]."),
        ('[mechanism]\nname = "mahalanobis"\nlam = 0.5\nZanzibar = 4711', "option 2 of [mechanism] has an unknown name."),
        ('[mechanism]\nname = "mahalanobis"\nlamm = 4711', "Hint: did you mean 'lam'?"),
        ('lam = 0.5\n[mechanism]\nname = "mahalanobis"\nlam = 0.25', "'lam' is set twice."),
        ('mechanism = "laplace"\n[mechanism]\nname = "laplace"', "is not valid TOML"),
        ('option = ["lam=4711"]', "setting 1 has an unknown name."),
        ('manifest = "Zanzibar"', "setting 1 has an unknown name."),
        ("[Zanzibar]\nx = 1", "setting 1 has an unknown name. Hint: only [mechanism] can be a table."),
    ],
)  # fmt: skip
def test_a_settings_file_is_never_quoted(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.toml").write_text(content)
    error = failure(capsys, "--epsilon", "1", "--config", str(tmp_path / "settings.toml"))
    assert message in error
    assert "Zanzibar" not in error
    assert "4711" not in error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "A setting is missing. Hint: --profile balanced is a start"),
        (["--epsilon", "1", "--lam", "0.5", "--option", "lam=0.5"], "--lam and --option lam are the same option."),
        (["--epsilon", "1", "--option", "lam=2"], "--option lam must be in [0, 1]. Got 2.0 instead."),
        (["--epsilon", "1", "--lam", "2"], "--lam must be in [0, 1]. Got 2.0 instead."),
        (["--epsilon", "1", "--text", "message"], "are for --file"),
        (["--epsilon", "1", "--no-header"], "are for --file"),
        (["--manifest", "x.json", "--epsilon", "1"], "--manifest names the whole setting."),
        (["--manifest", "x.json", "--config", "y.toml"], "y.toml: No such file"),
        (["--manifest", "absent.json"], "absent.json: No such file or directory."),
    ],
)  # fmt: skip
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert message in failure(capsys, *arguments)


def test_a_manifest_of_wordveil_0_1_0(capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "--manifest", str(MANIFESTS / "version-1.json"))
    assert "the mechanism mahalanobis with ε = 6, λ = 1, dims = 25" in shown
    assert "by a factor of 207,546 at most" in shown
    assert "n × 77.4. Texts of different numbers of words are not covered." in shown
    assert "are those called glove-840b-300d here." in shown
    assert "does not say whether they were declared public" in shown
    assert "unprotected: label." in shown
    assert "Best guess" not in shown  # which manifests have since version 3
    assert "The numbers above were computed again, and agree." in shown
    padded = explained(capsys, "--manifest", str(MANIFESTS / "version-1-padded.json"))
    assert "padded or cut to 6 words, so any two texts are covered, by an exponent of at most 465" in padded
    assert "which texts are missing (wordveil 0.1.0" in padded
    assert "The same content was released once before. All releases together promise, for a word," in padded


@pytest.fixture
def released(vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("tea at noon\n")
    assert main(["perturb", str(source), str(target), "--embedding", vectors, "--epsilon", "1"]) == 0
    capsys.readouterr()
    return tmp_path / "out.txt.manifest.json"


def test_a_manifest_of_today(released: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = explained(capsys, "--manifest", str(released))
    assert "are none of those that are available here" in shown
    assert "They were declared public." in shown
    with_vectors = explained(capsys, "--manifest", str(released), "--embedding", vectors)
    assert f"are those called {vectors} here." in with_vectors
    assert main(["explain", "--manifest", str(released), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["version"], facts["void"], facts["vectors_here"]) == (3, "", None)
    assert facts["setting"] == {
        "mechanism": "mahalanobis",
        "epsilon": 1.0,
        "lam": 1.0,
        "answer": "nearest",
        "block_list": wv.BlockList.english().fingerprint[:16],
        "dims": 3,
    }


def test_a_manifest_that_says_it_is_void(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(released.read_text())
    facts["guarantee"]["void"] = "the noise came from a seed: nothing is promised"
    released.write_text(json.dumps(facts))
    assert main(["explain", "--manifest", str(released)]) == 0
    captured = capsys.readouterr()
    assert "\nVOID:          the noise came from a seed: nothing is promised." in captured.out
    assert captured.err.startswith("wordveil: warning: This manifest promises nothing")
    del facts["guarantee"]["void"]
    facts["noise"] = "INSECURE: from a seed"
    facts["vectors_declared_public"] = False
    facts["parameters"]["mechanism"] = "of-somebody-else"
    released.write_text(json.dumps(facts))
    shown = explained(capsys, "--manifest", str(released))
    assert "VOID: the manifest does not say that its noise was secret" in shown
    assert "Nobody declared them public" in shown
    assert "The mechanism of-somebody-else is not installed here." in shown


def test_nothing_of_a_manifest_reaches_the_terminal_raw(
    released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json.loads(released.read_text())
    facts["output"]["name"] = "\x1b[31mred\x9b\u202e"
    facts["parameters"]["note"] = ["x" * 5000, "\x1b]0;title\x07"]
    facts["guarantee"]["not_covered"] += [f"\x1b{i}" for i in range(500)]
    released.write_text(json.dumps(facts))
    for options in ([], ["--json"]):
        assert main(["explain", "--manifest", str(released), *options]) == 0
        shown = capsys.readouterr().out
        assert all(letter.isprintable() or letter == "\n" for letter in shown)
        assert len(shown) < 8000


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in nested dicts."""
    if path:
        yield path
    if isinstance(value, dict):
        for key, below in value.items():
            yield from paths(below, (*path, key))


@pytest.mark.parametrize("wrong", [None, -1, 1e308, "x", [3], {}, True])
def test_a_manifest_with_anything_in_it_is_explained_or_refused_in_one_line(
    wrong: Any, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = json.loads(released.read_text())
    for path in paths(original):
        facts = copy.deepcopy(original)
        place = facts
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = wrong
        released.write_text(json.dumps(facts))
        code = main(["explain", "--manifest", str(released)])
        captured = capsys.readouterr()
        assert code == 0 or (code, captured.out, captured.err.count("\n")) == (2, "", 1), path
        assert "a bug in wordveil" not in captured.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not valid JSON"),
        (b"\xff", "is not valid JSON"),
        (b"[" * 100_000, "is not valid JSON"),
        (b'{"made_by": "wordveil", "manifest_version": ' + b"9" * 5000 + b"}", "is not valid JSON"),
        (b'{"made_by": "wordveil", "manifest_version": NaN}', "is not valid JSON"),
        (b"[]", "is not a manifest of wordveil"),
        (b'{"made_by": "Zanzibar"}', "is not a manifest of wordveil"),
        (b'{"made_by": "wordveil", "manifest_version": 4}', "is of a version that is not known here"),
        (b'{"made_by": "wordveil", "manifest_version": true}', "is of a version that is not known here"),
        (b'{"made_by": "wordveil", "manifest_version": 3}', "its guarantee is missing or malformed"),
        (b" " * ((16 << 20) + 1), "is over 16 MiB"),
    ],
)
def test_what_is_no_manifest(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.json").write_bytes(content)
    error = failure(capsys, "--manifest", str(tmp_path / "m.json"))
    assert message in error
    assert "Zanzibar" not in error


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"worst_case_exponent": {"lower": 2.0, "upper": 1.0}}, "worst_case_exponent"),
        ({"worst_case_exponent": {"lower": 0.0, "upper": 0.0}}, "worst_case_exponent"),
        ({"exponent_to_neighbour": {"1": {"median": 1.0, "p5": 2.0, "p95": 3.0}}}, "exponent_to_neighbour"),
        ({"covers_texts_of_different_lengths": True}, "local_dp_epsilon_per_text"),
        ({"epsilon": 0.5}, "guarantee"),
        ({"fingerprint": "0" * 64}, "guarantee"),
    ],
)
def test_a_manifest_that_contradicts_itself(
    change: dict[str, Any], place: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json.loads(released.read_text())
    facts["guarantee"] |= change
    released.write_text(json.dumps(facts))
    assert f"its {place} is missing or malformed." in failure(capsys, "--manifest", str(released))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"policy": {"unsafe_keep": True}}, "policy"),
        ({"policy": {"unsafe": ["unsafe_keep"]}}, "policy"),
        ({"guarantee": {"not_covered": []}}, "not_covered"),
        ({"date": "2026-07-01. VERIFIED"}, "date"),
        ({"code_version": "0.1.0, audited"}, "code_version"),
        ({"parameters": {"extra": float("inf")}}, "parameters"),
    ],
)
def test_a_manifest_that_claims_too_much(
    change: dict[str, Any], place: str, released: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = json.loads(released.read_text())
    for name, value in change.items():
        facts[name] = facts[name] | value if isinstance(value, dict) else value
    released.write_text(json.dumps(facts).replace("Infinity", "1e999"))
    assert f"its {place} is missing or malformed." in failure(capsys, "--manifest", str(released))


def test_unsafe_choices_cover_no_lengths(released: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(released.read_text())
    facts["policy"] |= {"pad_to": 2, "unsafe_keep": True, "unsafe": ["unsafe_keep"]}
    worst = facts["guarantee"]["worst_case_exponent"]["upper"]
    facts["guarantee"] |= {"covers_texts_of_different_lengths": True, "local_dp_epsilon_per_text": 2 * worst}
    released.write_text(json.dumps(facts))
    message = failure(capsys, "--manifest", str(released))
    assert "its covers_texts_of_different_lengths is missing or malformed." in message


def test_a_promise_is_computed_again(
    released: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "--manifest", str(released), "--embedding", vectors]) == 0
    assert "computed again, and agree" in " ".join(capsys.readouterr().out.split())
    facts = json.loads(released.read_text())
    bracket = facts["guarantee"]["worst_case_exponent"]
    facts["guarantee"]["worst_case_exponent"] = {"lower": 0.0, "upper": bracket["lower"] * 0.99}
    for exponents in facts["guarantee"]["exponent_to_neighbour"].values():
        exponents.update(dict.fromkeys(exponents, 0.0))
    released.write_text(json.dumps(facts))
    message = failure(capsys, "--manifest", str(released), "--embedding", vectors)
    assert "promises more than its setting does" in message
