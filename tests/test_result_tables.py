"""Tables in the README and the documentation have the numbers of the stored results."""

from pathlib import Path

import pytest
from benchmarks import peer_docs

ROOT = Path(__file__).parent.parent


def test_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_docs, "RESULTS", ROOT / peer_docs.RESULTS)
    for name in ("README", "FAMILY"):
        page = ROOT / getattr(peer_docs, name)
        copy = tmp_path / page.name
        copy.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(peer_docs, name, copy)
    peer_docs.main()
    for page in (ROOT / "README.md", ROOT / "docs" / "family.md"):
        assert (tmp_path / page.name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    assert "| fails |" in (tmp_path / "family.md").read_text(encoding="utf-8")  # of a peer, and not left out
