"""Commands that are imported when they are run, so the help and the version appear at once."""

import importlib
import inspect
from typing import Any, Final, NamedTuple

import typer
from typer.core import TyperGroup

__all__ = ["COMMANDS", "Command", "LazyGroup", "add_commands", "load_command"]


class Command(NamedTuple):
    """Where a command is defined, and its one-line help, which is shown without importing it."""

    module: str
    name: str
    help: str


COMMANDS: Final = {
    "perturb": Command(
        "wordveil.cli.perturb",
        "perturb",
        "Perturb the texts of a table, or of a pipe. Text is never an argument: process lists show those.",
    ),
    "explain": Command(
        "wordveil.cli.explain",
        "explain",
        "Say in plain words what a setting or a manifest is worth, and what it does not protect.",
    ),
    "calibrate": Command(
        "wordveil.cli.calibrate",
        "calibrate",
        "Find the ε at which a setting reaches a goal, with its interval.",
    ),
    "audit": Command(
        "wordveil.cli.audit",
        "audit_setting",
        "Try to break a setting on this machine; the exit code is 3 if a check fails.",
    ),
    "attack": Command(
        "wordveil.cli.attack",
        "attack_settings",
        "Attack one or several settings, and say what is recovered beside what guessing would give.",
    ),
    "frontier": Command(
        "wordveil.cli.frontier",
        "frontier",
        "Compare settings by what an attacker gains: closeness, proven limits, what a classifier learns.",
    ),
    "tune": Command(
        "wordveil.cli.tune",
        "tune",
        "Find the setting with the best utility under limits for privacy, or the other way round.",
    ),
    "mechanisms": Command(
        "wordveil.cli.mechanisms", "mechanisms", "List the mechanisms, or show one of them in full."
    ),
    "show-noise": Command(
        "wordveil.cli.show_noise",
        "show_noise",
        "Draw round and shaped noise at the same ε around real words (Figure 1 of the paper).",
    ),
    "ledger": Command(
        "wordveil.cli.ledger",
        "ledger",
        "List the files that were perturbed from this account. Private: it names your files.",
    ),
    "embedding": Command("wordveil.cli.embedding", "app", "Public word vectors: list, inspect, import, map."),
    "experiment": Command(
        "wordveil.cli.experiment", "app", "The paper's experiments: tables, figures, verdicts."
    ),
}


class LazyGroup(TyperGroup):
    """A group whose commands are placeholders until one of them is run."""

    # `Any`, because the classes behind Typer's commands have had two homes: click, and since 0.28 Typer.
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the name of the command that the arguments begin with, the command itself, and the rest."""
        name, placeholder, rest = super().resolve_command(ctx, args)
        return name, placeholder if name is None else load_command(name), rest


def add_commands(app: typer.Typer) -> None:
    """Give an app a placeholder for each command: its name and its help."""
    for name, command in COMMANDS.items():
        app.command(name, help=command.help)(_placeholder)


def _placeholder() -> None:
    raise AssertionError("LazyGroup replaces this before it runs.")  # pragma: no cover  # never runs


def load_command(name: str) -> Any:
    """Import a command and return what Typer makes of it."""
    target = getattr(importlib.import_module(COMMANDS[name].module), COMMANDS[name].name)
    app = typer.Typer(add_completion=False)
    if isinstance(target, typer.Typer):
        for command in target.registered_commands:
            command.help = command.help or _help_of(command.callback)
        app.add_typer(target, name=name)
    else:
        app.command(name, help=_help_of(target))(target)
    return typer.main.get_group(app).commands[name]


def _help_of(command: object) -> str:
    """Return the docstring of a command, one line per paragraph: Typer keeps the breaks of the source."""
    paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
