"""The manifest and the private report beside an output, which a resumed run reads."""

import json
from pathlib import Path

import pytest
from hypothesis import strategies as st

import wordveil as wv
from wordveil.report.released import read_manifest
from wordveil.report.released_explanation import explain_manifest

from .budget import Budget
from .mutations import altered, as_json, damaged, weighted
from .rules import Rules
from .runs import ROWS, SmallRun

pytestmark = pytest.mark.fuzz


def documents(data: bytes, part: str) -> st.SearchStrategy[bytes]:
    """A damaged document, most of them in the part that is read."""
    valid = json.loads(data)
    inside = altered(valid[part]).map(lambda value: valid | {part: value})
    return weighted((1, damaged([data])), (1, altered(valid).map(as_json)), (4, inside.map(as_json)))


def test_manifests(
    budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SmallRun(folder, noisy, monkeypatch)
    done = run()
    files = {path.name: path.read_bytes() for path in (done.output, done.manifest, done.private)}

    def example(case: tuple[str, bytes]) -> str:
        run.clear()
        for name, data in (files | dict([case])).items():
            (folder / name).write_bytes(data)
        resumed = rules.call(lambda: run(resume=True))
        assert done.output.read_bytes() == files[done.output.name]
        assert not run.work.exists()
        if isinstance(resumed, wv.WordveilError):
            return "refused"
        assert isinstance(resumed.rows, int)
        return "complete" if resumed.rows == ROWS else "complete with other counts"

    read = {done.manifest.name: "output", done.private.name: "made_from"}
    cases = [st.tuples(st.just(name), documents(files[name], part)) for name, part in read.items()]
    budget.spend(st.one_of(cases), example)


def test_explained_manifests(
    budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What somebody else released is refused in one line, or explained in printable characters."""
    data = SmallRun(folder, noisy, monkeypatch)().manifest.read_bytes()
    path, valid = folder / "released.json", json.loads(data)

    def example(document: bytes) -> str:
        path.write_bytes(document)
        released = rules.call(lambda: read_manifest(path))
        if isinstance(released, wv.WordveilError):
            return "refused"
        text = explain_manifest(released, "", registered=False)
        assert all(letter.isprintable() or letter == "\n" for letter in text)
        json.dumps(released.to_dict(), allow_nan=False)
        return "explained"

    parts = [documents(data, part) for part in valid if isinstance(valid[part], dict)]
    budget.spend(st.one_of(parts), example)
