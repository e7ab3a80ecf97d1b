"""`wordveil embedding`: list, inspect, import and map public word vectors."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from wordveil.cli.console import count_progress, facts_table, note, output, reading_progress
from wordveil.cli.options import Json
from wordveil.embedding import Embedding, Provenance, load_embedding, open_store
from wordveil.embedding.arrays import row_norms
from wordveil.embedding.catalog import DEFAULT_NAME, CatalogEntry, check_new_name, entries, import_embedding
from wordveil.embedding.formats import ReadOptions, VectorFormat, read_embedding
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.embedding.map_fit import MapOptions
from wordveil.embedding.maps import MapMethod, make_map
from wordveil.embedding.store import StoreDtype
from wordveil.errors import FormatError, check_whole
from wordveil.folders import printable_name, user_folder
from wordveil.prior import default_prior

__all__ = ["app"]

app: Final = typer.Typer(help="Public word vectors: list, inspect, import, map.", no_args_is_help=True)

# Common words of different kinds, whose neighbours show at a glance whether the vectors are sensible.
_EXAMPLE_WORDS: Final = ("king", "monday", "boston", "diabetes")


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the embeddings that have a name."""
    rows = [_facts_of_entry(entry) for entry in entries()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table("name", "words", "dims", "origin", box=None, header_style="bold")
    for row in rows:
        size = [f"{row['words']:,}", str(row["dims"])] if "words" in row else ["damaged", ""]
        mark = " (default)" if row["name"] == DEFAULT_NAME else ""
        table.add_row(Text(f"{row['name']}{mark}"), *size, Text(str(row["origin"])))
    output().print(table)


def _facts_of_entry(entry: CatalogEntry) -> dict[str, Any]:
    facts: dict[str, Any] = {"name": entry.name, "origin": entry.origin, "path": str(entry.path)}
    try:
        embedding = open_store(entry.path)
    except (FormatError, OSError) as error:
        return facts | {"error": str(error)}
    return facts | {"words": len(embedding), "dims": embedding.dim}


@app.command()
def info(
    embedding: Annotated[
        str, typer.Argument(metavar="[NAME|PATH]", help="The name or path of the embedding.")
    ] = DEFAULT_NAME,
    word: Annotated[
        list[str] | None, typer.Option(help="Show the neighbours of this word (repeatable).")
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check words and vectors against the fingerprint.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show the size, norms, source and licence of an embedding, and a few neighbours."""
    loaded = load_embedding(embedding)
    if verify:
        loaded.verify()
    facts = _facts(loaded, word, verified=verify)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    table = facts_table()
    for key, value in facts.items():
        if key != "neighbours" and value != "":
            table.add_row(key, Text(_readable(value)))
    for shown_word, neighbours in facts["neighbours"].items():
        listed = ", ".join(f"{other} {cosine:.2f}" for other, cosine in neighbours)
        table.add_row(Text(f"near {shown_word}"), Text(listed))
    output().print(table)


def _facts(embedding: Embedding, words: list[str] | None, *, verified: bool) -> dict[str, Any]:
    norms = row_norms(embedding.vectors)
    words = words or [word for word in _EXAMPLE_WORDS if word in embedding]
    if not words:
        words = [embedding.words[i] for i in np.linspace(0, len(embedding) - 1, 4, dtype=int)]
    provenance = embedding.provenance
    return {
        "name": provenance.name,
        "words": len(embedding),
        "dims": embedding.dim,
        "norms": {
            key: round(float(np.quantile(norms, q)), 3)
            for key, q in {"least": 0.0, "median": 0.5, "largest": 1.0}.items()
        },
        "source": provenance.source,
        "licence": provenance.licence,
        "preprocessing": provenance.preprocessing,
        "fingerprint": embedding.fingerprint,
        "made from": provenance.parent,
        "verified": verified,
        "neighbours": {
            word: [[other, round(cosine, 3)] for other, cosine in embedding.neighbours(word, 5)]
            for word in words
        },
    }


def _readable(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no (--verify checks words and vectors)"
        case int():
            return f"{value:,}"
        case dict():
            return ", ".join(f"{key} {number}" for key, number in value.items())
        case _:
            return str(value)


_File = Annotated[
    Path,
    typer.Argument(
        help="GloVe or word2vec text, fastText .vec or .bin, word2vec binary, .npy or .npz; "
        "plain, .gz or .zip."
    ),
]
_Format = Annotated[
    VectorFormat | None, typer.Option(help="The format, if it can't be detected from the content.")
]
_RowWords = Annotated[
    Path | None,
    typer.Option(help="For .npy: the word of each row, one word per line (default: NAME.words.txt)."),
]
_OnlyWords = Annotated[
    Path | None,
    typer.Option(
        help="Keep only these words, one word per line. A fastText model gives vectors to any of them."
    ),
]
_Lowercase = Annotated[
    bool,
    typer.Option(
        "--lowercase",
        help="Lower-case the words. If several become equal, the one that was lower-case in the file is "
        "kept, or else the first.",
    ),
]
_Dtype = Annotated[
    StoreDtype, typer.Option(help="How to store the vectors. float16 rounds them and halves the file.")
]
_Public = Annotated[
    bool,
    typer.Option("--public", help="Declare that the words and vectors were not derived from private text."),
]


@app.command("import")
def import_(
    file: _File,
    name: Annotated[str, typer.Option(help="The name to load it by.")],
    format: _Format = None,
    member: Annotated[str | None, typer.Option(help="The member of a zip file to read.")] = None,
    row_words: _RowWords = None,
    only_words: _OnlyWords = None,
    first: Annotated[int | None, typer.Option(help="Read only the first N words.", metavar="N")] = None,
    lowercase: _Lowercase = False,
    unit: Annotated[bool, typer.Option("--unit", help="Scale every vector to length 1.")] = False,
    dtype: _Dtype = "float32",
    source: Annotated[str, typer.Option(help="Where the vectors come from, in words.")] = "",
    licence: Annotated[str, typer.Option(help="The licence of the vectors, in words.")] = "",
    public: _Public = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse repeated and unprintable words.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing embedding of that name.")
    ] = False,
) -> None:
    """Import vectors from a file, so every command can load them by name."""
    check_new_name(name, force=force)
    only = None if only_words is None else frozenset(filter(None, read_word_list(only_words)))
    changes = {"lower-cased": lowercase, "unit length": unit, "float16": dtype == "float16"}
    provenance = Provenance(
        name=name,
        source=source or printable_name(file.name),
        licence=licence,
        preprocessing=", ".join(change for change, applied in changes.items() if applied),
    )
    with reading_progress(f"reading {printable_name(file.name)}") as progress:
        embedding, summary = read_embedding(
            file,
            format=format,
            member=member,
            row_words=row_words,
            options=ReadOptions(first, only, lowercase, unit, strict, progress),
            provenance=provenance,
            public=public,
        )
    path = import_embedding(embedding, name, dtype=dtype, force=force)
    for sentence in summary.sentences():
        note(f"note: {sentence}")
    typer.echo(f"{name}: {len(embedding):,} words, {embedding.dim} dimensions, in {path}")


@app.command("map")
def map_(
    embedding: Annotated[str, typer.Argument(metavar="NAME|PATH", help="The vectors to make a map of.")],
    name: Annotated[str, typer.Option("--as", help="The name of the map, to load it by.")],
    dims: Annotated[int, typer.Option(metavar="K", help="Dimensions of the map.")] = 10,
    method: Annotated[
        MapMethod, typer.Option(help="Learned by gradient descent, or only UMAP's neighbours.")
    ] = "learned",
    steps: Annotated[int, typer.Option(metavar="N", help="Steps of gradient descent.")] = MapOptions().steps,
    seed: Annotated[int, typer.Option(metavar="N", help="Public: it makes the fit repeatable here.")] = 0,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option(help="Where to fit; a GPU is far faster.")
    ] = "cpu",
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing embedding of that name.")
    ] = False,
) -> None:
    """Make a public map of words in few dimensions, on which noise leads to words of similar meaning.

    Needs the extra maps. If it is interrupted, run the same command again: it continues from its last
    checkpoint.
    """
    check_new_name(name, force=force)
    vectors = load_embedding(embedding)
    options = replace(
        MapOptions(), steps=check_whole(steps, "steps", "map", 1), seed=check_whole(seed, "seed", "map", 0)
    )
    prior = default_prior(vectors) if method == "learned" else None
    facts = f"{vectors.fingerprint} {dims} {method} {options} {device} {prior and prior.fingerprint}"
    folder = user_folder("cache", "checkpoints of maps") / "maps"
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.state"
    with count_progress("fitting") as watch:
        mapped = make_map(
            vectors,
            dims,
            method=method,
            prior=prior,
            options=options,
            device=device,
            name=name,
            watch=watch,
            checkpoint=checkpoint,
        )
    path = import_embedding(mapped, name, force=force)
    checkpoint.unlink(missing_ok=True)
    typer.echo(f"{name}: {len(mapped):,} words, {mapped.dim} dimensions, in {path}")
