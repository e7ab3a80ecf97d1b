"""The pages about audits and the threat model: every test that they name exists, and counts are right."""

import re
from pathlib import Path

import pytest
from benchmarks import attack_docs

import wordveil as wv

from . import test_audit_planted as planted

ROOT = Path(__file__).parents[2]
# Besides those in tables: two digests, a run key, an ordinal, two in scores, a manifest, an unsafe policy.
ALONE = 8


@pytest.fixture(scope="module")
def names() -> set[str]:
    """Return the names of all test files, without their ending, and of all test functions."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    functions = [re.findall(r"def (test_\w+)", file.read_text(encoding="utf-8")) for file in files]
    return {file.stem for file in files}.union(*functions)


@pytest.mark.parametrize("page", ["docs/threat-model.md", "docs/audit.md"])
def test_every_named_test_exists(page: str, names: set[str]) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    paths = re.findall(r"tests/[\w/.-]*\w", text)
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
    assert set(re.findall(r"test_\w+", text)) - names == set()


def test_every_check_that_the_threat_model_names_exists() -> None:
    text = (ROOT / "docs/threat-model.md").read_text(encoding="utf-8")
    code = "".join(path.read_text("utf-8") for path in (ROOT / "src/wordveil/evaluation").glob("audit*.py"))
    checks = [
        name for part in re.findall(r"audit[:,] ([^|`]*)", text) for name in re.findall(r'"([^"]+)"', part)
    ]
    assert len(checks) >= 5
    assert [check for check in checks if check not in code] == []


def test_the_number_of_planted_mistakes() -> None:
    tables = (planted.NOISE, planted.STREAMS, planted.PERTURBERS)
    kinds = {kind for table in tables for kind, _, _ in table.values()}
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    assert f"plants {len(kinds) + ALONE} different mistakes" in text


def test_words_that_are_left_out_are_counted() -> None:
    swear = min(wv.BlockList.english().words)
    assert attack_docs.easiest_table([["tea", 0.5, "rare"]])[0] == "1 of the 1 easiest words:"
    head, *rows = attack_docs.easiest_table([["tea", 0.5, "rare"], [swear, 0.4, "rare"]])
    assert head == "1 of the 2 easiest words (1 swear word left out):"
    assert rows[-1] == "| `tea` | 50% | rare |"


def test_only_measured_settings_of_the_paper_are_named() -> None:
    row = {"mechanism": "mahalanobis", "dims": 300, "lam": 1.0, "name": "paper, ε = 5"}
    assert "in 300 dimensions at λ = 1, with" in attack_docs.settings_line([row])
    with pytest.raises(ValueError, match="too many values"):  # then the sentence has to be another one
        attack_docs.settings_line([row, row | {"lam": 0.0}])


def test_the_tables_are_those_of_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "audit.md"
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if not re.match(r"\| .*%", line)]
    copy.write_text("\n".join(rows) + "\n", encoding="utf-8")  # without the rows with numbers
    monkeypatch.setattr(attack_docs, "RESULTS", ROOT / attack_docs.RESULTS)
    monkeypatch.setattr(attack_docs, "PAGE", copy)
    attack_docs.main()
    start = "<!-- settings -->"
    assert copy.read_text(encoding="utf-8").split(start)[1] == text.split(start)[1]
