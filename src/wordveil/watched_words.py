"""Words on sensitive topics, of which `explain` and the warnings say how well a setting hides them.

The list is ours, short and in English. It is public, and says nothing about your texts; `--watch FILE` adds
words.
"""

from typing import Final

__all__ = ["WATCHED_WORDS", "YOUR_LIST"]

YOUR_LIST: Final = "your list"
"""The topic of words that a user watches."""

_TOPICS: Final = {
    "health": """
        abortion addiction aids alcoholic allergy alzheimer anorexia antidepressant anxiety arthritis asthma
        autism bipolar cancer chemotherapy condom dementia depressed depression diabetes diabetic diagnosis
        disabled epilepsy hepatitis herpes hiv infertile insulin leukemia medication miscarriage overdose
        pregnancy pregnant psychiatrist rehab schizophrenia stroke suicidal suicide surgery therapist tumor
    """,
    "faith": """
        atheist baptist bible buddhist catholic christian church hindu islam jewish judaism quran mormon
        mosque muslim priest rabbi sikh synagogue
    """,
    "origin": """
        african arab asian chinese ethnic foreigner hispanic immigrant indian iranian iraqi korean latino
        mexican nigerian pakistani palestinian polish refugee russian syrian turkish vietnamese
    """,
    "orientation": """
        bisexual gay heterosexual homosexual lesbian queer sexuality transgender transsexual
    """,
    "politics": """
        activist communist conservative democrat liberal protest republican socialist strike union vote
    """,
    "money": """
        bankrupt bankruptcy broke debt divorce evicted fired foreclosure inheritance loan mortgage payday
        pension poverty salary unemployed unemployment wage welfare
    """,
    "crime": """
        abuse abused affair arrest arrested assault bribe convicted court criminal drugs fraud guilty gun
        harassment heroin jail lawsuit molested murder police prison probation rape stole theft victim
        violence
    """,
}

WATCHED_WORDS: Final = {word: topic for topic, words in _TOPICS.items() for word in words.split()}
"""The topic of each watched word."""
