"""What leaves beside the words: unknown words, lengths, nulls; the manifest, and the files of a run."""

import hashlib
import json
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import PrivacyWarning
from wordveil.evaluation.audit_rates import ALPHA, agreement_rate, stay_rate
from wordveil.evaluation.audit_result import Check, not_tested
from wordveil.evaluation.audit_streams import differ, plain
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey, secure_stream
from wordveil.runs import perturb_file
from wordveil.runs.perturb_file import Watcher
from wordveil.tables.base import CHUNK_ROWS

__all__ = ["files", "texts"]

GROUP: Final = "texts"
_UNKNOWN: Final = 40  # words that no vocabulary has
_KNOWN: Final = 6400  # known words, each a text
_COPIED: Final = 0.05  # of the known words, for which the power is stated
_ROWS: Final = 4200  # more than two chunks of a table
_CHUNKS: Final = 4  # of equal content in a file
_ROW_WORDS: Final = 8  # of each row of these: all 1,024 rows of a chunk stay under its limit of letters
_REPEATS: Final = 50  # rows of the file that is perturbed twice
_COMMIT_SECONDS: Final = 0.6  # a run commits what it has done after half a second
_BEGINNING: Final = 8  # bytes of a digest
_HASHES: Final = ("md5", "sha1", "sha224", "sha256", "sha512", "blake2b", "blake2s")
_MANIFEST: Final = {
    "parameters": ("mechanism", "epsilon", "dims"),
    "policy": ("pad_to", "unsafe"),
    "fingerprints": ("vectors", "tokenizer_rule", "code"),
    "guarantee": ("not_covered",),
    "attacker": ("best_guess",),
    "output": ("sha256", "rows", "words"),
    "columns": ("perturbed", "kept_as_they_were"),
}
_PLAIN: Final = ("noise", "vectors_declared_public", "code_version", "manifest_version")


def _unknown_words(embedding: Embedding, count: int = _UNKNOWN) -> list[str]:
    """Return words of random letters that the vocabulary does not have."""
    letters = np.array(list("bcdfghjklmnpqrstvwxz"))
    draws = np.random.default_rng(11)
    words: list[str] = []
    while len(words) < count:
        word = "".join(draws.choice(letters, 12))
        if word not in embedding:
            words.append(word)
    return words


def texts(perturber: Perturber, key: RunKey) -> list[Check]:
    """Return the checks of what a perturber copies from its input."""
    return [_verbatim(perturber), _stays(perturber, key), _lengths(perturber)]


def _verbatim(perturber: Perturber) -> Check:
    """Perturb texts with unknown words, numbers, capitals and punctuation: only known words may come out."""
    name = "no unknown token passes verbatim"
    embedding = perturber.mechanism.embedding
    secrets = _unknown_words(embedding)
    marks = ("{}", "{},", "({})", "{}@{}.com", "#{}", "{}9182736455")
    inputs = [f"{mark.format(word, word)} {embedding.words[0]}" for word in secrets for mark in marks]
    stream = secure_stream()
    outputs, _ = perturber.perturb_column(inputs, stream)
    allowed = set(perturber.mechanism.embedding.words)
    strange = {token for output in outputs for token in (output or "").split()} - allowed
    leaked = [word for word in secrets if any(word in (output or "").lower() for output in outputs)]
    evidence = (
        f"{len(inputs)} texts with unknown words, numbers and addresses: only words of the vocabulary leave"
    )
    if strange or leaked:
        evidence = f"{len(leaked)} of {len(secrets)} unknown words leave as they are"
    return Check(
        GROUP, name, not strange and not leaked, evidence, 0.0, "a policy that copies every unknown word"
    )


def _stays(perturber: Perturber, key: RunKey) -> Check:
    """Perturb known words, each as a text: no more of them may stay than the mechanism itself leaves."""
    words = perturber.mechanism.embedding.words
    ids = np.arange(_KNOWN) % len(words)
    chance = stay_rate(perturber.mechanism, ids, key)
    inputs = [words[number] for number in ids.tolist()]
    outputs, _ = plain(perturber).perturb_column(inputs, secure_stream())
    stay = sum(word in (output or "").split() for word, output in zip(inputs, outputs, strict=True))
    limit = chance.most(len(inputs))
    return Check(
        GROUP,
        "no known word stays more often than the mechanism leaves it",
        stay <= limit,
        f"{stay} of {len(inputs):,} words stay; chance explains up to {limit}",
        ALPHA,
        f"a perturber that copies {_COPIED:.0%} of the words",
        chance.power(_COPIED, len(inputs)),
    )


def _lengths(perturber: Perturber) -> Check:
    """Perturb a missing, an empty, a short and a long text under padding: all must have one length."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        policy = replace(perturber.policy, pad_to=perturber.policy.pad_to or 12)
    padded = type(perturber)(perturber.mechanism, policy)
    words = perturber.mechanism.embedding.words
    inputs: list[str | None] = [
        None,
        "",
        words[0],
        " ".join(words[:30]),
        " ".join(_unknown_words(perturber.mechanism.embedding)),
    ]
    outputs, _ = padded.perturb_column(inputs, secure_stream())
    lengths = [None if output is None else len(output.split()) for output in outputs]
    passed = set(lengths) == {policy.pad_to}
    evidence = f"a missing, an empty, a short and a long text all leave with {policy.pad_to} words"
    if not passed:
        evidence = "with padding, a missing, an empty, a short and a long text can be told apart"
    return Check(
        GROUP, "padding hides lengths and missing texts", passed, evidence, 0.0, "a null that passes"
    )


def files(perturber: Perturber, key: RunKey) -> list[Check]:
    """Return the checks of the files of a run, by one small run that is stopped, and four that end."""
    words = list(perturber.mechanism.embedding.words)
    secrets = _unknown_words(perturber.mechanism.embedding, _ROWS)
    rows = [f"{secret} {words[number % len(words)]}" for number, secret in enumerate(secrets)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "in.csv"
        source.write_text("text\n" + "\n".join(rows) + "\n", encoding="utf-8")
        try:
            leaks = _of_stopped_run(perturber, folder, source, rows)
            manifest = _of_finished_run(perturber, folder, source)
            runs = _of_runs_without_key(perturber, folder)
            chunks = _of_equal_chunks(perturber, folder)
        except OSError as error:
            why = f"no file could be written ({type(error).__name__})"
            return [not_tested("files", "work folder and manifest", why)]
    ids = np.tile(np.arange(len(words)), _REPEATS)
    chance = agreement_rate(perturber.mechanism, ids, key)
    return [
        _work_folder(leaks),
        _complete(manifest, perturber, secrets),
        differ("runs without a key", runs, chance, "files"),
        differ("equal chunks of a file", chunks, chance, "files"),
    ]


def _of_runs_without_key(perturber: Perturber, folder: Path) -> list[NDArray[np.str_]]:
    """Perturb one file twice without a key, and return the words of both outputs."""
    source = folder / "same.csv"
    text = " ".join(perturber.mechanism.embedding.words)
    source.write_text("text\n" + f"{text}\n" * _REPEATS, encoding="utf-8")
    outputs = []
    for number in range(2):
        target = folder / f"run-{number}.csv"
        _run(plain(perturber), source, target)
        outputs.append(np.array(target.read_text(encoding="utf-8").split()[1:]))
    return outputs


def _of_equal_chunks(perturber: Perturber, folder: Path) -> list[NDArray[np.str_]]:
    """Perturb a file of equal chunks, and return the words of each chunk."""
    words = perturber.mechanism.embedding.words
    starts = [number * _ROW_WORDS % len(words) for number in range(CHUNK_ROWS)]
    chunk = [" ".join(words[start : start + _ROW_WORDS]) for start in starts]
    source, target = folder / "chunks.csv", folder / "chunks-out.csv"
    source.write_text("text\n" + "\n".join(chunk * _CHUNKS) + "\n", encoding="utf-8")
    _run(plain(perturber), source, target)
    answers = target.read_text(encoding="utf-8").split()[1:]
    size = CHUNK_ROWS * _ROW_WORDS
    return [np.array(answers[start : start + size]) for start in range(0, len(answers), size)]


def _of_stopped_run(
    perturber: Perturber, folder: Path, source: Path, rows: list[str]
) -> dict[str, int] | None:
    """Return which traces of the input the files of a stopped run have; None if it has no files."""
    stopped = folder / "stopped"
    stopped.mkdir()
    calls = 0

    def watch(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        time.sleep(_COMMIT_SECONDS)

    with suppress(KeyboardInterrupt):
        _run(perturber, source, stopped / "out.csv", watch)
    content = [path.read_bytes() for path in stopped.rglob("*") if path.is_file()]
    if not any(content):
        return None
    data = b"\n".join(content)
    # Looked up by their beginnings, since there are very many digests.
    beginnings = {data[place : place + _BEGINNING] for place in range(len(data))}
    traces = {
        "texts": sum(row.split()[0].encode() in data for row in rows),
        "unsalted digests": sum(
            digest[:_BEGINNING] in beginnings and digest in data for digest in _digests(source, rows)
        ),
    }
    return {name: count for name, count in traces.items() if count}


def _digests(source: Path, rows: list[str]) -> Iterator[bytes]:
    """Yield digests, raw and hexadecimal, of the file, its first texts, and all prefixes of its chunks.

    How rows are joined is not known, so the usual ways are tried.
    """
    for data in (source.read_bytes(), *(row.encode() for row in rows[:20])):
        for name in _HASHES:
            yield from _both_forms(hashlib.new(name, data, usedforsecurity=False))
        yield from _both_forms(hashlib.blake2b(data, digest_size=32))
    for between in (b"", b"\n", b"\0"):
        for start in range(0, len(rows), CHUNK_ROWS):
            for name in ("md5", "sha1", "sha256", "blake2b"):
                digest = hashlib.new(name, usedforsecurity=False)
                for row in rows[start : start + CHUNK_ROWS]:
                    digest.update(row.encode())
                    yield from _both_forms(digest)
                    digest.update(between)
                    if between:
                        yield from _both_forms(digest)


def _both_forms(digest: Any) -> tuple[bytes, bytes]:
    return digest.hexdigest().encode(), digest.digest()


def _run(perturber: Perturber, source: Path, target: Path, watch: Watcher | None = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        perturb_file(source, target, perturber=perturber, text="text", watch=watch)


def _of_finished_run(perturber: Perturber, folder: Path, source: Path) -> dict[str, Any]:
    target = folder / "out.csv"
    _run(perturber, source, target)
    manifest: dict[str, Any] = json.loads(target.with_name("out.csv.manifest.json").read_text("utf-8"))
    return manifest


def _work_folder(leaks: dict[str, int] | None) -> Check:
    name = "the work folder of a stopped run keeps nothing of the input"
    if leaks is None:
        return not_tested("files", name, "the stopped run left no work folder")
    evidence = "neither texts nor digests that could be compared with guesses"
    if leaks:
        evidence = "it has " + ", ".join(f"{count} {trace}" for trace, count in leaks.items())
    mistake = "a text, or an unsalted MD5, SHA-1, SHA-256 or BLAKE2b digest of the file or of a chunk"
    return Check("files", name, not leaks, evidence, 0.0, mistake)


def _complete(manifest: dict[str, Any], perturber: Perturber, secrets: list[str]) -> Check:
    """Return whether the manifest names what the promise rests on, and nothing of the input."""
    missing = [
        f"{part}.{key}"
        for part, keys in _MANIFEST.items()
        for key in keys
        if key not in manifest.get(part, {})
    ]
    missing += [key for key in _PLAIN if key not in manifest]
    written = json.dumps(manifest)
    leaked = sum(secret in written for secret in secrets)
    parameters = manifest.get("parameters", {})
    wrong = parameters != perturber.mechanism.setting()
    evidence = "parameters, policy, fingerprints, guarantee and attacker are there, and no word of the input"
    if missing or leaked or wrong:
        parts = [f"without {', '.join(missing)}"] * bool(missing) + [
            f"with {leaked} words of the input"
        ] * bool(leaked)
        evidence = "; ".join(parts + ["with other parameters than the mechanism's"] * wrong)
    passed, mistake = not (missing or leaked or wrong), "a manifest without one of these parts"
    return Check("files", "the manifest is complete", passed, evidence, 0.0, mistake)
