"""The manifest that is published with an output, and the private counts that must not be."""

import functools
import hashlib
import json
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final

from wordveil.errors import ParameterError
from wordveil.exposure import Exposure
from wordveil.guarantee import Guarantee
from wordveil.metric import Bracket
from wordveil.perturber import Perturber
from wordveil.tables import Table
from wordveil.tokens import RULE_FINGERPRINT

__all__ = ["SEEDED", "code_fingerprint", "manifest", "private_counts", "release_facts", "settings", "written"]

SEEDED: Final = "the noise came from a seed: nothing is promised"
_VERSION: Final = 3


@functools.cache
def code_fingerprint() -> str:
    """Return the SHA-256 over the source of this package."""
    digest = hashlib.sha256()
    for name, source in sorted(_sources(files("wordveil"), "")):
        digest.update(f"{name}\0{len(source)}\0".encode())
        digest.update(source)
    return digest.hexdigest()


def _sources(folder: Traversable, path: str) -> list[tuple[str, bytes]]:
    sources = []
    for entry in folder.iterdir():
        if entry.is_dir():
            sources += _sources(entry, f"{path}{entry.name}/")
        elif entry.name.endswith(".py"):
            sources.append((f"{path}{entry.name}", entry.read_bytes()))
    return sources


def settings(perturber: Perturber, *, secure: bool) -> dict[str, Any]:
    """Return the parameters, the policy, the source of the noise and the fingerprints."""
    perturber.verify()
    embedding, blocked = perturber.mechanism.embedding, perturber.mechanism.blocked
    return {
        "parameters": perturber.mechanism.setting(),
        "policy": perturber.policy.to_dict(),
        "noise": "cryptographic, under a key that was never stored"
        if secure
        else "INSECURE: from a seed; whoever knows or guesses it can remove the noise",
        "fingerprints": {
            "vectors": embedding.fingerprint,
            **({"parent_vectors": embedding.provenance.parent} if embedding.provenance.parent else {}),
            "tokenizer_rule": RULE_FINGERPRINT,
            "code": code_fingerprint(),
        },
        "vectors_declared_public": embedding.public,
        **({} if blocked is None else {"block_list_declared_public": blocked.declared_public}),
        "code_version": version("wordveil"),
    }


def manifest(
    perturber: Perturber,
    table: Table,
    exposure: Exposure,
    *,
    secure: bool,
    output: dict[str, Any],
    earlier: dict[str, Any] | None,
) -> dict[str, Any]:
    """Return what may be published with the output: nothing about the input that the output does not show."""
    columns = {"perturbed": list(table.text), "kept_as_they_were": list(table.kept)}
    facts = release_facts(perturber, exposure, columns, secure=secure, output=output)
    if earlier is not None:
        facts["earlier_releases"] = earlier
    return facts


def release_facts(
    perturber: Perturber,
    exposure: Exposure,
    columns: dict[str, list[str]],
    *,
    secure: bool,
    output: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what may be published with any release, be it a file or an object in memory."""
    facts: dict[str, Any] = {
        "made_by": "wordveil",
        "manifest_version": _VERSION,
        "date": datetime.now(UTC).date().isoformat(),
        **({} if output is None else {"output": output}),
        "columns": columns,
        **settings(perturber, secure=secure),
        "guarantee": promise(perturber),
        "attacker": exposure.to_dict(),
    }
    if not secure:
        facts["guarantee"]["void"] = SEEDED
    return facts


def promise(perturber: Perturber) -> dict[str, Any]:
    """Return the guarantee as plain JSON; ParameterError if a user's own mechanism has one that is not."""
    name, word = type(perturber.mechanism).__name__, perturber.mechanism.guarantee
    if not isinstance(word, Guarantee) or not isinstance(word.worst_case, Bracket):
        raise ParameterError(f"The guarantee of {name} must be a Guarantee, and its worst case a Bracket.")
    facts = perturber.guarantee.to_dict()
    try:
        json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError):
        raise ParameterError(
            f"The guarantee of {name} must have finite numbers. "
            "Hint: an exponent of 1e200 stands for 'nothing is promised'."
        ) from None
    return facts


def private_counts(**facts: Any) -> dict[str, Any]:
    """Return facts about the private input, marked as not for release."""
    return {
        "not_for_release": "These facts are functions of the private input. Keep them where the input is.",
        **facts,
    }


def written(facts: dict[str, Any]) -> bytes:
    """Return facts as the content of a JSON file."""
    return (json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )
