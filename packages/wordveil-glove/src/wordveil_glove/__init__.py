"""The default vectors of wordveil, in the file at `PATH`, and a map of their words at `MAP_PATH`.

`PREPARED_PATH` is a folder of what wordveil would otherwise compute from them in its first seconds.
"""

from pathlib import Path
from typing import Final

__all__ = ["MAP_PATH", "PATH", "PREPARED_PATH"]

PATH: Final = Path(__file__).with_name("glove-840b-300d.safetensors")
MAP_PATH: Final = Path(__file__).with_name("glove-840b-map10.safetensors")
PREPARED_PATH: Final = Path(__file__).with_name("prepared")
