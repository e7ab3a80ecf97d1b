"""S: how often the best guess of a word is right, by someone who knows everything except the noise.

The attacker knows the mechanism and how often words are used (the prior p), and sees the noisy vector v of
one word. The best guess is the word u with the largest posterior p(u|v) ∝ p(u)·exp(-ε·‖φ(u) - v‖_RM), and it
is right with probability S = E[max p(u|v)] over words drawn from p. Whatever is computed from v, such as the
answer, tells no more. What the words beside it tell is not part of S.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordveil.errors import ParameterError, check_whole
from wordveil.intervals import Share, clopper_pearson, mean_share
from wordveil.mechanisms import Channel, Mechanism
from wordveil.nearest.threads import in_threads
from wordveil.prior import Prior
from wordveil.randomness import Stream, insecure_stream

__all__ = [
    "GuessRate",
    "WordExposures",
    "guess_from_answers",
    "guess_rate",
    "in_row_blocks",
    "word_blocks",
    "word_exposures",
]

_DRAWS: Final = 2000  # the interval of S reaches 0.022 to each side at most
_ANSWER_DRAWS: Final = 4000  # for training and again for testing an attacker who sees only answers
# Rows and words of one table of log-likelihoods: 4 MB, which stays in the cache. Measured with the default
# vectors at 10 and 300 dimensions, other shapes of this size and larger tables took up to twice as long.
_ROWS: Final = 256
_WORDS: Final = 2048
# An attacker who sees only the answer does not know where v was. The likelihood at the answer's own vector is
# too sure of itself, the more so the more dimensions there are, so it is raised to the best of these powers.
_POWERS: Final = (1.0, 0.4, 0.15)
# Draws with one answer before the most frequent word behind them is preferred to the formula.
_ENOUGH: Final = 5


@dataclass(frozen=True, slots=True)
class GuessRate:
    """How often the best guess is right.

    Attributes
    ----------
    success : Share
        S, with a 95% interval. If it is not `exact`, the interval is bounds for S from draws.
    alone : float
        How often the best guess is right without any output: the largest share of the prior.
    draws : int
        How many words were drawn.
    exact : bool
        Whether S was computed from the closed form of the mechanism.
    """

    success: Share
    alone: float
    draws: int
    exact: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return {
            **self.success._asdict(),
            "guess_without_output": self.alone,
            "draws": self.draws,
            "closed_form": self.exact,
        }


class WordExposures(NamedTuple):
    """How often single words are recognised: shares of the draws, one for each word.

    Attributes
    ----------
    named : array
        By the best guess under the prior.
    named_if_uniform : array
        By the best guess of someone who assumes that all words are equally frequent.
    unchanged : array
        How often the answer is the word itself.
    draws : int
        For each word.
    """

    named: NDArray[np.float64]
    named_if_uniform: NDArray[np.float64]
    unchanged: NDArray[np.float64]
    draws: int

    @property
    def largest(self) -> NDArray[np.float64]:
        """The largest of the three for each word: S is an average, and no upper bound for a single word."""
        return np.maximum(np.maximum(self.named, self.named_if_uniform), self.unchanged)


def guess_rate(
    mechanism: Mechanism, prior: Prior, *, draws: int = _DRAWS, stream: Stream | None = None
) -> GuessRate:
    """Return how often the best guess of a word is right, by someone who sees what the answer is made from.

    Only public words are drawn, so the fixed seed that is the default gives nothing away, and the result is
    the same every time.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(10)
    >>> rate = guess_rate(wv.Laplace(emb, epsilon=6.0), wv.Prior.english(emb))
    >>> round(rate.alone, 2), round(rate.success.share, 1)
    (0.05, 0.3)
    """
    draws = check_whole(draws, "draws", "guess_rate", 2)
    _check_prior(mechanism, prior)
    stream = insecure_stream(0) if stream is None else stream
    ids = prior.draw(stream.uniforms((draws,)))
    channel = mechanism.valid_channel()
    if channel is None:
        return GuessRate(_bounds(mechanism, prior, ids, stream), prior.guess, draws, exact=False)
    success = largest_posteriors(channel, channel.observe(ids, stream), prior)
    return GuessRate(mean_share(success), prior.guess, draws, exact=True)


def largest_posteriors(channel: Channel, seen: NDArray[Any], prior: Prior) -> NDArray[np.float64]:
    """Return max p(u|seen) for each row of what is seen."""
    log_prior = _logs(prior)
    result = np.empty(len(seen))

    def measure(block: slice) -> None:
        # Finite, because a block in which no word has a share would make it -inf, and the difference NaN.
        best = np.full(block.stop - block.start, np.finfo(np.float64).min)
        total = np.zeros(block.stop - block.start)
        for words in word_blocks(len(log_prior)):
            scores = channel.log_likelihoods(seen[block], words)
            scores += log_prior[words]
            highest = np.maximum(best, scores.max(axis=1))
            total *= np.exp(best - highest)
            scores -= highest[:, None]
            total += np.exp(scores, out=scores).sum(axis=1)
            best = highest
        result[block] = 1.0 / total

    in_row_blocks(len(seen), measure)
    return result


def word_exposures(
    mechanism: Mechanism,
    prior: Prior,
    ids: NDArray[np.int64],
    *,
    draws: int = 100,
    stream: Stream | None = None,
) -> WordExposures:
    """Return how often each of these words is recognised in that many draws.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(10)
    >>> ids = emb.ids_of(["the", "pregnant"])
    >>> exposures = word_exposures(wv.Laplace(emb, epsilon=6.0), wv.Prior.english(emb), ids)
    >>> bool(exposures.largest[1] > 0.5)
    True
    """
    draws = check_whole(draws, "draws", "word_exposures", 1)
    _check_prior(mechanism, prior)
    stream = insecure_stream(0) if stream is None else stream
    repeated = np.repeat(np.asarray(ids, np.int64), draws)
    channel = mechanism.valid_channel()
    if channel is None:
        answers = mechanism.perturb_ids(repeated, stream=stream)
        guesses = _learned_guesses(mechanism, prior, stream)[answers]
        tables = [guesses == repeated, answers == repeated, answers == repeated]
    else:
        seen = channel.observe(repeated, stream)
        named, likeliest = best_guesses(channel, seen, len(prior.shares), [_logs(prior), None])
        tables = [named == repeated, likeliest == repeated, channel.answers(seen) == repeated]
    named_share, if_uniform, unchanged = (table.reshape(len(ids), draws).mean(axis=1) for table in tables)
    return WordExposures(named_share, if_uniform, unchanged, draws)


def best_guesses(
    channel: Channel,
    seen: NDArray[Any],
    count: int,
    log_priors: list[NDArray[np.float64] | None],
    powers: tuple[float, ...] = (1.0,),
) -> list[NDArray[np.int64]]:
    """Return the best of `count` guesses for each row of what is seen: under each prior, and for each power.

    None is the prior under which all words are equally frequent.
    """
    cases = [(log, power) for log in log_priors for power in powers]
    guesses = [np.empty(len(seen), np.int64) for _ in cases]

    def measure(block: slice) -> None:
        best = [np.full(block.stop - block.start, -np.inf) for _ in cases]
        for words in word_blocks(count):
            likelihoods = channel.log_likelihoods(seen[block], words)
            for case, (log_prior, power) in enumerate(cases):
                scores = likelihoods if power == 1.0 else power * likelihoods
                if log_prior is not None:
                    scores = scores + log_prior[words]
                highest = scores.max(axis=1)
                better = np.flatnonzero(highest > best[case])
                best[case][better] = highest[better]
                guesses[case][block][better] = words.start + scores[better].argmax(axis=1)

    in_row_blocks(len(seen), measure)
    for guess in guesses:
        guess[guess == count - 1] = -1
    return guesses


def guess_from_answers(
    mechanism: Mechanism, prior: Prior, *, draws: int = _ANSWER_DRAWS, stream: Stream | None = None
) -> Share:
    """Return how often a guess is right by someone who sees only the answer: a lower bound.

    The attacker learns from draws of public words which word to guess for each answer, and is tested on other
    draws. A better attacker may exist.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(10)
    >>> share = guess_from_answers(wv.Laplace(emb, epsilon=6.0), wv.Prior.english(emb))
    >>> 0.15 < share.share < 0.3
    True
    """
    draws = check_whole(draws, "draws", "guess_from_answers", 2)
    _check_prior(mechanism, prior)
    stream = insecure_stream(0) if stream is None else stream
    guesses = _learned_guesses(mechanism, prior, stream, draws)
    ids, answers = _drawn_answers(mechanism, prior, stream, draws)
    return clopper_pearson(int((guesses[answers] == ids).sum()), draws)


def _learned_guesses(
    mechanism: Mechanism, prior: Prior, stream: Stream, draws: int = _ANSWER_DRAWS
) -> NDArray[np.int64]:
    """Return which word to guess for each answer, learned from draws of public words."""
    ids, answers = _drawn_answers(mechanism, prior, stream, draws)
    words = np.arange(len(mechanism.embedding))
    rules = [words, np.full(len(words), prior.best_guess)]
    channel = mechanism.valid_channel()
    if channel is not None:
        # Answers that no draw had are rare, so that guessing the answer itself there costs little.
        seen_answers = np.unique(answers)
        places = channel.of_answers(seen_answers)
        for guess in best_guesses(channel, places, len(words) + 1, [_logs(prior)], _POWERS):
            rule = words.copy()
            rule[seen_answers] = guess
            rules.append(rule)
    best = max(rules, key=lambda rule: int((rule[answers] == ids).sum())).copy()
    pairs, counts = np.unique(np.stack((answers, ids)), axis=1, return_counts=True)
    hits = np.bincount(answers[best[answers] == ids], minlength=len(words))
    totals = np.bincount(answers, minlength=len(words))
    for place in np.argsort(counts, kind="stable"):  # the most frequent pair of an answer comes last
        answer, word = pairs[:, place]
        if totals[answer] >= _ENOUGH and counts[place] > hits[answer]:
            best[answer] = word
    return best


def _drawn_answers(
    mechanism: Mechanism, prior: Prior, stream: Stream, draws: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    ids = prior.draw(stream.uniforms((draws,)))
    channel = mechanism.valid_channel()
    if channel is None:
        return ids, mechanism.perturb_ids(ids, stream=stream)
    return ids, channel.answers(channel.observe(ids, stream))


def _bounds(mechanism: Mechanism, prior: Prior, ids: NDArray[np.int64], stream: Stream) -> Share:
    """Return bounds of S by draws alone: the success of a learned attacker below, the plug-in estimate above.

    The plug-in estimate, the success of the best guesses on the draws that they were learned from, is too
    large on average, since they fit those draws best. One draw changes it by at most 1/n, so by McDiarmid's
    inequality it is rarely far below its average.
    """
    lower = guess_from_answers(mechanism, prior, stream=stream)
    answers = mechanism.perturb_ids(ids, stream=stream)
    pairs, counts = np.unique(np.stack((answers, ids)), axis=1, return_counts=True)
    most = np.zeros(len(mechanism.embedding), np.int64)
    np.maximum.at(most, pairs[0], counts)
    upper = float(most.sum()) / len(ids) + float(np.sqrt(np.log(2.0 / 0.05) / (2.0 * len(ids))))
    return Share(lower.share, lower.low, max(lower.share, min(1.0, upper)))


def _check_prior(mechanism: Mechanism, prior: Prior) -> None:
    if len(prior.shares) != len(mechanism.embedding) + 1:
        raise ParameterError("The prior must be made from the mechanism's embedding.")


def _logs(prior: Prior) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.log(prior.shares)


def word_blocks(count: int) -> list[slice]:
    """Return slices of that many words, for tables that stay in the cache."""
    return _blocks(count, _WORDS)


def _blocks(count: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, count)) for start in range(0, count, size)]


def in_row_blocks(count: int, measure: Callable[[slice], None]) -> None:
    """Call `measure` for blocks of rows, in threads."""
    blocks, turn = iter(_blocks(count, _ROWS)), threading.Lock()

    def work() -> bool:
        with turn:
            block = next(blocks, None)
        if block is None:
            return False
        measure(block)
        return True

    with threadpool_limits(1, user_api="blas"):  # else each of our threads would wait for several of its own
        in_threads(work, -(-count // _ROWS))
