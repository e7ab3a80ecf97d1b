"""scikit-learn: a transformer that makes texts private (extra `sklearn`)."""

import copy
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding, load_embedding
from wordveil.errors import (
    IntegrityError,
    ParameterError,
    PrivacyWarning,
    check_real,
    named_type,
    parameter_error,
    sealed,
)
from wordveil.integrations.library import library, perturbed_column
from wordveil.mechanisms import make_mechanism
from wordveil.noise import check_epsilon
from wordveil.perturber import Perturber, warn_if_weak
from wordveil.policy import Policy
from wordveil.text_guarantee import TextGuarantee

__all__ = ["PerturbTransformer"]

library("sklearn", "sklearn", "PerturbTransformer")
from sklearn.base import BaseEstimator, TransformerMixin  # noqa: E402  # after the check that it is there

_OWNER: Final = "PerturbTransformer"
_MEMORY: Final = "joblib.memory"
_KINDS: Final[tuple[tuple[str, Any, str], ...]] = (
    ("mechanism", str, "be the name of a mechanism"),
    ("answer", str | None, "be the name of an answer, or None"),
    ("policy", Policy | None, "be a Policy, or None"),
    ("embedding", str | Path | Embedding | None, "be a name, a path or an Embedding, or None"),
)


class PerturbTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Makes texts private, as a step before a vectorizer.

    It learns nothing from the texts. `transform` draws new noise in every call, in `predict` too: a model
    that was trained with it is also asked about private texts, unless `unsafe_clean_at_predict` is set. A
    pickle has the parameters and the fingerprint of the vectors, not the vectors, unless they have no name.

    It refuses to run below joblib's `Memory`, such as that of `Pipeline(memory=…)`: that writes the texts to
    files that others can read, and returns the same noise again. It notices calls of the same thread, and of
    the threads and processes of joblib's `Parallel`; of others it does not.

    Parameters
    ----------
    epsilon : float
        ε. No default; see `wordveil calibrate`.
    lam : float, optional
        λ, for mechanisms that have it (default: that of the mechanism).
    dims : int, optional
        Project the vectors onto this many principal axes.
    mechanism : str
        The name of a mechanism.
    answer : str, optional
        How the mechanism chooses its answer (default: that of the mechanism).
    embedding : str, path or Embedding, optional
        The vectors (default: those that come with wordveil).
    policy : Policy, optional
        The choices around the mechanism (default: the safe ones).
    unsafe_clean_at_predict : bool
        Perturb in `fit_transform` only, so that a trained model predicts on texts as they are. What
        `transform` returns is then not private. The guarantee covers the training texts if the pipeline is
        fitted by itself, and not inside of an estimator that predicts on its own training texts (stacking,
        calibration, a tuned threshold): perturb once, before that estimator.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> texts, labels = ["book a flight", "red tea", "a cheap flight", "green tea"], [1, 0, 1, 0]
    >>> steps = PerturbTransformer(epsilon=6.0, dims=25), CountVectorizer(), LogisticRegression()
    >>> make_pipeline(*steps).fit(texts, labels).predict(["a flight"]).shape
    (1,)
    """

    def __init__(
        self,
        epsilon: float,
        *,
        lam: float | None = None,
        dims: int | None = None,
        mechanism: str = "mahalanobis",
        answer: str | None = None,
        embedding: str | Path | Embedding | None = None,
        policy: Policy | None = None,
        unsafe_clean_at_predict: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.lam = lam
        self.dims = dims
        self.mechanism = mechanism
        self.answer = answer
        self.embedding = embedding
        self.policy = policy
        self.unsafe_clean_at_predict = unsafe_clean_at_predict

    @property
    def perturber(self) -> Perturber:
        """The perturber of these parameters. Transformers of equal parameters share it."""
        options = {"lam": self.lam, "answer": self.answer}
        if self.lam is not None:
            options["lam"] = check_real(self.lam, "lam", _OWNER, "be in [0, 1]", 0.0, 1.0)
        for name, kinds, must in _KINDS:
            if not isinstance(getattr(self, name), kinds):
                raise parameter_error(name, _OWNER, must, getattr(self, name))
        perturber = _perturber(
            self.embedding,
            self.dims,
            self.mechanism,
            check_epsilon(self.epsilon, _OWNER),
            tuple((name, value) for name, value in options.items() if value is not None),
            Policy() if self.policy is None else self.policy,
        )
        stated = getattr(self, "vectors_fingerprint_", None)
        if stated not in (None, perturber.mechanism.embedding.fingerprint):
            raise IntegrityError(
                "The vectors of this transformer differ from those that it was fitted with. "
                "Hint: install the same vectors on both machines."
            )
        return perturber

    @property
    def guarantee(self) -> TextGuarantee:
        """What is promised about each text that `transform` or `fit_transform` has perturbed."""
        return self.perturber.guarantee

    @sealed
    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803, ARG002  # scikit-learn's names
        """Check the parameters; nothing is learned from the texts."""
        return self._fit(X, stacklevel=4)

    def _fit(self, X: Any, *, stacklevel: int) -> Self:  # noqa: N803
        _refuse_memory()
        for name in ("vectors_fingerprint_", "clean_at_predict_"):
            self.__dict__.pop(name, None)
        perturber = self.perturber
        if not isinstance(self.unsafe_clean_at_predict, bool):
            raise parameter_error(
                "unsafe_clean_at_predict", _OWNER, "be True or False", self.unsafe_clean_at_predict
            )
        if self.unsafe_clean_at_predict:
            warnings.warn(
                "After fit, transform and predict see texts as they are (unsafe_clean_at_predict). "
                "Hint: fit a plain pipeline. Ensembles that predict on "
                "their own training texts see them clean.",
                PrivacyWarning,
                stacklevel=stacklevel,
            )
        warn_if_weak(perturber, None, stacklevel=stacklevel + 1)
        array = _array(X)
        self.feature_names_in_ = _names(X, array)
        self.vectors_fingerprint_ = perturber.mechanism.embedding.fingerprint
        self.clean_at_predict_ = self.unsafe_clean_at_predict
        return self

    @sealed
    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803, ARG002
        """Return private versions of the texts, in the shape of `X`, with new noise in every call."""
        return self._fit(X, stacklevel=5)._perturbed(X)  # scikit-learn wraps this method

    @sealed
    def transform(self, X: Any) -> Any:  # noqa: N803
        """Return private versions of the texts, in the shape of `X`, with new noise in every call.

        After fit with `unsafe_clean_at_predict`: the texts as they are.
        """
        _refuse_memory()
        if getattr(self, "clean_at_predict_", False):  # the parameter may have changed since, unwarned
            return _array(X)
        return self._perturbed(X)

    def _perturbed(self, X: Any) -> NDArray[np.object_]:  # noqa: N803
        array = _array(X)
        private = perturbed_column(self.perturber, _texts(array.ravel()))
        return np.array([*private, None], dtype=object)[:-1].reshape(array.shape)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns, which are those of the input; before fit, of a single one."""
        names = getattr(self, "feature_names_in_", ["x0"]) if input_features is None else input_features
        return np.asarray(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = (
            False  # columns of texts work, but not of numbers, which "2d" would promise
        )
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        tags.requires_fit = False
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_clone__(self) -> Self:
        """Return an unfitted copy that shares the vectors, where scikit-learn would copy them."""
        original = copy.copy(self)
        original.embedding = None
        cloned: Self = super(PerturbTransformer, original).__sklearn_clone__()
        cloned.embedding = self.embedding
        return cloned

    def __getstate__(self) -> dict[str, Any]:
        _refuse_memory()  # which pickles what it looks up, before anything is written
        state: dict[str, Any] = super().__getstate__()
        return state


@lru_cache(maxsize=8)
def _perturber(
    source: str | Path | Embedding | None,
    dims: int | None,
    mechanism: str,
    epsilon: float,
    options: tuple[tuple[str, Any], ...],
    policy: Policy,
) -> Perturber:
    """Return the perturber of these parameters, the same one for every fold of a search."""
    return Perturber(make_mechanism(mechanism, _vectors(source, dims), epsilon, **dict(options)), policy)


@lru_cache(maxsize=4)
def _vectors(source: str | Path | Embedding | None, dims: int | None) -> Embedding:
    embedding = source if isinstance(source, Embedding) else load_embedding(source)
    return embedding if dims is None else embedding.project(dims)


def _array(texts: Any) -> NDArray[np.object_]:
    """Return texts as an array of one or two dimensions."""
    if isinstance(texts, str | bytes):
        raise ParameterError("The 'X' parameter of PerturbTransformer must be a list of texts, not one text.")
    array = np.asarray(texts, dtype=object)
    if array.ndim not in (1, 2):
        raise ParameterError(
            f"The 'X' parameter of PerturbTransformer must have 1 or 2 dimensions. Got {array.ndim} instead."
        )
    return array


def _texts(values: NDArray[np.object_]) -> Sequence[str | None]:
    """Return the texts, with None for each missing value: None, NaN, or pandas.NA."""
    is_missing = [
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"
        for value in values
    ]
    for number, (value, missing) in enumerate(zip(values, is_missing, strict=True)):
        if not missing and not isinstance(value, str):
            raise ParameterError(
                f"Text {number} (counted from 0) must be a str. Got {named_type(value)} instead."
            )
    return [None if missing else value for value, missing in zip(values, is_missing, strict=True)]


def _names(texts: Any, array: NDArray[np.object_]) -> NDArray[np.object_]:
    names = list(getattr(texts, "columns", ())) or [getattr(texts, "name", None)]
    if not all(isinstance(name, str) for name in names):
        names = [f"x{number}" for number in range(1 if array.ndim == 1 else array.shape[1])]
    return np.array(names, dtype=object)


def _refuse_memory() -> None:
    """Raise an error if joblib's Memory is caching whatever calls this, also by the threads of its Parallel.

    There is no other sign of it: a pipeline does not tell its steps. What is sent to a process of Parallel is
    pickled in such a thread. The last step of a cached pipeline is not cached, but its input is.
    """
    own = _joblib_modules(sys._getframe())
    if _MEMORY in own or (own and any(map(_is_parallel_below_memory, _other_threads()))):
        raise ParameterError(
            "joblib's Memory, as in Pipeline(memory=…), writes texts to files that others can read and "
            "returns the same noise again. Hint: memory=None; and delete its folder, where texts may be."
        )


def _joblib_modules(frame: FrameType | None) -> list[str]:
    """Return the modules of joblib that a stack of frames passes, the last call first.

    A pipeline without a cache calls its steps through joblib too, by a class that caches nothing. One with a
    cache counts as joblib's Memory, also where it calls its last step.
    """
    modules = []
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.startswith("joblib.") and not frame.f_code.co_qualname.startswith("NotMemorized"):
            modules.append(name)
        elif name == "sklearn.pipeline" and _has_cache(frame.f_locals.get("self")):
            modules.append(_MEMORY)
        frame = frame.f_back
    return modules


def _has_cache(pipeline: object) -> bool:
    memory = getattr(pipeline, "memory", None)
    return getattr(memory, "location", memory) is not None  # Memory(None) caches nothing


def _other_threads() -> Iterator[FrameType]:
    """Yield what the other threads of this process are calling."""
    own = threading.get_ident()
    return (frame for thread, frame in sys._current_frames().items() if thread != own)


def _is_parallel_below_memory(frame: FrameType) -> bool:
    modules = _joblib_modules(frame)
    return _MEMORY in modules and "joblib.parallel" in modules[: modules.index(_MEMORY)]
