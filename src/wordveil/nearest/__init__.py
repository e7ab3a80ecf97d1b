"""The exact nearest word: one contract and several implementations.

`ScreenedSearch` (in `screened`) and `TorchSearch` (in `cuda`) load large libraries, so import them from their
own modules.
"""

from wordveil.nearest.automatic import AutomaticSearch
from wordveil.nearest.brute import BruteSearch
from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch

__all__ = ["AutomaticSearch", "BruteSearch", "NearestSearch", "SingleSearch"]
