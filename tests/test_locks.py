"""The files of pinned versions, requirements-*.txt: every one hashed, and no address of a package index."""

import re
from pathlib import Path

import pytest

LOCKS = sorted(Path(__file__).parent.parent.glob("requirements-*.txt"))
PINNED = re.compile(r"[a-z0-9._-]+(\[[a-z0-9,_-]+\])?==[0-9][0-9a-z.+!]*( ; .+)?")


def test_there_is_one_for_each_environment() -> None:
    names = {path.stem.removeprefix("requirements-") for path in LOCKS}
    assert names == {"dev", "integrations", "litellm", "lowest", "spark", "torch"}


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.stem)
def test_every_version_is_hashed_and_no_index_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    requirements = [part.split("\\") for part in text.replace("\\\n", "\\").splitlines() if part]
    assert len(requirements) > 20
    for requirement, *hashes in requirements:
        assert PINNED.fullmatch(requirement.strip()), requirement
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", line.strip()) for line in hashes), requirement
    assert "://" not in text
    assert "index" not in re.sub(r"--hash=\S+", "", text)
