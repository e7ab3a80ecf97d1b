"""`wordveil explain`: what a setting or a manifest promises, in plain words."""

import json
import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.text import Text

from wordveil.cli.config import Config, is_written
from wordveil.cli.console import output, waiting
from wordveil.cli.inputs import opened
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import Json, TableOptions
from wordveil.cli.policy_options import PolicyOptions
from wordveil.cli.setting import (
    AttackerOptions,
    SettingOptions,
    WatchFile,
    chosen_prior,
    chosen_setting,
    watched_topics,
)
from wordveil.embedding import Embedding, load_embedding, open_store
from wordveil.embedding.catalog import entries
from wordveil.embedding.fingerprint import fingerprint_of_projection
from wordveil.errors import FormatError, ParameterError, PrivacyWarning, check_whole
from wordveil.evaluation.linkage import measure_linkage
from wordveil.exposure import Exposure
from wordveil.mechanisms import mechanism_names
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.report.explanation import explain_setting
from wordveil.report.released import Released, read_manifest
from wordveil.report.released_explanation import Recomputed, explain_manifest, recompute
from wordveil.report.setting_facts import setting_facts, text_facts, word_facts
from wordveil.runs.manifest import SEEDED
from wordveil.tables import Layout, open_table

__all__ = ["explain"]

_WITH_MANIFEST: Final = ("manifest", "embedding", "as_json")
_OF_TABLES: Final = ("text", "format", "delimiter", "no_header", "no_quotes")


@with_option_sets
def explain(
    context: typer.Context,
    *,
    setting_options: SettingOptions,
    manifest: Annotated[
        Path | None,
        typer.Option(help="Explain what this manifest says, which somebody else may have released."),
    ] = None,
    word: Annotated[
        str | None, typer.Option(metavar="WORD", help="Show what happens to this public word.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="Add up what is promised for the texts of this file; - is a pipe, one text per line."
        ),
    ] = None,
    linkage: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Measure how often a private text of this file is traced back to its original. Private.",
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Which column of --file and --linkage; may be repeated."),
    ] = None,
    table: TableOptions,
    draws: Annotated[int, typer.Option(metavar="N", help="How often to draw for --word.")] = 1000,
    full: Annotated[
        bool, typer.Option("--full", help="Also print the complete promise, with all of its numbers.")
    ] = False,
    as_json: Json = False,
    config: Config = None,  # noqa: ARG001  # its callback reads it
    policy_options: PolicyOptions,
    attacker: AttackerOptions,
    watch: WatchFile = None,
) -> None:
    """Say in plain words what a setting or a manifest is worth, and what it does not protect.

    The setting is given by the same options as for perturb, or by the same settings file.
    """
    if manifest is not None:
        _explain_manifest(context, manifest, setting_options.embedding, as_json)
        return
    policy = policy_options.policy()
    layout = _layout(context, file, linkage, table.layout())
    setting = chosen_setting(context, setting_options)
    perturber = Perturber(setting.mechanism, policy)
    prior = chosen_prior(setting.mechanism.embedding, attacker)
    topics = watched_topics(watch, setting.mechanism.embedding)
    unsafe_seed = policy_options.unsafe_seed
    if unsafe_seed is not None:
        check_whole(unsafe_seed, "unsafe_seed", "explain", 0)
    # What can be wrong with a word or a file is said before the setting is measured, which takes seconds.
    extra: dict[str, Any] = {}
    if file is not None:
        extra["file"] = text_facts(perturber, _texts(file, text or [], layout), file)
    if linkage is not None:
        extra["linkage"] = measure_linkage(perturber, _texts(linkage, text or [], layout)).to_dict()
    if word is not None:
        extra["word"] = word_facts(setting.mechanism, word, draws, prior)
    with waiting("measuring"):
        exposure = warn_if_weak(perturber, prior)
        facts = setting_facts(perturber, setting.vectors, exposure, topics) | extra
    if unsafe_seed is not None:
        facts["guarantee"]["void"] = SEEDED
    _show(perturber, setting.vectors, exposure, facts, full=full, as_json=as_json)


def _layout(context: typer.Context, file: str | None, linkage: str | None, layout: Layout) -> Layout:
    """Return the layout; refuse options about a file on a command line that names none."""
    if file == linkage == "-":
        raise ParameterError("--file and --linkage can't both be standard input. Hint: name a file.")
    if file is None and linkage is None and any(is_written(context, name) for name in _OF_TABLES):
        raise ParameterError(
            "--text and the options of a table are for --file and --linkage. Hint: --file FILE."
        )
    return layout


def _texts(file: str, columns: list[str], layout: Layout) -> Iterator[str | None]:
    with (
        opened(file, layout, other="text") as (source, name, full_layout, compression),
        open_table(source, name, full_layout, columns, compression=compression) as table,
    ):
        for chunk in table.chunks():
            yield from chain.from_iterable(chunk.texts.values())


def _show(
    perturber: Perturber,
    vectors: Embedding,
    exposure: Exposure,
    facts: dict[str, Any],
    *,
    full: bool,
    as_json: bool,
) -> None:
    if as_json:
        typer.echo(json.dumps({"headline": exposure.headline} | facts, indent=2, ensure_ascii=False))
    else:
        output().print(Text(explain_setting(perturber, vectors, exposure, facts, full=full)))


def _explain_manifest(context: typer.Context, path: Path, embedding: str, as_json: bool) -> None:
    written = [str(option.name) for option in context.command.params if is_written(context, str(option.name))]
    if any(name not in _WITH_MANIFEST for name in written):
        raise ParameterError(
            "--manifest names the whole setting. Hint: use it with --embedding or --json only."
        )
    released = read_manifest(path)
    here = _vectors_here(released, embedding if "embedding" in written else None)
    registered = released.setting["mechanism"] in mechanism_names()
    with waiting("computing its numbers again"):
        recomputed = recompute(released, load_embedding(here), path) if here else Recomputed()
    if released.void:
        warnings.warn(f"This manifest promises nothing: {released.void}.", PrivacyWarning, stacklevel=2)
    if as_json:
        facts = released.to_dict() | {
            "vectors_here": here or None,
            "mechanism_here": registered,
            "recomputed": recomputed._asdict(),
        }
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
    else:
        output().print(Text(explain_manifest(released, here, registered, recomputed)))


def _vectors_here(released: Released, embedding: str | None) -> str:
    """Return what the vectors of a manifest are called here; empty if they are not available."""
    if embedding is not None:
        return embedding if _belongs_to(released, load_embedding(embedding).fingerprint) else ""
    for entry in entries():
        try:
            fingerprint = open_store(entry.path).fingerprint
        except (FormatError, OSError):
            continue
        if _belongs_to(released, fingerprint):
            return entry.name
    return ""


def _belongs_to(released: Released, fingerprint: str) -> bool:
    """Say whether the vectors of a manifest are those of a fingerprint, or a projection of them."""
    dims = released.setting.get("dims")
    projected = fingerprint_of_projection(fingerprint, dims) if isinstance(dims, int) else None
    return released.vectors in (fingerprint, projected)
