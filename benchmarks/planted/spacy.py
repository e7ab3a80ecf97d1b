"""Mistakes in `wv.spacy`."""

from typing import Final

from benchmarks.planted.mistake import Mistake
from benchmarks.planted.paths import SPACY as _FILE
from benchmarks.planted.paths import SPACY_TESTS as _TESTS

# Otherwise a pipeline with such words refuses to be saved, and nothing looks at what it would write.
_NO_REFUSAL: Final = {
    "        self._has_read_words = self._has_read_words or not isinstance(doc.vocab, _PassingVocab)\n": ""
}

MISTAKES: Final = (
    Mistake(
        "spaCy: the new Doc refers to the vocabulary of the old one",
        _FILE,
        {"private = Doc(self._vocab, ": "private = Doc(doc.vocab, "},
        (
            f"{_TESTS}::test_saved_docs_have_no_texts",
            f"{_TESTS}::test_saved_docs_on_disk",
            f"{_TESTS}::test_what_is_written",
        ),
    ),
    Mistake(
        "spaCy: the tokenizer leaves clean words in the vocabulary of the pipeline",
        _FILE,
        {"    if not isinstance(nlp.tokenizer, _Undivided):": "    if False:", **_NO_REFUSAL},
        (
            f"{_TESTS}::test_docs_of_all_processes_and_the_pipeline_have_no_texts",
            f"{_TESTS}::test_what_is_written",
        ),
    ),
    Mistake(
        "spaCy: whole texts are in the vocabulary of the pipeline",
        _FILE,
        {"        doc = Doc(_PassingVocab(), ": "        doc = Doc(self._tokenizer.vocab, ", **_NO_REFUSAL},
        (f"{_TESTS}::test_docs_of_all_processes_and_the_pipeline_have_no_texts",),
    ),
    Mistake(
        "spaCy: the Doc is changed in place, with all that it has besides words",
        _FILE,
        {
            "        private = Doc(self._vocab, words=self.perturber(doc.text).split())\n": (
                "        private = Doc(self._vocab, words=self.perturber(doc.text).split())\n"
                "        private.user_data, private.cats = doc.user_data, doc.cats\n"
            )
        },
        (f"{_TESTS}::test_nothing_of_the_doc_is_left",),
    ),
    Mistake(
        "spaCy: as_tuples loses its contexts",
        _FILE,
        {"        private._context = doc._context\n": ""},
        (
            f"{_TESTS}::test_contexts_stay_with_their_texts[1]",
            f"{_TESTS}::test_contexts_stay_with_their_texts[2]",
        ),
    ),
    Mistake(
        "spaCy: a Doc that was not perturbed yet can't be pickled or copied",
        _FILE,
        {"copyreg.pickle(_PassingVocab, pickle_vocab)": "()"},
        (f"{_TESTS}::test_texts_arrive_as_they_are",),
        reason=r"TypeError: self\.c_map cannot be converted to a Python object for pickling",
    ),
    Mistake(
        "spaCy: with n_process=2 every process repeats the noise of the others",
        _FILE,
        {
            "words=self.perturber(doc.text).split())": "words=self.perturber.perturb([doc.text], stream=_stream)[0].split())",
            "__all__ = [": (
                "from wordveil.randomness import RunKey\n\n"
                "_stream = RunKey.of_run(bytes(32), True).stream()\n"
                "type(_stream)._check_home = lambda self: None\n\n"
                "__all__ = ["
            ),
        },
        (f"{_TESTS}::test_processes_draw_different_noise", f"{_TESTS}::test_what_is_written"),
    ),
    Mistake(
        "spaCy: a pipeline that was passed Docs is saved to disk",
        _FILE,
        {
            '        """Write nothing: the configuration of the pipeline has the setting. Refuse if it was passed Docs."""\n'
            "        self._check_unread()\n": '        """Write nothing."""\n'
        },
        (f"{_TESTS}::test_a_pipeline_that_was_passed_docs_is_not_saved[False-to_disk]",),
    ),
    Mistake(
        "spaCy: a pipeline that was passed Docs is saved as bytes",
        _FILE,
        {"        self._check_unread()\n        return b": "        return b"},
        (f"{_TESTS}::test_a_pipeline_that_was_passed_docs_is_not_saved[False-to_bytes]",),
    ),
    Mistake(
        "spaCy: a pipeline that was passed Docs is pickled",
        _FILE,
        {"        self._check_unread()\n        return PrivateDocs": "        return PrivateDocs"},
        (f"{_TESTS}::test_a_pipeline_that_was_passed_docs_is_not_saved[False-pickle]",),
    ),
    Mistake(
        "spaCy: a Doc that was read from bytes is not noticed",
        _FILE,
        {"not isinstance(doc.vocab, _PassingVocab)": "len(doc.user_data) > 0"},
        (f"{_TESTS}::test_a_pipeline_that_was_passed_docs_is_not_saved",),
    ),
    Mistake(
        "spaCy: the replaced tokenizer reads texts by another method",
        _FILE,
        {"    def explain(": "    def _not_explain("},
        (f"{_TESTS}::test_the_replaced_tokenizer_does_not_read_texts",),
    ),
    Mistake(
        "spaCy: what is set beside a profile is left aside",
        _FILE,
        {
            "        if any(value is not None for value in (epsilon, lam, dims, mechanism, answer, embedding)):": (
                "        if False:"
            )
        },
        (f"{_TESTS}::test_a_profile_beside_what_it_sets_is_refused",),
    ),
)
