"""The nearest word, exactly: one contract, several ways to fulfil it.

`ScreenedSearch` (in `screened`) and `TorchSearch` (in `cuda`) need extras, and are imported from their files.
"""

from wordveil.nearest.automatic import AutomaticSearch
from wordveil.nearest.brute import BruteSearch
from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch

__all__ = ["AutomaticSearch", "BruteSearch", "NearestSearch", "SingleSearch"]
