"""spaCy: what its vocabularies would keep of the texts."""

import pickle
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

import wordveil as wv

from .checks import SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, check_pickle, run


@pytest.fixture
def nlp(perturber: wv.Perturber) -> Any:
    nlp = spacy.blank("en")
    component = nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
    object.__setattr__(component, "perturber", perturber)  # quick, and of few words
    nlp.add_pipe("sentencizer")
    return nlp


def test_the_factory_is_known_by_its_entry_point(watched: Path) -> None:
    code = "import spacy; nlp = spacy.blank('en'); nlp.add_pipe('wordveil', config={'profile': 'strong'}); "
    assert run(code + "print(*nlp.pipe_names, type(nlp.get_pipe('wordveil')).__name__)", watched) == [
        "wordveil PrivateDocs"
    ]


def test_every_call_draws_anew(nlp: Any) -> None:
    check_distinct([nlp(TEXT).text, nlp(TEXT).text, *(doc.text for doc in nlp.pipe([TEXT] * 3))])
    assert len(nlp(TEXT)) == 49
    assert len(nlp("")) == 0


def test_nothing_of_the_doc_is_left(nlp: Any) -> None:
    original = nlp.make_doc(TEXT)
    original.user_data["note"] = SECRET
    original.cats = {SECRET: 1.0}
    private = nlp.get_pipe("wordveil")(original)
    assert not private.user_data
    assert not private.cats
    assert SECRET in nlp.vocab.strings  # the trap
    assert SECRET not in private.vocab.strings
    assert private.vocab is not nlp.vocab


@pytest.mark.parametrize("save", [pickle.dumps, Doc.to_bytes, lambda doc: DocBin(docs=[doc]).to_bytes()])
def test_saved_docs_have_no_texts(save: Any, nlp: Any) -> None:
    assert SECRET.encode() in pickle.dumps(nlp.make_doc(TEXT))  # the trap
    assert SECRET.encode() not in save(nlp(TEXT))


def test_saved_docs_on_disk(nlp: Any, tmp_path: Path) -> None:
    doc = nlp(TEXT)
    doc.to_disk(tmp_path / "doc")
    doc.vocab.to_disk(tmp_path / "vocab")
    assert len(check_no_secret(tmp_path)) > 1


def test_later_components_and_attributes_work(nlp: Any) -> None:
    doc = nlp(TEXT)
    assert len([*doc.sents]) >= 1
    assert all(token.is_alpha and token.is_lower for token in doc)


@pytest.mark.parametrize("n_process", [1, 2])
def test_contexts_stay_with_their_texts(n_process: int, nlp: Any) -> None:
    texts = [" ".join(["tea"] * (number + 1)) for number in range(10)]
    pairs = list(
        nlp.pipe(zip(texts, range(10), strict=True), as_tuples=True, n_process=n_process, batch_size=2)
    )
    assert [(len(doc), context) for doc, context in pairs] == [(number + 1, number) for number in range(10)]


def test_processes_draw_different_noise(nlp: Any) -> None:
    nlp(TEXT)  # a stream of this process exists when the others start
    check_distinct(doc.text for doc in nlp.pipe([TEXT] * 8, n_process=2, batch_size=1))


SAVES = {
    "to_disk": lambda nlp, folder: nlp.to_disk(folder),
    "to_bytes": lambda nlp, folder: (folder / "bytes").write_bytes(nlp.to_bytes()),
    "pickle": lambda nlp, folder: (folder / "pickle").write_bytes(pickle.dumps(nlp)),
}


@pytest.mark.parametrize("name", SAVES)
def test_a_pipeline_that_has_read_texts_is_not_saved(name: str, nlp: Any, tmp_path: Path) -> None:
    nlp(TEXT)
    with pytest.raises(wv.WordveilError, match=r"inside of 'with nlp.memory_zone\(\):'"):
        SAVES[name](nlp, tmp_path)
    check_no_secret(tmp_path)


@pytest.mark.parametrize("name", SAVES)
def test_a_pipeline_that_forgets_texts_can_be_saved(name: str, nlp: Any, tmp_path: Path) -> None:
    with nlp.memory_zone():
        docs = list(nlp.pipe([TEXT] * 3))
    check_distinct(doc.text for doc in docs)  # still valid: their words are not in the zone
    SAVES[name](nlp, tmp_path)
    assert check_no_secret(tmp_path)
    nlp(TEXT)
    with pytest.raises(wv.WordveilError, match="has the words"):
        SAVES[name](nlp, tmp_path)


def test_without_the_refusal_a_saved_pipeline_has_the_words(tmp_path: Path) -> None:
    """Why it is refused. If this fails, spaCy has changed."""
    nlp = spacy.blank("en")
    nlp(TEXT)
    nlp.to_disk(tmp_path)
    with pytest.raises(AssertionError):
        check_no_secret(tmp_path)


def test_a_saved_pipeline_is_loaded_with_its_setting(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("wordveil", config={"epsilon": 6.0, "lam": 0.5, "dims": 10, "pad_to": 7})
    nlp.to_disk(tmp_path)
    loaded = spacy.load(tmp_path)
    pipelines: list[Any] = [nlp, loaded]
    first, second = (pipeline.get_pipe("wordveil").perturber for pipeline in pipelines)
    assert first.mechanism.parameters() == second.mechanism.parameters()
    assert first.fingerprint == second.fingerprint
    assert len(loaded(TEXT)) == 7


def test_the_component_is_pickled_without_keys_and_vectors() -> None:
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("wordveil", config={"profile": "balanced"})
    component.perturber(TEXT)
    check_pickle(pickle.dumps(component))


def test_what_is_written(watched: Path) -> None:
    lines = run(
        """
        import pickle, spacy
        nlp = spacy.blank("en")
        nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
        with nlp.memory_zone():
            # First in other processes: their Docs refer to the vocabulary of the pipeline in this one.
            for processes in (2, 1):
                for number, doc in enumerate(nlp.pipe([TEXT] * 3, n_process=processes, batch_size=1)):
                    print(doc.text)
                    open(f"doc{processes}{number}", "wb").write(pickle.dumps(doc))
        nlp.to_disk("nlp")
        """,
        watched,
    )
    assert len(lines) == 6
    check_distinct(lines)
    assert len(check_no_secret(watched)) > 6
    check_no_keys(watched, least=3)


def test_a_setting_is_needed() -> None:
    nlp = spacy.blank("en")
    with pytest.raises(wv.ParameterError, match="needs a profile or an epsilon"):
        nlp.add_pipe("wordveil")
