"""`wordveil perturb` keeps slurs and swear words out of what it writes; its options, files, and what is recorded."""

import json
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.runs.ledger import Ledger

ENGLISH = wv.BlockList.english()
DEMO = [
    "book a flight to boston please",
    "call me at noon, the red house is on fire now",
    "what the fuck is this shit",
    "see you at the airport",
]
OUTPUTS = 10_000


def manifest(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(Path(f"{path}.manifest.json").read_text())
    return result


def words_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split()


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    path = tmp_path / "demo.txt"
    path.write_text("\n".join(DEMO * (OUTPUTS // len(DEMO))) + "\n")
    return path


def test_no_word_of_the_list_in_10_000_outputs(demo: Path, tmp_path: Path) -> None:
    """And it would be there without the list: 'gentle' leaves about half of the swear words as they are."""
    target = tmp_path / "out.txt"
    assert main(["perturb", str(demo), str(target), "--profile", "gentle"]) == 0
    assert len(target.read_text().splitlines()) == OUTPUTS
    assert not ENGLISH.words & set(words_of(target))
    assert manifest(target)["parameters"]["block_list"] == ENGLISH.fingerprint[:16]
    assert manifest(target)["block_list_declared_public"] is True
    without = tmp_path / "without.txt"
    assert (
        main(["perturb", str(demo), str(without), "--profile", "gentle", "--no-block-list", "--again"]) == 0
    )
    assert sum(word in ENGLISH.words for word in words_of(without)) > OUTPUTS / 10
    assert "block_list" not in manifest(without)["parameters"]


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_text("tea at noon damn\n" * 300)
    return path


def run(lines: Path, target: Path, *options: str, epsilon: str = "1e9") -> int:
    setting = ["--epsilon", epsilon, "--mechanism", "laplace", "--dims", "20"]
    return main(["perturb", str(lines), str(target), *setting, "--again", *options])


def test_words_of_ones_own(lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more, less = tmp_path / "more.txt", tmp_path / "less.txt"
    more.write_text("Noon\nzanzibar\n\n")
    less.write_text("damn\n")
    target = tmp_path / "out.txt"
    lists = ["--block-words", str(more), "--allow-words", str(less)]
    assert run(lines, target, *lists, "--block-list-is-public") == 0
    words = set(words_of(target))
    assert {"tea", "at", "damn"} <= words
    assert "noon" not in words
    own = ENGLISH.changed(block=["noon", "zanzibar"], allow=["damn"], public=True)
    assert manifest(target)["parameters"]["block_list"] == own.fingerprint[:16]
    assert "block list is public" not in capsys.readouterr().err
    assert run(lines, tmp_path / "b.txt", "--block-words", str(more)) == 0
    assert "Nobody has declared that this block list is public" in capsys.readouterr().err
    assert manifest(tmp_path / "b.txt")["block_list_declared_public"] is False
    assert not {"noon", "damn"} & set(words_of(tmp_path / "b.txt"))
    assert run(lines, tmp_path / "c.txt", "--no-block-list", "--block-words", str(more)) == 0
    assert {"tea", "at", "damn"} <= set(words_of(tmp_path / "c.txt"))
    assert "noon" not in words_of(tmp_path / "c.txt")


def test_the_settings_file(lines: Path, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("noon\n")
    config = tmp_path / "settings.toml"
    config.write_text(f'block-words = "{tmp_path / "more.txt"}"\nblock-list-is-public = true\n')
    assert run(lines, tmp_path / "a.txt", "--config", str(config)) == 0
    assert not {"noon", "damn"} & set(words_of(tmp_path / "a.txt"))
    config.write_text("no-block-list = true\n")
    assert run(lines, tmp_path / "b.txt", "--config", str(config)) == 0
    assert {"noon", "damn"} <= set(words_of(tmp_path / "b.txt"))


def test_bad_lists(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], glove: wv.Embedding
) -> None:
    target, words = tmp_path / "out.txt", tmp_path / "words.txt"
    words.write_bytes(b"zanzibar\n\xff\n")
    empty, everything = tmp_path / "empty.txt", tmp_path / "all.txt"
    empty.write_text("")
    everything.write_text("\n".join(glove.words))
    cases = {
        ("--block-words", str(words)): "words.txt, line 2: is not valid UTF-8.",
        ("--allow-words", str(words)): "words.txt, line 2: is not valid UTF-8.",
        ("--block-words", str(empty)): "empty.txt: the word list is empty.",
        ("--block-words", str(everything)): "The block list leaves no word of the vocabulary.",
        ("--block-words", str(tmp_path / "absent.txt")): "absent.txt",
        ("--block-list-is-public",): "--block-list-is-public is about --block-words and --allow-words.",
        ("--no-block-list", "--allow-words", str(everything)): "Hint: use one of them.",
    }
    for options, message in cases.items():
        assert run(lines, target, *options) == 2, message
        err = capsys.readouterr().err
        assert message in err
        assert "zanzibar" not in err
        assert not target.exists()


def test_resume_needs_the_same_list(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that stopped is resumed with the same list only; the ledger knows which one it was."""
    from wordveil.runs import run as module

    target = tmp_path / "out.txt"

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(module, "publish_output", interrupted)
        assert run(lines, target, epsilon="2") == 130
    assert not target.exists()
    capsys.readouterr()
    assert run(lines, target, "--resume", "--no-block-list", epsilon="2") == 2
    assert "had a different input or different settings" in capsys.readouterr().err
    assert run(lines, target, "--resume", epsilon="2") == 0
    assert not ENGLISH.words & set(words_of(target))
    entry = Ledger().entries()[-1]
    assert entry.setting["parameters"]["block_list"] == ENGLISH.fingerprint[:16]


def test_two_lists_share_no_noise_under_one_seed(lines: Path, tmp_path: Path) -> None:
    outputs = []
    for number, options in enumerate(([], ["--no-block-list"], [])):
        assert run(lines, tmp_path / f"{number}.txt", "--unsafe-seed", "7", *options, epsilon="3") == 0
        outputs.append(words_of(tmp_path / f"{number}.txt"))
    assert outputs[0] == outputs[2]
    assert sum(a == b for a, b in zip(outputs[0], outputs[1], strict=True)) < len(outputs[0]) / 2


def test_a_manifest_with_a_list_is_explained(
    lines: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out.txt"
    assert run(lines, target, epsilon="5") == 0
    capsys.readouterr()
    assert main(["explain", "--manifest", f"{target}.manifest.json"]) == 0
    assert "and a block list" in " ".join(capsys.readouterr().out.split())
    assert main(["explain", "--manifest", f"{target}.manifest.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["recomputed"] == {"promise": True, "best_guess": True}


@pytest.mark.parametrize("command", ["frontier", "privacy", "utility"])
def test_measurements_use_a_list_if_asked(
    command: str, vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By name or by file; the list is in the rows, in the settings and in the keys of what is kept."""
    known = wv.load_embedding(vectors)
    blocked = known.words[0]
    (folder / "blocked.txt").write_text(f"{blocked}\n")
    (folder / "texts.csv").write_text(
        "message,label\n" + f"{' '.join(known.words)},ham\n{known.words[1]},spam\n" * 12
    )
    arguments = {
        "frontier": ["frontier", "--lams", "0", "--answers", "nearest", "--draws", "60", "--word-draws", "4"],
        "privacy": ["experiment", "privacy", "--lams", "0", "--draws", "40"],
        "utility": ["experiment", "utility", "texts.csv", "--text", "message", "--label", "label", "--lams", "0",
                    "--repetitions", "2"],
    }[command]  # fmt: skip
    own = wv.BlockList([blocked], public=True)
    lists = {
        (): None,
        ("--block-list",): ENGLISH,
        ("--block-words", "blocked.txt", "--block-list-is-public"): own,
        ("--block-list", "--block-words", "blocked.txt", "--block-list-is-public"): ENGLISH.changed(
            block=[blocked], public=True
        ),
    }
    results = {}
    for options, expected in lists.items():
        assert main([*arguments, "--embedding", vectors, "--epsilons", "50", *options, "--json"]) == 0
        results[options] = json.loads(capsys.readouterr().out)
        settings, rows = results[options]["settings"], results[options]["rows"]
        fingerprint = None if expected is None else expected.fingerprint[:16]
        assert settings.get("block_list") == fingerprint
        measured = [row for row in rows if row["mechanism"] is not None]
        assert all(
            (f"block_list={fingerprint}" in row["options"]) == (expected is not None) for row in measured
        )
    none, _, file, both = (json.dumps([
        {name: value for name, value in row.items() if name != "options"} for row in result["rows"]
    ]) for result in results.values())  # fmt: skip
    assert file == both  # the small vocabulary has no word of the English list
    if command != "utility":  # the classifier learns the same
        assert none != file  # and none of them is the other's kept measurement


def test_a_measured_list_is_declared_public(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "blocked.txt").write_text("tea\n")
    arguments = ["frontier", "--embedding", vectors, "--lams", "0", "--answers", "nearest", "--epsilons", "50",
                 "--draws", "60", "--word-draws", "4"]  # fmt: skip
    assert main([*arguments, "--block-words", "blocked.txt"]) == 0
    assert "Nobody has declared that this block list is public" in capsys.readouterr().err
    assert main([*arguments, "--block-list-is-public"]) == 2


def test_a_frontier_refuses_what_is_no_list() -> None:
    emb = wv.Embedding(["tea", "ale"], [[0.0], [1.0]], public=True)
    with pytest.raises(
        wv.ParameterError, match="'blocked' parameter of frontier must be a BlockList or None"
    ):
        wv.evaluation.frontier(emb, blocked=["tea"])  # type: ignore[arg-type]  # the mistake
