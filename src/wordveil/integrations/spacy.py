"""spaCy: the pipeline component `wordveil`, which replaces a Doc by a private one (extra `spacy`)."""

import copyreg
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NoReturn

from wordveil.embedding import load_embedding
from wordveil.errors import ParameterError, WordveilError, parameter_error, sealed
from wordveil.integrations.library import checked_perturber, library
from wordveil.mechanisms import make_mechanism
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.policy import Policy

__all__ = ["PrivateDocs"]

library("spacy", "spacy", "wv.spacy")
from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.vocab import Vocab, pickle_vocab  # noqa: E402

_MECHANISM: Final = "mahalanobis"
# All are None, so that a profile and what it sets are never both given unnoticed.
_DEFAULTS: Final = {
    "profile": None,
    "epsilon": None,
    "lam": None,
    "dims": None,
    "mechanism": None,
    "answer": None,
    "embedding": None,
    "pad_to": None,
}


class _PassingVocab(Vocab):
    """The vocabulary of one text, which is gone when the text is."""


copyreg.pickle(_PassingVocab, pickle_vocab)  # spaCy registers the class Vocab itself only


class _Undivided:
    """In place of a tokenizer: a Doc of one token, which is the text, and no word for `nlp.vocab` to keep.

    Everything else is that of the tokenizer, which is saved and loaded as before.
    """

    def __init__(self, tokenizer: Any, attributes: Any) -> None:
        self._tokenizer, self._attributes = tokenizer, attributes

    def __call__(self, text: str) -> Doc:
        words = [text] if text else []
        doc = Doc(_PassingVocab(), words=words, spaces=[False] * len(words))
        doc.vocab.lex_attr_getters = self._attributes  # type: ignore[attr-defined]  # for the private Doc
        return doc

    def pipe(self, texts: Iterable[str], batch_size: int = 1000) -> Iterator[Doc]:  # noqa: ARG002  # spaCy's
        """Yield the Doc of each text."""
        return map(self, texts)

    @sealed
    def explain(self, text: str) -> NoReturn:  # noqa: ARG002  # spaCy's name
        """Refuse: the tokenizer would put the words into the vocabulary of the pipeline."""
        raise WordveilError(
            "This tokenizer leaves texts whole, and the one that it replaces would keep their words. "
            "Hint: spacy.blank(nlp.lang).tokenizer.explain(text), which is of no pipeline."
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pickle asks for some before there is a tokenizer
            raise AttributeError(name)
        return getattr(self._tokenizer, name)


class PrivateDocs:
    """Replaces every Doc by a new one of private words; `nlp.add_pipe("wordveil", first=True)` creates it.

    It also replaces the tokenizer of the pipeline by one that leaves texts whole, in a vocabulary of their
    own: that of the pipeline keeps every word that it reads, and takes them along when it, or a Doc that
    refers to it, is saved or pickled. Docs that are passed instead of texts have been read already, so a
    pipeline that was passed one can't be saved or pickled.

    Parameters
    ----------
    perturber : Perturber
        Makes the texts private.

    Examples
    --------
    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
    >>> doc = nlp("book a flight to Boston")
    >>> len(doc), "Boston" in nlp.vocab.strings
    (5, False)
    """

    def __init__(self, perturber: Perturber) -> None:
        self.perturber: Final = checked_perturber(perturber, "wv.spacy.PrivateDocs")
        self._vocab: Vocab | None = None
        self._has_read_words = False
        warn_if_weak(perturber, None, stacklevel=3)

    @sealed
    def __call__(self, doc: Doc) -> Doc:
        """Return a new Doc of private words, and nothing else of the old one but its `as_tuples` context."""
        if not isinstance(doc, Doc):
            raise parameter_error("doc", "the component 'wordveil'", "be a Doc", doc)
        self._has_read_words = self._has_read_words or not isinstance(doc.vocab, _PassingVocab)
        if self._vocab is None:
            attributes = doc.vocab.lex_attr_getters  # type: ignore[attr-defined]  # missing in spaCy's types
            self._vocab = Vocab(lex_attr_getters=attributes)
        private = Doc(self._vocab, words=self.perturber(doc.text).split())
        private._context = doc._context
        return private

    def to_disk(self, path: str | Path, *, exclude: Any = ()) -> None:  # noqa: ARG002  # spaCy's names
        """Write nothing: the configuration of the pipeline has the setting. Refuse if it was passed Docs."""
        self._check_unread()

    def to_bytes(self, *, exclude: Any = ()) -> bytes:  # noqa: ARG002
        """Return nothing; refuse if the pipeline was passed Docs."""
        self._check_unread()
        return b""

    def from_disk(self, path: str | Path, *, exclude: Any = ()) -> "PrivateDocs":  # noqa: ARG002
        """Return the component as it is."""
        return self

    def from_bytes(self, data: bytes, *, exclude: Any = ()) -> "PrivateDocs":  # noqa: ARG002
        """Return the component as it is."""
        return self

    def __reduce__(self) -> tuple[type["PrivateDocs"], tuple[Perturber]]:
        self._check_unread()
        return PrivateDocs, (self.perturber,)

    def _check_unread(self) -> None:
        if self._has_read_words:
            raise WordveilError(
                "This pipeline was passed Docs, whose words its vocabulary may have, and that is saved too. "
                "Hint: save it before, or pass texts."
            )


@Language.factory("wordveil", default_config=_DEFAULTS)
def make_component(
    nlp: Language,
    name: str,  # noqa: ARG001  # spaCy's names
    profile: str | None,
    epsilon: float | None,
    lam: float | None,
    dims: int | None,
    mechanism: str | None,
    answer: str | None,
    embedding: str | None,
    pad_to: int | None,
) -> PrivateDocs:
    """Return the component of a configuration, a profile or a setting with ε; wrap the tokenizer of `nlp`."""
    policy = Policy(pad_to=pad_to)
    if profile is not None:
        if any(value is not None for value in (epsilon, lam, dims, mechanism, answer, embedding)):
            raise ParameterError(
                "The profile of the component 'wordveil' sets epsilon, lam, dims, mechanism, answer and "
                "embedding. Hint: leave out the profile, or the others."
            )
        perturber = Perturber.from_profile(profile, policy)
    elif epsilon is None:
        raise ParameterError("The component 'wordveil' needs a profile or an epsilon. Hint: config={…}.")
    else:
        vectors = load_embedding(embedding)
        options: dict[str, Any] = {
            key: value for key, value in (("lam", lam), ("answer", answer)) if value is not None
        }
        projected = vectors if dims is None else vectors.project(dims)
        chosen = make_mechanism(_MECHANISM if mechanism is None else mechanism, projected, epsilon, **options)
        perturber = Perturber(chosen, policy)
    component = PrivateDocs(perturber)
    if not isinstance(nlp.tokenizer, _Undivided):
        nlp.tokenizer = _Undivided(nlp.tokenizer, nlp.vocab.lex_attr_getters)  # type: ignore[attr-defined]
    return component
