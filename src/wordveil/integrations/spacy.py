"""spaCy: the pipeline component `wordveil`, which replaces a Doc by a private one (extra `spacy`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from wordveil.embedding import load_embedding
from wordveil.errors import ParameterError, WordveilError, sealed
from wordveil.integrations.library import checked_perturber, library
from wordveil.mechanisms import make_mechanism
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.policy import Policy

__all__ = ["PrivateDocs"]

library("spacy", "spacy", "wv.spacy")
from spacy.language import Language  # noqa: E402
from spacy.tokens import Doc  # noqa: E402
from spacy.vocab import Vocab  # noqa: E402

_DEFAULTS: Final = {
    "profile": None,
    "epsilon": None,
    "lam": None,
    "dims": None,
    "mechanism": "mahalanobis",
    "answer": None,
    "embedding": None,
    "pad_to": None,
}


class PrivateDocs:
    """Replaces every Doc by a new one of private words; `nlp.add_pipe("wordveil", first=True)` creates it.

    The new Doc has a vocabulary of its own: that of the pipeline keeps every word that it has ever read, and
    whatever refers to it would take them along when it is saved or pickled. For the same reason a pipeline
    that has read texts can't be saved or pickled, unless it read them inside of `nlp.memory_zone()`, which
    forgets them.

    Parameters
    ----------
    perturber : Perturber
        Makes the texts private.

    Examples
    --------
    >>> import spacy
    >>> nlp = spacy.blank("en")
    >>> component = nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
    >>> with nlp.memory_zone():
    ...     doc = nlp("book a flight to Boston")
    >>> len(doc), doc.vocab is nlp.vocab
    (5, False)
    """

    def __init__(self, perturber: Perturber) -> None:
        self.perturber: Final = checked_perturber(perturber, "wv.spacy.PrivateDocs")
        self._vocab: Vocab | None = None
        self._in_zone = self._has_read = False
        warn_if_weak(perturber, None, stacklevel=3)

    @sealed
    def __call__(self, doc: Doc) -> Doc:
        """Return a new Doc of private words, and nothing else of the old one but its `as_tuples` context."""
        self._has_read = self._has_read or not self._in_zone
        if self._vocab is None:
            attributes = doc.vocab.lex_attr_getters  # type: ignore[attr-defined]  # missing in spaCy's types
            self._vocab = Vocab(lex_attr_getters=attributes)
        private = Doc(self._vocab, words=self.perturber(doc.text).split())
        private._context = doc._context
        return private

    @contextmanager
    def memory_zone(self, memory: Any = None) -> Iterator[Any]:
        """Note that spaCy forgets the words that it reads now; `nlp.memory_zone()` calls it."""
        outer, self._in_zone = self._in_zone, True
        try:
            yield memory
        finally:
            self._in_zone = outer

    def to_disk(self, path: str | Path, *, exclude: Any = ()) -> None:  # noqa: ARG002  # spaCy's names
        """Write nothing: the configuration of the pipeline has the setting. Refuse if it has read texts."""
        self._check_unread()

    def to_bytes(self, *, exclude: Any = ()) -> bytes:  # noqa: ARG002
        """Return nothing; refuse if the pipeline has read texts."""
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
        if self._has_read:
            raise WordveilError(
                "The vocabulary of this pipeline has the words of texts that it read, and is saved too. "
                "Hint: save it before, or read texts inside of 'with nlp.memory_zone():'."
            )


@Language.factory("wordveil", default_config=_DEFAULTS)
def make_component(
    nlp: Language,  # noqa: ARG001  # spaCy's names
    name: str,  # noqa: ARG001
    profile: str | None,
    epsilon: float | None,
    lam: float | None,
    dims: int | None,
    mechanism: str,
    answer: str | None,
    embedding: str | None,
    pad_to: int | None,
) -> PrivateDocs:
    """Return the component of a configuration: a profile, or a setting with ε."""
    policy = Policy(pad_to=pad_to)
    if profile is not None:
        return PrivateDocs(Perturber.from_profile(profile, policy))
    if epsilon is None:
        raise ParameterError("The component 'wordveil' needs a profile or an epsilon. Hint: config={…}.")
    vectors = load_embedding(embedding)
    options: dict[str, Any] = {
        key: value for key, value in (("lam", lam), ("answer", answer)) if value is not None
    }
    projected = vectors if dims is None else vectors.project(dims)
    return PrivateDocs(Perturber(make_mechanism(mechanism, projected, epsilon, **options), policy))
