"""spaCy: what its vocabularies would keep of the texts."""

import copy
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin

import wordveil as wv

from .checks import (
    SECRET,
    TEXT,
    check_distinct,
    check_no_keys,
    check_no_secret,
    check_pickle,
    has_secret,
    run,
)


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
    assert SECRET not in private.vocab.strings
    assert private.vocab is not nlp.vocab


def docbin(doc: Doc) -> bytes:
    return zlib.decompress(DocBin(docs=[doc]).to_bytes())


@pytest.mark.parametrize("save", [pickle.dumps, Doc.to_bytes, docbin])
def test_saved_docs_have_no_texts(save: Any, nlp: Any) -> None:
    assert has_secret(save(spacy.blank("en")(TEXT)))  # the trap
    assert not has_secret(save(nlp(TEXT)))


@pytest.mark.parametrize("n_process", [1, 2])
@pytest.mark.parametrize("as_tuples", [False, True])
def test_docs_of_all_processes_and_the_pipeline_have_no_texts(
    n_process: int, as_tuples: bool, nlp: Any, tmp_path: Path
) -> None:
    """spaCy reads texts with contexts in this process, and Docs that come back refer to `nlp.vocab`."""
    nlp(TEXT)
    nlp.make_doc(TEXT)
    texts = [(TEXT, 1), (TEXT, 2)] if as_tuples else [TEXT, TEXT]
    answers = list(nlp.pipe(texts, as_tuples=as_tuples, n_process=n_process, batch_size=1))
    docs = [answer[0] for answer in answers] if as_tuples else answers
    check_distinct(doc.text for doc in docs)
    assert [doc.vocab is nlp.vocab for doc in docs] == [n_process == 2] * 2
    for number, doc in enumerate(docs):
        (tmp_path / str(number)).write_bytes(pickle.dumps(doc))
    for name, save in SAVES.items():
        (tmp_path / name).mkdir()
        save(nlp, tmp_path / name)
    assert len(check_no_secret(tmp_path)) > 8


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


SAVES: dict[str, Any] = {
    "to_disk": lambda nlp, folder: nlp.to_disk(folder),
    "to_bytes": lambda nlp, folder: (folder / "bytes").write_bytes(nlp.to_bytes()),
    "pickle": lambda nlp, folder: (folder / "pickle").write_bytes(pickle.dumps(nlp)),
}


@pytest.mark.parametrize("name", SAVES)
@pytest.mark.parametrize("as_bytes", [False, True])
def test_a_pipeline_that_was_passed_docs_is_not_saved(
    name: str, as_bytes: bool, nlp: Any, tmp_path: Path
) -> None:
    doc = Doc(nlp.vocab, words=TEXT.split())
    private = nlp(doc.to_bytes() if as_bytes else doc)
    assert not has_secret(pickle.dumps(private))
    with pytest.raises(wv.WordveilError, match="Hint: save it before, or pass texts"):
        SAVES[name](nlp, tmp_path)
    check_no_secret(tmp_path)


@pytest.mark.parametrize("text", ["", " ", "\n\n", f" {TEXT}\t\n{TEXT} "])
def test_texts_arrive_as_they_are(text: str, nlp: Any) -> None:
    doc = nlp.make_doc(text)
    assert doc.text == text
    assert pickle.loads(pickle.dumps(doc)).text == copy.deepcopy(doc).text == text
    assert [doc.text for doc in nlp.tokenizer.pipe([text])] == [text]
    assert len(nlp(text)) == len(text.split())


def test_the_replaced_tokenizer_does_not_read_texts(nlp: Any, check_sealed: Any) -> None:
    with pytest.raises(wv.WordveilError, match="leaves texts whole") as caught:
        nlp.tokenizer.explain(TEXT)
    check_sealed(caught.value, SECRET)
    assert SECRET not in nlp.vocab.strings
    assert not has_secret(pickle.dumps(nlp))


def test_texts_that_were_read_before_stay_in_the_vocabulary() -> None:
    """docs/integrations/spacy.md says so."""
    nlp = spacy.blank("en")
    nlp(TEXT)
    nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
    assert has_secret(pickle.dumps(nlp))


def test_memory_zones_work(nlp: Any) -> None:
    with nlp.memory_zone():
        docs = list(nlp.pipe([TEXT] * 3))
    check_distinct(doc.text for doc in docs)  # still valid: their words are not in the zone


def test_the_tokenizer_is_saved_and_loaded(nlp: Any, tmp_path: Path) -> None:
    nlp.tokenizer.add_special_case("teatime", [{"ORTH": "tea"}, {"ORTH": "time"}])
    pickled = pickle.loads(pickle.dumps(nlp))
    nlp.to_disk(tmp_path)
    loaded: list[Any] = [pickled, spacy.load(tmp_path), spacy.blank("en").from_bytes(nlp.to_bytes())]
    for other in loaded:
        assert other.tokenizer.rules.keys() == nlp.tokenizer.rules.keys()
        assert "teatime" in other.tokenizer.rules
    assert len(pickled("tea time")) == 2
    assert not has_secret(pickle.dumps(pickled(TEXT)))


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
        for processes in (1, 2):
            texts = [(TEXT, number) for number in range(3)]
            for doc, number in nlp.pipe(texts, as_tuples=True, n_process=processes, batch_size=1):
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


SET_BY_PROFILE: dict[str, Any] = {
    "epsilon": 0.01,
    "lam": 0.0,
    "dims": 300,
    "mechanism": "mahalanobis",
    "answer": "nearest",
    "embedding": "no-such-vectors",
}


@pytest.mark.parametrize("name", SET_BY_PROFILE)
def test_a_profile_beside_what_it_sets_is_refused(name: str) -> None:
    """Or one of the two would be left aside, and nobody would know what is promised."""
    nlp = spacy.blank("en")
    tokenizer = nlp.tokenizer
    with pytest.raises(wv.ParameterError, match="Hint: leave out the profile, or the others"):
        nlp.add_pipe("wordveil", config={"profile": "balanced", name: SET_BY_PROFILE[name]})
    assert not nlp.pipe_names
    assert nlp.tokenizer is tokenizer


def test_a_profile_can_be_padded() -> None:
    nlp = spacy.blank("en")
    component: Any = nlp.add_pipe("wordveil", config={"profile": "balanced", "pad_to": 7})
    assert component.perturber.policy.pad_to == 7
    assert (
        component.perturber.mechanism.setting() == wv.Perturber.from_profile("balanced").mechanism.setting()
    )
