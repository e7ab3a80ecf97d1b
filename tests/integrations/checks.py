"""What every integration is checked for, whatever the library.

Outputs are distinct across processes and calls; no file that the library wrote holds a word of the input;
pickles hold neither keys nor streams.
"""

import ast
import csv
import os
import pickletools
import subprocess
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

import wordveil as wv
from tests.samples import SMALL_WORDS

__all__ = [
    "DRAWN_KEYS",
    "LOCAL_HOSTS",
    "OFFLINE",
    "SECRET",
    "TEXT",
    "check_answers",
    "check_distinct",
    "check_no_keys",
    "check_no_secret",
    "check_pickle",
    "files_under",
    "has_secret",
    "run",
    "run_example",
    "small_perturber",
]

ROOT = Path(__file__).parent.parent.parent
SECRET = "zanzibarska"
"""A word of the input that is in no vocabulary, so no output can have it by chance."""

TEXT = f"{SECRET} {'book a flight to boston please ' * 8}".strip()
"""49 words. The likeliest answer of `small_perturber` has probability < 1/2: two draws are equal with < 2⁻⁴⁹."""

OFFLINE = {
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "TOKENIZERS_PARALLELISM": "false",
}
"""No telemetry and no network, for every library of this folder."""

DRAWN_KEYS: list[bytes] = []
"""The keys that this process has drawn; the fixture `_keys` records them."""

LOCAL_HOSTS = (None, "localhost", "127.0.0.1", "::1", "0.0.0.0")
"""What may be looked up, besides the name of this machine."""

# Python runs it at its start: every process that a script starts, by whatever means, writes the keys that
# wordveil draws there to a file beside the watched folder. Other secrets, such as Ray's own, are none of them.
# To another such file it writes the names of machines that are looked up, which fails. No key is renewed because
# time has passed: on a busy machine that would hide that processes share one.
_SITE = f"""
import os, secrets, socket, types
look_up = socket.getaddrinfo
def own_address():  # nothing is sent; Ray's processes on this machine use it among themselves
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        return probe.getsockname()[0]
def guarded(host, *args, **kwargs):
    name = host.decode() if isinstance(host, bytes) else host
    if name in (*{LOCAL_HOSTS!r}, socket.gethostname(), own_address()):
        return look_up(host, *args, **kwargs)
    with open(os.environ["HOSTS_FILE"], "a") as file:
        file.write(str(name) + chr(10))
    raise socket.gaierror("no network in tests")
socket.getaddrinfo = guarded
import wordveil.randomness
def recorded(count):
    key = secrets.token_bytes(count)
    with open(os.environ["KEYS_FILE"], "a") as file:
        file.write(key.hex() + chr(10))
    return key
wordveil.randomness.secrets = types.SimpleNamespace(token_bytes=recorded)
wordveil.randomness._SECONDS_PER_KEY = float("inf")
"""

_PREAMBLE = """
import warnings
import wordveil as wv
from tests.integrations.checks import SECRET, TEXT, small_perturber
"""


def small_perturber(epsilon: float = 0.01) -> wv.Perturber:
    """Return a perturber with 18 words; at this ε they are nearly equally likely."""
    vectors = np.random.default_rng(4).normal(size=(len(SMALL_WORDS), 3))
    return wv.Perturber(wv.Mahalanobis(wv.Embedding(SMALL_WORDS, vectors, public=True), epsilon))


def run(code: str, folder: Path, *arguments: str, may_ask: Iterable[str] = ()) -> list[str]:
    """Run a script whose home, temporary and working folder is `folder`, and return the lines it prints.

    It fails if another machine is looked up than those it `may_ask`, which are not found either.
    """
    home = folder / "home"
    home.mkdir(exist_ok=True)
    keys, hosts = (folder.parent / f"{folder.name}.{name}" for name in ("keys", "hosts"))
    site = folder.parent / f"{folder.name}.site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(_SITE)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= OFFLINE | {
        "HOME": str(home),
        "TMPDIR": str(folder),
        "KEYS_FILE": str(keys),
        "HOSTS_FILE": str(hosts),
        "TLDEXTRACT_CACHE": str(home / "tldextract"),
        "PYTHONPATH": os.pathsep.join(map(str, (site, ROOT / "src", ROOT))),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PREAMBLE + textwrap.dedent(code), *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    asked = set(hosts.read_text().split()) if hosts.exists() else set()
    assert asked <= {*may_ask}, asked
    return done.stdout.splitlines()


def run_example(name: str, folder: Path, *, may_ask: Iterable[str] = ()) -> list[str]:
    """Run a script of examples/, and return its lines; fail if it prints or writes a text that it reads."""
    script = ROOT / "examples" / f"{name}.py"
    code = "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')"
    lines = run(code, folder, str(script), may_ask=may_ask)
    with (ROOT / "examples" / "messages.csv").open(encoding="utf-8", newline="") as file:
        texts = [row["message"] for row in csv.DictReader(file)]
    texts += _literals(script)
    contents = [path.read_bytes() for path in files_under(folder)]
    for text in texts:
        assert text[:40] not in "\n".join(lines)
        assert not any(has_secret(content, text[:40]) for content in contents)
    return lines


def _literals(script: Path) -> list[str]:
    """Return the longer texts that a script has in itself, but for what it says of its results."""
    nodes = [*ast.walk(ast.parse(script.read_text(encoding="utf-8")))]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    said = [argument for call in calls if ast.unparse(call.func) == "print" for argument in call.args]
    constants = [node.value for node in nodes if isinstance(node, ast.Constant) and node not in said]
    return [value for value in constants if isinstance(value, str) and len(value.split()) > 3]


def files_under(folder: Path) -> list[Path]:
    """Return all files in a folder and its subfolders."""
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def has_secret(content: bytes, secret: str = SECRET) -> bool:
    """Return whether bytes have the secret, in any case and in any encoding that libraries keep texts in."""
    lowered = content.lower()
    return any(secret.lower().encode(name) in lowered for name in ("utf-8", "utf-16-le", "utf-32-le"))


def check_no_secret(folder: Path, secret: str = SECRET) -> list[Path]:
    """Return the files in a folder; fail if one of them, or its name, has the secret in any case."""
    paths = files_under(folder)
    for path in paths:
        assert secret.lower() not in str(path.relative_to(folder)).lower(), path
        assert not has_secret(path.read_bytes(), secret), path
    return paths


def check_no_keys(folder: Path, *, least: int = 1) -> None:
    """Fail if a file in the folder of a `run` has a key, or if its processes drew fewer than expected."""
    keys = [bytes.fromhex(line) for line in (folder.parent / f"{folder.name}.keys").read_text().split()]
    assert len(set(keys)) >= least
    for path in files_under(folder):
        content = path.read_bytes()
        assert not any(key in content or key.hex().encode() in content for key in keys), path


def check_distinct(answers: Iterable[str], texts: Sequence[str] = (TEXT,)) -> None:
    """Fail if two answers are the same, if one is an input, or if one has the secret."""
    listed = list(answers)
    assert len(listed) > 1
    assert len(set(listed)) == len(listed)
    for answer in listed:
        assert answer not in texts
        assert SECRET not in answer.lower()


def check_answers(lines: Sequence[str], folder: Path, *, count: int, least_keys: int) -> None:
    """Check what a `run` printed and left in its folder: distinct answers, no secret, no keys."""
    assert len(lines) == count
    check_distinct(lines)
    check_no_secret(folder)
    check_no_keys(folder, least=least_keys)


def check_pickle(data: bytes, most_bytes: int = 100_000) -> None:
    """Fail if a pickle has or refers to keys or streams, has the secret, or is so large that it has vectors.

    It knows the keys that this process has drawn in tests of this folder.
    """
    assert not [key for key in DRAWN_KEYS if key in data]
    strings = [argument for _, argument, _ in pickletools.genops(data) if isinstance(argument, str)]
    assert any("wordveil" in string for string in strings)
    assert not [string for string in strings if "wordveil.randomness" in string or "randomgen" in string]
    assert not has_secret(data)
    assert len(data) <= most_bytes
