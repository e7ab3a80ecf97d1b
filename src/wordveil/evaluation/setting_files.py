"""Named settings from a TOML file: one table per setting."""

import difflib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import FormatError, WordveilError
from wordveil.evaluation.settings import Setting
from wordveil.mechanisms import make_mechanism, mechanism_class
from wordveil.nearest.devices import DeviceName
from wordveil.profiles import load_profile
from wordveil.toml_file import read_toml

__all__ = ["read_settings"]

_KEYS: Final = ("epsilon", "mechanism", "dims", "embedding")
_MAX_NAME: Final = 40  # names are printed: a longer one is more likely a text


def read_settings(path: str | Path, *, device: DeviceName = "cpu") -> list[Setting]:
    r"""Return the settings of a TOML file, each table of which is one, under its name.

    A table has either a `profile`, or an `epsilon` (a number, or a list of numbers), and if need be a
    `mechanism`, `dims`, an `embedding`, and options of the mechanism such as `lam` and `answer`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "settings.toml"
    ...     _ = path.write_text("[flat]\nepsilon = [5, 10]\nlam = 0.0\ndims = 20\n")
    ...     [(setting.name, setting.epsilon) for setting in read_settings(path)]
    [('flat', 5.0), ('flat', 10.0)]
    """
    path = Path(path)
    tables = read_toml(path)
    spaces: dict[tuple[str, int | None], Embedding] = {}
    settings = []
    for number, (name, table) in enumerate(tables.items(), 1):
        where = f"{path}: table {number}"
        if not isinstance(table, dict) or len(name) > _MAX_NAME:
            raise FormatError(f"{path}: entry {number} is not a table with a short name. Hint: [NAME].")
        try:
            settings += [Setting(mechanism, name) for mechanism in _mechanisms(table, spaces, device, where)]
        except FormatError:
            raise
        except (WordveilError, TypeError) as error:  # whose text may show a value
            reason = getattr(error, "parameter", "")
            about = f" '{reason}'" if reason else ""
            raise FormatError(f"{where} has an invalid value{about}.") from None
    if not settings:
        raise FormatError(f"{path}: has no settings. Hint: a table [NAME] with an epsilon or a profile.")
    return settings


def _mechanisms(
    table: dict[str, Any],
    spaces: dict[tuple[str, int | None], Embedding],
    device: DeviceName,
    where: str,
) -> Iterator[Any]:
    if "profile" in table:
        if len(table) > 1:
            raise FormatError(f"{where} has a profile, which sets everything. Hint: keep only the profile.")
        yield load_profile(table["profile"]).load(device=device)
        return
    if "epsilon" not in table:
        raise FormatError(f"{where} has no 'epsilon'. Hint: epsilon = 10, or profile = \"balanced\".")
    kind = mechanism_class(table.get("mechanism", "mahalanobis"))
    names = [option.name for option in kind.options]
    for number, key in enumerate(table, 1):
        if key not in (*_KEYS, *names):
            close = difflib.get_close_matches(key, (*_KEYS, *names), n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join((*_KEYS, *names))}."
            raise FormatError(f"{where}: key {number} has an unknown name. Hint: {hint}")
    place = table.get("embedding", DEFAULT_NAME), table.get("dims")
    if place not in spaces:
        vectors = load_embedding(place[0])
        spaces[place] = vectors if place[1] is None else vectors.project(place[1])
    options = {name: table[name] for name in names if name in table}
    epsilons = table["epsilon"] if isinstance(table["epsilon"], list) else [table["epsilon"]]
    for epsilon in epsilons:
        yield make_mechanism(kind.registered_name(), spaces[place], epsilon, device=device, **options)
