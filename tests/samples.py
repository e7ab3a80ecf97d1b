"""Words and texts that tests in several folders use."""

__all__ = ["SMALL_WORDS", "TOPICS"]

SMALL_WORDS = [
    "book",
    "a",
    "flight",
    "to",
    "boston",
    "please",
    "tea",
    "call",
    "me",
    "at",
    "noon",
    "the",
    "red",
    "house",
    "is",
    "on",
    "fire",
    "now",
]

TOPICS = {
    "ABBR": "what does the letters abbreviation stand for",
    "DESC": "why is the definition of meaning",
    "ENTY": "which animal colour food sport",
    "HUM": "who was the president actor singer",
    "LOC": "where is the city country river",
    "NUM": "how many years miles dollars",
}
"""Words of questions of six classes, as in TREC."""
