"""All experiments of the paper in one go, and what it says beside what comes out."""

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.engines.local import checked_workers
from wordveil.errors import ParameterError
from wordveil.evaluation.datasets import LabelledTexts, load_labelled, recognise_dataset
from wordveil.evaluation.density_experiment import density
from wordveil.evaluation.paper_statements import DRAWS, REPETITIONS
from wordveil.evaluation.privacy_experiment import privacy_sweep
from wordveil.evaluation.results import PaperResult, Result
from wordveil.evaluation.settings import EPSILONS, LAMS, make_grid
from wordveil.evaluation.sweep import Watch
from wordveil.evaluation.utility_experiment import utility
from wordveil.nearest.devices import DeviceName

__all__ = ["PaperRun", "Step", "load_paper_data"]

_CLASSIFIERS: Final = {"sms": "bow", "tweets": "fasttext"}  # those of the paper
_UTILITY_LAMS: Final = (0.0, 0.5, 1.0)  # of the five of the paper: training takes most of the time
_SLOW: Final = 0.2  # seconds: what takes less came from the cache, or is not worth an estimate

RunStep = Callable[[Watch], Result]


@dataclass(frozen=True)
class Step:
    """One experiment of the paper, which reports its progress.

    `first` is the number of parts after which one is as slow as those that follow.
    """

    name: str
    run: RunStep
    first: int = 0
    at_once: int = 1


class _EnoughError(Exception):
    """Ends an experiment whose time is known by now. What was computed is kept."""


def load_paper_data(path: Path, name: str) -> LabelledTexts:
    """Return a data set of the paper, or raise an error if the file is not that one."""
    dataset = recognise_dataset(path)
    if dataset is None or dataset.name != name:
        raise ParameterError(f"{path}: does not begin like the {name} of the paper. Hint: see the docs.")
    return load_labelled(path)


def is_known_file(path: Path) -> bool:
    """Return whether a data set is, byte for byte, the one that the documented numbers come from."""
    dataset = recognise_dataset(path)
    return dataset is not None and hashlib.sha256(path.read_bytes()).hexdigest() == dataset.sha256


class PaperRun:
    """The experiments of the paper, one step each; finished parts are kept and used again.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors.
    files : dict
        The files of the SMS ("sms") and the tweets ("tweets"), if available.
    words, draws, repetitions
        As in `privacy_sweep` and `utility`; the paper's by default.
    workers, device, caches
        Threads, the device to search on, and the folders to keep finished draws and scores in.

    Examples
    --------
    >>> import wordveil as wv
    >>> run = PaperRun(wv.load_embedding().project(10), {}, words=64, draws=10, caches=(False, False))
    >>> result = run.result([run.steps[0].run(lambda *_: None)])
    >>> result.rows()[0]["paper"]
    'ε = 5: N_w -16.9, S_w +19.0; ε = 10: N_w -40.4, S_w +38.9; ε = 20: N_w -34.2, S_w +22.3 (GloVe)'
    """

    def __init__(
        self,
        embedding: Embedding,
        files: dict[str, Path],
        *,
        words: str | int = "all",
        draws: int = DRAWS,
        repetitions: int = REPETITIONS,
        workers: int | None = None,
        device: DeviceName = "cpu",
        caches: tuple[Path | bool, Path | bool] = (True, True),
    ) -> None:
        threads = checked_workers(workers)
        grid = make_grid(embedding, EPSILONS, LAMS, device=device)
        learning = make_grid(embedding, EPSILONS, _UTILITY_LAMS, device=device)
        self._files, self._all_words = files, len(embedding)

        def sweep(watch: Watch) -> Result:
            return privacy_sweep(
                grid, words, draws, workers=threads, device=device, cache=caches[0], watch=watch
            )

        self.steps = [Step("privacy", sweep, at_once=threads)]
        for name, path in files.items():
            data = load_paper_data(path, name)

            def lie(watch: Watch, data: LabelledTexts = data) -> Result:
                return density(
                    data.texts,
                    embedding,
                    name=data.name,
                    draws=draws,
                    workers=threads,
                    device=device,
                    watch=watch,
                )

            def learn(watch: Watch, data: LabelledTexts = data) -> Result:
                return utility(
                    data,
                    learning,
                    classifier=_CLASSIFIERS[data.paper_name],
                    repetitions=repetitions,
                    cache=caches[1],
                    watch=watch,
                )

            self.steps += [Step(f"density-{name}", lie), Step(f"utility-{name}", learn, first=repetitions)]

    def expected_seconds(self) -> Iterator[tuple[str, float]]:
        """Yield how long each step will take, from the time of its first parts, which are then kept."""
        for step in self.steps:
            if not step.name.startswith("density"):  # takes seconds, and keeps nothing
                yield step.name, _expected(step)

    def result(self, results: Sequence[Result]) -> PaperResult:
        """Return one result from those of the steps."""
        compared = [replace(part, settings={**part.settings, "compare_paper": True}) for part in results]
        settings: dict[str, Any] = {
            "parts": [f"{part.kind}, {part.name}" for part in compared],
            "vectors": compared[0].settings["vectors"],
            "fingerprint": compared[0].settings["fingerprint"],
            "words": compared[0].settings["words"],
            "words_of_the_vectors": self._all_words,
            "draws": compared[0].settings["draws"],
            "data_files_as_documented": {name: is_known_file(path) for name, path in self._files.items()},
        }
        is_private = any(part.is_private for part in compared)
        parts = [part.to_dict() for part in compared]
        return PaperResult("the paper against ours", settings, [], [], is_private, parts)


def _expected(step: Step) -> float:
    """Return the seconds that a step will still take; 0 if it was finished already.

    The time before the first part is that of preparations. Parts come `at_once` at a time.
    """
    times: list[float] = []
    expected = 0.0

    def measure(done: int, total: int) -> None:
        nonlocal expected
        times.append(time.monotonic())
        if done <= step.first or len(times) <= step.at_once:
            return
        elapsed = times[-1] - times[-1 - step.at_once]
        if elapsed > _SLOW:
            expected = elapsed * (total - done) / step.at_once
            raise _EnoughError

    with suppress(_EnoughError):
        step.run(measure)
    return expected
