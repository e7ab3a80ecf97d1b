"""The planted mistakes: each trap that an integration closes, and the tests that notice if it is opened."""

from typing import Final

from benchmarks.planted import datasets, frames, litellm, presidio, prompts, sealed, shared, sklearn, spacy
from benchmarks.planted.mistake import Mistake

__all__ = ["MISTAKES", "Mistake"]

MISTAKES: Final = (
    *shared.MISTAKES,
    *datasets.MISTAKES,
    *presidio.MISTAKES,
    *sklearn.MISTAKES,
    *prompts.MISTAKES,
    *litellm.MISTAKES,
    *frames.MISTAKES,
    *spacy.MISTAKES,
    *sealed.MISTAKES,
)
