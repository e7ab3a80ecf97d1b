"""`wordveil mechanisms`: what mechanisms there are, and what can be chosen about each of them."""

import inspect
import json
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from wordveil.cli.console import facts_table, output
from wordveil.cli.options import Json
from wordveil.errors import MachineError, ParameterError
from wordveil.mechanisms import REQUIRED, Mechanism, Option, mechanism_class, mechanism_names

__all__ = ["mechanisms"]


def mechanisms(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Show this one in full: its guarantee and its options."),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the mechanisms, or show one of them in full.

    Other packages can add mechanisms; one that can't be imported is listed as broken.
    """
    if name is not None:
        _show_one(mechanism_facts(mechanism_class(name)), as_json)
        return
    rows = [_facts_or_error(registered) for registered in mechanism_names()]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    table = Table("name", "options", "paper", box=None, header_style="bold")
    for row in rows:
        options = ", ".join(option["name"] for option in row.get("options", []))
        about = f"broken: {row['error']}" if "error" in row else row["paper"]
        table.add_row(Text(row["name"]), Text(options), Text(about))
    output().print(table)


def _facts_or_error(name: str) -> dict[str, Any]:
    try:
        return mechanism_facts(mechanism_class(name))
    except (MachineError, ParameterError) as error:
        return {"name": name, "error": str(error)}
    except Exception as error:  # the class of another package can be anything
        return {"name": name, "error": type(error).__name__}


def mechanism_facts(mechanism: type[Mechanism]) -> dict[str, Any]:
    """Return what the class of a mechanism says about itself."""
    summary, guarantee = _about(mechanism)
    return {
        "name": mechanism.registered_name(),
        "class": f"{mechanism.__module__}.{mechanism.__qualname__}",
        "summary": summary,
        "guarantee": guarantee,
        "options": [_option_facts(option) for option in mechanism.options],
        "paper": mechanism.paper,
        "can_use_gpu": mechanism.takes_device,
    }


def _about(mechanism: type[Mechanism]) -> tuple[str, str]:
    """Return the first paragraph of the docstring, and the one that begins with "Guarantee:"."""
    own = vars(mechanism).get("__doc__") or ""  # not the one of the base class
    paragraphs = [" ".join(part.split()) for part in inspect.cleandoc(own).split("\n\n")]
    promises = (
        part.removeprefix("Guarantee:").strip() for part in paragraphs if part.startswith("Guarantee:")
    )
    return paragraphs[0], next(promises, "")


def _option_facts(option: Option) -> dict[str, Any]:
    required = option.default is REQUIRED
    return {
        "name": option.name,
        "type": option.type.__name__,
        "range": option.range,
        "required": required,
        "default": None if required else option.default,
        "help": option.help,
    }


def _show_one(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    rows = facts_table()
    for label, key in {"name": "name", "what": "summary", "guarantee": "guarantee", "paper": "paper"}.items():
        rows.add_row(label, Text(facts[key] or "not stated"))
    rows.add_row("ε", Text("--epsilon E: smaller is more private; required"))
    for option in facts["options"]:
        rows.add_row(Text(f"--option {option['name']}"), Text(_option_line(option)))
    if not facts["options"]:
        rows.add_row("options", "none")
    output().print(rows)


def _option_line(option: dict[str, Any]) -> str:
    default = (
        "required" if option["required"] else f"default {json.dumps(option['default'], ensure_ascii=False)}"
    )
    return f"{option['help']} ({', '.join(filter(None, [option['type'], option['range'], default]))})"
