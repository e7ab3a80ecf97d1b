"""A run over a file that a test stops, and the work folder that it leaves."""

from pathlib import Path
from typing import Any

import pytest

import wordveil as wv

__all__ = ["StoppedRun"]


class StoppedRun:
    """A run over the column `m` of in.csv; the column `n` numbers the rows."""

    def __init__(self, folder: Path, perturber: wv.Perturber, texts: list[str]) -> None:
        self.source, self.target = folder / "in.csv", folder / "out.csv"
        self.work = folder / ".out.csv.wordveil"
        self._options: dict[str, Any] = {"perturber": perturber, "text": "m", "keep": "n", "workers": 1}
        self.source.write_text("n,m\n" + "".join(f"{row},{text}\n" for row, text in enumerate(texts)))

    def __call__(self, **more: Any) -> wv.FileRun:
        return wv.perturb_file(self.source, self.target, **(self._options | more))

    def stop_at(self, least: int) -> None:
        """Run until that many rows are done."""

        def watch(rows: int, words: int, share: float) -> None:
            if rows >= least:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self(watch=watch)
