"""The default vectors of wordveil, in one memory-mapped file at `PATH`."""

from pathlib import Path
from typing import Final

__all__ = ["PATH"]

PATH: Final = Path(__file__).with_name("glove-840b-300d.safetensors")
