"""What identifies a classifier: scores of another one must not be used in its place."""

import hashlib
import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from wordveil.evaluation.mechanism_draws import class_digest

__all__ = ["classifier_digest"]

_PLAIN: Final = (bool, int, float, str, type(None))
_LIBRARIES: Final = ("scikit-learn", "fasttext-numpy2")


def classifier_digest(classifier: Any) -> str:
    """Return a digest of a classifier and its parameters; empty if it can't be told from another one.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> classifier_digest(LinearSVC(C=1.0)) == classifier_digest(LinearSVC(C=1.0))
    True
    >>> classifier_digest(LinearSVC(C=1.0)) == classifier_digest(LinearSVC(C=2.0))
    False
    >>> classifier_digest(LinearSVC(C=print))
    ''
    """
    facts = _facts(classifier)
    if facts is None:
        return ""
    return hashlib.sha256(json.dumps([facts, _versions()], sort_keys=True).encode()).hexdigest()


def _versions() -> list[str]:
    versions = []
    for name in _LIBRARIES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(name)
    return versions


def _facts(thing: Any) -> Any:
    """Return plain values from which a thing could be made again, or None if there are none."""
    if isinstance(thing, _PLAIN):
        return repr(thing)
    if isinstance(thing, type) and thing.__module__ in ("builtins", "numpy"):
        return f"{thing.__module__}.{thing.__qualname__}"
    if isinstance(thing, list | tuple):
        parts = [_facts(part) for part in thing]
        return None if None in parts else parts
    if not callable(getattr(thing, "get_params", None)):
        return None
    code = class_digest(type(thing))
    parameters = {name: _facts(value) for name, value in sorted(thing.get_params(deep=False).items())}
    if not code or None in parameters.values():
        return None
    return [type(thing).__module__, type(thing).__qualname__, code, parameters]
