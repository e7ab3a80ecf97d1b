"""The default vectors of wordveil, as one memory-mapped file; `PATH` says where it lies."""

from pathlib import Path
from typing import Final

__all__ = ["PATH"]

PATH: Final = Path(__file__).with_name("glove-840b-300d.safetensors")
