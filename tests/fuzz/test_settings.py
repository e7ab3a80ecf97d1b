"""Settings in TOML."""

import json
import math
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import strategies as st

import wordveil as wv
from wordveil.embedding.store import save_store

from .budget import Budget
from .mutations import damaged, odd_values
from .rules import SECRET, Rules

pytestmark = pytest.mark.fuzz

_VALID: Final = f'''# {SECRET}
epsilon = 5.5
lam = 0.5
text = ["message"]
keep = "label"
no-header = false
unsafe-mask = "{SECRET}"
'''
_NAMES: Final = (
    "epsilon", "lam", "dims", "mechanism", "text", "keep", "format", "delimiter", "no-header", "no-quotes", "workers",
    "device", "resume", "force", "again", "no-ledger", "engine", "master", "pad-to", "bag", "unsafe-drop",
    "unsafe-mask", "unsafe-keep", "unsafe-keep-punctuation", "unsafe-keep-case", "unsafe-exempt", "unsafe-keep-nulls",
    "unsafe-seed", "unsafe_seed", "embedding", "source", "config", "help", "profile", "frequencies",
    "frequencies-are-public", SECRET, "",
)  # fmt: skip
_REPORTED: Final = ("text", "keep", "unsafe-exempt", "frequencies")
"""Errors about missing columns and paths quote the names that the user gave."""


def toml(value: Any) -> str:
    """Return a value as TOML; null, which it lacks, as an empty list."""
    match value:
        case None:
            return "[]"
        case bool():
            return str(value).lower()
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case dict():
            return f"{{{', '.join(f'{json.dumps(key)} = {toml(member)}' for key, member in value.items())}}}"
        case _:
            return json.dumps(value)


def documents() -> st.SearchStrategy[bytes]:
    """Settings of any value, most of them ones that the command knows."""
    usual = st.sampled_from(
        ["message", "label", "csv", "text", "parquet", "balancd", 1, 2.5, 0, True, False, 10**6, ["message"]]
    )
    setting = st.tuples(st.sampled_from(_NAMES), st.one_of(usual, st.just(SECRET), odd_values()))
    allowed = setting.filter(lambda pair: not (pair[0] in _REPORTED and SECRET in toml(pair[1])))
    settings = allowed.map(lambda pair: [pair]) | st.lists(
        allowed, max_size=3
    )  # one alone can't hide another
    base = st.sampled_from([{"epsilon": 5, "text": "message"}] * 3 + [{}])
    return st.tuples(base, settings).map(lambda pair: document(pair[0] | dict(pair[1])))


def document(settings: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(name)} = {toml(value)}\n" for name, value in settings.items()).encode()


def test_settings(budget: Budget, rules: Rules, folder: Path, small: wv.Embedding) -> None:
    source, target, config, vectors = (
        folder / name for name in ("in.csv", "out.csv", "settings.toml", "small.safetensors")
    )
    save_store(small, vectors)
    source.write_text(f"label,message,{SECRET}\nham,tea at {SECRET},1\n")

    def example(case: tuple[bytes, list[str], bool]) -> str:
        data, columns, to_pipe = case
        config.write_bytes(data)
        for path in folder.glob("out.csv*"):
            path.unlink()
        code = rules.command(
            "perturb",
            source,
            "-" if to_pipe else target,
            "--config",
            config,
            "--embedding",
            vectors,
            *columns,
        )
        if code:
            assert not target.exists()
        assert not (folder / ".out.csv.wordveil").exists()
        return f"exit code {code}"

    anything = st.tuples(
        damaged([_VALID.encode()]), st.just(["--text", "message", "--keep", "label"]), st.booleans()
    )
    meaningful = st.tuples(documents(), st.builds(list[str]), st.booleans())
    budget.spend(anything | meaningful, example)
