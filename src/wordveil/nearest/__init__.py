"""The nearest word, exactly: one contract, several ways to fulfil it."""

from wordveil.nearest.brute import BruteSearch
from wordveil.nearest.screened import ScreenedSearch
from wordveil.nearest.search import NearestSearch

__all__ = ["BruteSearch", "NearestSearch", "ScreenedSearch"]
