"""A mechanism of another package, installed for real: the example of docs/mechanisms.md, and broken ones."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli.mechanisms import mechanism_facts
from wordveil.embedding.store import save_store
from wordveil.mechanisms import mechanism_class, mechanism_names

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "mechanisms.md"
EXAMPLE = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
SOURCE = str(Path(wv.__file__).parents[1])
POINTS = """[wordveil.mechanisms]
softened = third_party:Softened
absent = third_party_that_is_not_there:Absent
raising = third_party_raising:Raising
other-name = third_party:Softened
no-class = third_party:PAPERS
stubborn = third_party_stubborn:Stubborn
forgetful = third_party_stubborn:Forgetful
failing = third_party_stubborn:Failing
"""
STUBBORN = """
import third_party
import wordveil as wv

OPTION = (wv.Option("mode", str, "how", default="a", choices=("a", "b")),)

class Stubborn(third_party.Softened):
    options = OPTION

class Forgetful(third_party.Softened):
    options = OPTION
    def __init__(self, embedding, epsilon, mode):
        super().__init__(embedding, epsilon)
    def __post_init__(self):
        pass

class Failing(third_party.Softened):
    def _perturb(self, ids, stream):
        raise ValueError("my secret message")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for packages, with one that pip could have put there: a module and its metadata."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "third_party.py").write_text(f"{EXAMPLE}\n\nPAPERS = 3\n", encoding="utf-8")
    (folder / "third_party_raising.py").write_text('raise RuntimeError("my secret message")\n')
    (folder / "third_party_stubborn.py").write_text(STUBBORN)
    add_metadata(folder, "third-party", POINTS)
    return folder


def add_metadata(folder: Path, name: str, points: str) -> None:
    """Make the modules of a folder a package with entry points, as pip does."""
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(points)
    (metadata / "RECORD").write_text("")


@pytest.fixture
def vectors(tmp_path: Path, small: wv.Embedding) -> str:
    path = tmp_path / "vectors.safetensors"
    save_store(small, path)
    return str(path)


def run(site: Path, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site), SOURCE, os.environ.get("PYTHONPATH", "")]))
    return subprocess.run(
        [sys.executable, "-m", "wordveil", *arguments],
        input=text,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": path},
    )


def test_the_page_shows_the_example() -> None:
    assert (ROOT / "examples" / "softened.py").read_text(encoding="utf-8") == EXAMPLE


def test_the_example_is_short() -> None:
    """A mechanism takes at most 25 lines, docstrings not counted, and registers itself."""
    (mechanism,) = (node for node in ast.parse(EXAMPLE).body if isinstance(node, ast.ClassDef))
    methods = [node for node in mechanism.body if isinstance(node, ast.FunctionDef)]
    documented: list[ast.ClassDef | ast.FunctionDef] = [mechanism, *methods]
    docstrings = sum(len((ast.get_docstring(node) or "").splitlines()) for node in documented)
    class_source = EXAMPLE[EXAMPLE.index("@dataclass") : EXAMPLE.index("\n\n\nwv.register")]
    assert (
        len(class_source.splitlines()) - docstrings - 1 <= 25
    )  # the closing quotes of the first are a line too
    assert EXAMPLE.splitlines()[-1] == "wv.register_mechanism(Softened)"


def test_it_works_in_a_frontier(site: Path, vectors: str) -> None:
    setting = [
        "--embedding",
        vectors,
        "--epsilons",
        "1,3",
        "--draws",
        "100",
        "--word-draws",
        "2",
        "--answers",
        "nearest",
    ]
    done = run(site, "frontier", "--mechanism", "softened", "--mechanism", "laplace", *setting, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)["rows"]
    assert {(row["mechanism"], row["epsilon"]) for row in rows} >= {("softened", 1.0), ("softened", 3.0)}


def test_the_list_has_it_and_the_broken_ones(site: Path) -> None:
    listed = json.loads(run(site, "mechanisms", "--json").stdout)
    names = [row["name"] for row in listed]
    assert names[:2] == ["mahalanobis", "laplace"]
    assert sorted(names[-8:]) == names[-8:]
    assert set(names[-8:]) == set(re.findall(r"^(\S+) =", POINTS, re.MULTILINE))
    broken = {row["name"]: row["error"] for row in listed if "error" in row}
    assert sorted(broken) == ["absent", "no-class", "other-name", "raising", "stubborn"]
    assert broken["stubborn"] == (
        "The class of the mechanism 'stubborn' must take (embedding, epsilon, mode=…)."
    )
    assert broken["absent"].startswith(
        "The mechanism 'absent' of the package third-party can't be imported (ModuleNotFoundError)."
    )
    assert broken["other-name"].startswith(
        "The entry point 'other-name' of the package third-party is not a "
    )
    shown = run(site, "mechanisms")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "broken: The mechanism 'raising'" in shown.stdout
    assert "secret" not in json.dumps(listed) + shown.stdout
    assert "McSherry and Talwar (2007)" in shown.stdout


def test_one_in_full(site: Path) -> None:
    shown = run(site, "mechanisms", "softened")
    assert (shown.returncode, shown.stderr) == (0, "")
    flat = " ".join(shown.stdout.split())
    assert "Answers with word u with probability ∝ exp(-(ε/2)·s·d(w, u))" in flat
    assert "guarantee Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u]. Between two input words" in flat
    assert "--option sharpness s; 0 is uniform (float, 0 to 1, default 1.0)" in flat
    facts = json.loads(run(site, "mechanisms", "softened", "--json").stdout)
    assert facts["class"] == "third_party.Softened"
    assert facts["options"] == [
        {
            "name": "sharpness",
            "type": "float",
            "range": "0 to 1",
            "required": False,
            "default": 1.0,
            "help": "s; 0 is uniform",
        }
    ]


@pytest.mark.parametrize(("name", "code"), [("raising", 1), ("softned", 2)])
def test_one_that_is_broken_or_not_there(name: str, code: int, site: Path) -> None:
    done = run(site, "mechanisms", name)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert "secret" not in done.stderr
    assert "'raising'" in done.stderr or "did you mean 'softened'?" in done.stderr


def test_it_perturbs_a_file_and_explains_itself(site: Path, vectors: str, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("book a flight to boston\ntea at noon\n")
    setting = [
        "--embedding",
        vectors,
        "--epsilon",
        "1",
        "--mechanism",
        "softened",
        "--option",
        "sharpness=0.25",
    ]
    done = run(site, "perturb", str(source), str(target), *setting)
    assert (done.returncode, done.stderr) == (0, "")
    assert [len(line.split()) for line in target.read_text().splitlines()] == [5, 3]
    manifest = json.loads(Path(f"{target}.manifest.json").read_text())
    assert manifest["parameters"] == {
        "mechanism": "softened",
        "epsilon": 1.0,
        "sharpness": 0.25,
        "block_list": wv.BlockList.english().fingerprint[:16],
        "dims": 3,
    }
    explained = run(site, "explain", *setting)
    assert (explained.returncode, explained.stderr) == (0, "")
    assert "the mechanism softened with ε = 1, sharpness = 0.25, dims = 3" in explained.stdout
    assert "--lam" not in explained.stdout
    released = run(site, "explain", "--manifest", f"{target}.manifest.json")
    assert "the mechanism softened with ε = 1, sharpness = 0.25, dims = 3" in released.stdout
    assert "is not installed here" not in released.stdout


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--option", "sharpnes=0.5"], 2, "The mechanism 'softened' has no option 'sharpnes'. Hint: did you mean 'sharpness'?"),
        (["--option", "sharpness=1.5"], 2, "--option sharpness must be in [0, 1]. Got 1.5 instead."),
        (["--option", "sharpness=half"], 2, "--option sharpness must be in [0, 1]. Got a str instead."),
        (["--option", "sharpness"], 2, "--option must be NAME=VALUE, each NAME once."),
        (["--option", "sharpness=0", "--option", "sharpness=1"], 2, "--option must be NAME=VALUE, each NAME once."),
        (["--lam", "1"], 2, "The mechanism 'softened' has no option 'lam'. Hint: it has sharpness."),
        (["--epsilon", "0"], 2, "--epsilon must be finite and positive"),
        (["--mechanism", "forgetful", "--option", "mode=c"], 2, "--option mode must be one of a, b."),
        (["--mechanism", "forgetful"], 2, "Forgetful.parameters() must have every option: 'mode' is missing"),
        (["--mechanism", "failing"], 1, "an unforeseen ValueError; in the mechanism 'failing', which is not wordveil's."),
        (["--mechanism", "raising"], 1, "The mechanism 'raising' of the package third-party can't be imported"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(options: list[str], code: int, message: str, site: Path, vectors: str) -> None:
    setting = ["--embedding", vectors, "--epsilon", "1", "--mechanism", "softened", *options]
    done = run(site, "perturb", "-", "-", *setting, text="tea at noon\n")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1)
    assert done.stderr.startswith(f"wordveil: {message}")


def test_a_table_in_a_settings_file(site: Path, vectors: str, tmp_path: Path) -> None:
    config = tmp_path / "settings.toml"
    config.write_text('epsilon = 1\n[mechanism]\nname = "softened"\nsharpness = 0.5\n')
    options = ["--embedding", vectors, "--config", str(config), "--json"]
    setting = json.loads(run(site, "explain", *options).stdout)["setting"]
    assert (setting["mechanism"], setting["sharpness"]) == ("softened", 0.5)
    config.write_text('epsilon = 1\n[mechanism]\nname = "softened"\nsharpness = 7654321\n')
    done = run(site, "explain", *options)
    assert (done.returncode, done.stderr) == (
        2,
        f"wordveil: {config}: 'sharpness' of [mechanism] must be in [0, 1].\n",
    )


def test_the_page_lists_every_mechanism_of_wordveil() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in mechanism_names():
        mechanism = mechanism_class(name)
        if mechanism.__module__.startswith("wordveil."):  # other tests may have registered theirs
            assert row_of(mechanism_facts(mechanism)) in page


def row_of(facts: dict[str, Any]) -> str:
    options = [
        f"`{option['name']}` ({', '.join(filter(None, [option['type'], option['range'], default_of(option)]))}): "
        f"{option['help']}"
        for option in facts["options"]
    ]
    return f"| `{facts['name']}` | {'; '.join(options) or 'none'} | {facts['paper']} |\n"


def default_of(option: dict[str, Any]) -> str:
    return "required" if option["required"] else f"default {option['default']}"


def test_two_packages_with_one_name_are_refused(site: Path, vectors: str, tmp_path: Path) -> None:
    add_metadata(
        tmp_path / "other", "another-party", "[wordveil.mechanisms]\nsoftened = third_party:Softened\n"
    )
    paths = [str(site), str(tmp_path / "other")]
    for order in (paths, paths[::-1]):
        listed = json.loads(run(Path(os.pathsep.join(order)), "mechanisms", "--json").stdout)
        (row,) = (row for row in listed if row["name"] == "softened")
        assert row["error"].startswith(
            "Several packages have a mechanism 'softened': another-party, third-party. Hint: uninstall all but one"
        )
        setting = ["--embedding", vectors, "--epsilon", "1", "--mechanism", "softened"]
        done = run(Path(os.pathsep.join(order)), "perturb", "-", "-", *setting, text="tea at noon\n")
        assert (done.returncode, done.stdout) == (1, "")
