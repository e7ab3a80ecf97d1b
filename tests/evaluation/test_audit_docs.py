"""The pages about audits and the threat model: every test that they name exists, and counts are right."""

import re
from pathlib import Path

import pytest
from benchmarks import attack_docs

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


def test_the_tables_are_those_of_the_stored_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "audit.md"
    text = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if not re.match(r"\| .*%", line)]
    copy.write_text("\n".join(rows) + "\n", encoding="utf-8")  # without the rows with numbers
    monkeypatch.setattr(attack_docs, "RESULTS", ROOT / attack_docs.RESULTS)
    monkeypatch.setattr(attack_docs, "PAGE", copy)
    attack_docs.main()
    assert copy.read_text(encoding="utf-8").split("<!-- words -->")[1] == text.split("<!-- words -->")[1]
