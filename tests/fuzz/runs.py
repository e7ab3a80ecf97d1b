"""A small run over a file with a secret in it, and the folder that it works in."""

import shutil
from pathlib import Path
from typing import Final

import pytest

import wordveil as wv
from tests.stopped_runs import StoppedRun
from wordveil.runs import publishing
from wordveil.runs import run as run_module
from wordveil.tables import base

from .rules import SECRET

__all__ = ["ROWS", "SmallRun"]

ROWS: Final = 12


class SmallRun(StoppedRun):
    """A run of three chunks, each of which is committed; its work folder can be saved and put back."""

    def __init__(self, folder: Path, perturber: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(base, "CHUNK_ROWS", ROWS // 3)
        monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
        super().__init__(folder, perturber, [f"tea at {SECRET}"] * ROWS)
        self._monkeypatch = monkeypatch
        self.folder = folder

    def stop(self) -> dict[str, bytes]:
        """Stop a run after its second chunk; return the files of its work folder."""
        self.stop_at(ROWS // 3 + 1)
        return self._taken()

    def stop_at_the_end(self) -> dict[str, bytes]:
        """Stop a run before it can publish anything; return the files of its work folder."""

        def killed(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with self._monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(publishing, "publish", killed)
            self()
        return self._taken()

    def _taken(self) -> dict[str, bytes]:
        files = {path.name: path.read_bytes() for path in self.work.iterdir()}
        self.clear()
        return files

    def clear(self) -> None:
        """Remove all but the input."""
        for path in self.folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != self.source:
                path.unlink()

    def put_back(self, files: dict[str, bytes]) -> None:
        """Create the work folder again, with these files."""
        self.clear()
        self.work.mkdir(mode=0o700)
        for name, data in files.items():
            (self.work / name).write_bytes(data)

    def check_complete(self) -> None:
        """Check that the output has every row, no secret, and that no work folder is left."""
        rows = self.target.read_text().splitlines()[1:]
        assert [row.split(",")[0] for row in rows] == [str(number) for number in range(ROWS)]
        assert SECRET not in self.target.read_text()
        assert not self.work.exists()
