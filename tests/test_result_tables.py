"""Tables in the README and the documentation have the numbers of the stored results."""

from pathlib import Path

import pytest
from benchmarks import peer_docs, speed_docs

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


def test_speed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / speed_docs.PAGE).read_text(encoding="utf-8")
    copy = tmp_path / "speed.md"
    copy.write_text("".join(line for line in text.splitlines(True) if " dims" not in line), encoding="utf-8")
    monkeypatch.setattr(speed_docs, "RESULTS", ROOT / speed_docs.RESULTS)
    monkeypatch.setattr(speed_docs, "PAGE", copy)
    speed_docs.main()
    assert copy.read_text(encoding="utf-8").count("dims |") == text.count("dims |") == 6
    for table in ("calls", "searches"):
        start, end = f"<!-- {table} -->", f"<!-- end of {table} -->"
        assert (
            copy.read_text(encoding="utf-8").split(start)[1].split(end)[0]
            == text.split(start)[1].split(end)[0]
        )
