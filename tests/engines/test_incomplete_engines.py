"""An engine that does not answer every text, in order, publishes nothing: in no format."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.tables.samples import encoded

import wordveil as wv
from wordveil.engines import Perturbed
from wordveil.tables import Chunk, format_names

from .toy import OneByOne

Results: TypeAlias = list[Perturbed]
ROWS = [{"id": str(number), "message": "tea at noon", "label": "ham"} for number in range(3000)]


class StopsEarly(OneByOne):
    """Never asks for the second chunk."""

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        return islice(super().perturb(chunks, waits=waits), 1)


def changed(change: Callable[[Results], Results]) -> type[OneByOne]:
    """Return an engine that changes the list of what it should yield."""

    class Changed(OneByOne):
        def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
            return iter(change(list(super().perturb(chunks, waits=waits))))

    return Changed


MISTAKES: dict[str, type[OneByOne]] = {
    "no column is answered": changed(lambda done: [one._replace(answers={}) for one in done]),
    "a column too many": changed(
        lambda done: [one._replace(answers=one.answers | {"id": ["x"] * one.chunk.rows}) for one in done]
    ),
    "too few texts": changed(
        lambda done: [one._replace(answers={name: ["x"] for name in one.answers}) for one in done]
    ),
    "another chunk": changed(lambda done: [one._replace(chunk=replace(one.chunk)) for one in done]),
    "the first is left out": changed(lambda done: done[1:]),
    "the last is left out": changed(lambda done: done[:-1]),
    "reversed": changed(lambda done: done[::-1]),
    "one of them twice": changed(lambda done: [*done, done[0]]),
    "stops early": StopsEarly,
}


@pytest.mark.parametrize("format", format_names())
@pytest.mark.parametrize("engine", [None, *MISTAKES])
def test_all_or_nothing_is_published(
    format: str, engine: str | None, same: wv.Perturber, tmp_path: Path
) -> None:
    layout = wv.Layout(format)
    kind = layout.find_format()
    source, target = tmp_path / f"in{kind.extensions[0]}", tmp_path / f"out{kind.extensions[0]}"
    source.write_bytes(encoded(ROWS, kind))
    text, keep = ("message", "label") if kind.has_columns else ((), ())

    def perturb(engine: type[OneByOne]) -> wv.FileRun:
        return wv.perturb_file(source, target, perturber=same, text=text, keep=keep, engine=engine)

    if engine is None:  # what is refused is the mistake, not the engine
        assert perturb(OneByOne).rows == 3000
        return
    with pytest.raises(wv.IntegrityError, match="did not answer every text, in order"):
        perturb(MISTAKES[engine])
    assert not target.exists()
