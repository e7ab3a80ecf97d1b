"""How often English words are used: one `word<TAB>uses per billion` per line, in a gzip file at `PATH`."""

from pathlib import Path
from typing import Final

__all__ = ["PATH"]

PATH: Final = Path(__file__).with_name("english.tsv.gz")
