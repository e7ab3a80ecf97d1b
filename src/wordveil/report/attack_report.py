"""The report of attacks: success beside its null, against ε, and the words that are easiest to recover."""

from itertools import starmap
from typing import Any, Final, Literal

from wordveil.evaluation.attacks_result import Attack, Attacks
from wordveil.report.charts import Chart, Level, Line, Panel
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable
from wordveil.rounding import percent

__all__ = ["attack_report"]

_VARIED: Final = ("pad_to", "candidates", "words", "releases")
# What the picture shows: a panel for each group.
_SHOWN: Final = {
    "words": ("best guess", "best guess from answers", "surrogate from ε·d alone", "topic prior"),
    "context": ("use in the public text", "context of the public text"),
    "linkage": tuple(
        f"{name}, rank 1"
        for name in ("likelihood", "surrogate", "learned", "tf-idf and length", "length alone")
    ),
}


@make_report.register
def attack_report(attacks: Attacks) -> Report:
    """Return the report of attacks on one or several settings."""
    tables = [_table(attacks)] + ([_easiest(attacks)] if attacks.easiest else [])
    return Report(
        "attacks",
        "What attackers recover",
        _summary(attacks),
        (),
        _charts(attacks),
        tables,
        attacks.rows(),
        _settings(attacks.settings),
        attacks.is_private,
        attacks.to_dict(),
    )


def _summary(attacks: Attacks) -> tuple[str, str, str]:
    best = max(attacks.attacks, key=lambda attack: attack.success.share - attack.null)
    count = len(attacks.settings["settings"])
    return (
        f"{count} setting{'s were' if count > 1 else ' was'} attacked by someone who knows everything but "
        "the noise.",
        f"The largest gain is that of '{best.group}: {best.name}' with {_setting(best.setting)}: "
        f"{percent(best.success.share)}, and {percent(best.null)} without the output.",
        "These numbers are about the texts that were attacked: private, not for release."
        if attacks.is_private
        else "Only public words were attacked; texts are traced back far more often than words.",
    )


def _settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings with the values that the attacked ones have, each once, in place of their list."""
    attacked = settings["settings"]
    names = dict.fromkeys(name for setting in attacked for name in setting)
    values = {name: list(dict.fromkeys(setting.get(name) for setting in attacked)) for name in names}
    known = {name: [value for value in row if value is not None] for name, row in values.items()}
    return known | {name: value for name, value in settings.items() if name != "settings"}


def _table(attacks: Attacks) -> StatTable:
    rows = [
        (
            f"{attack.group}: {attack.name}",
            _setting(attack.setting),
            percent(attack.success.share),
            f"{percent(attack.success.low)} to {percent(attack.success.high)}",
            percent(attack.null),
            f"{attack.count:,}",
        )
        for attack in attacks.attacks
    ]
    columns = ("attack", "setting", "success", "95% interval", "without the output", "attacked")
    return StatTable("Attacks", columns, tuple(rows), text_columns=("setting",))


def _setting(setting: dict[str, Any]) -> str:
    parts = [f"{setting['mechanism']}, ε = {setting['epsilon']:g}, {setting['dims']} dims"]
    if setting.get("lam"):
        parts.append(f"λ = {setting['lam']:g}")
    parts += [f"{name.replace('_', ' ')} {setting[name]}" for name in _VARIED if setting.get(name)]
    return ", ".join(parts)


def _family(setting: dict[str, Any]) -> str:
    """Return what a line has in common: the mechanism, its dimensions and λ."""
    lam = f", λ = {setting['lam']:g}" if "lam" in setting else ""
    return f"{setting['mechanism']}, {setting['dims']} dims{lam}"


def _easiest(attacks: Attacks) -> StatTable:
    rows = tuple((word.word, percent(word.named), word.why) for word in attacks.easiest)
    columns = ("word", "recovered", "why")
    title = f"The words that are easiest to recover, with {_setting(attacks.settings['settings'][-1])}"
    return StatTable(title, columns, rows, text_columns=("why",))


def _charts(attacks: Attacks) -> list[Chart]:
    """Return success against ε, with what is reached without the output as floors; nothing for one ε."""
    families = list(dict.fromkeys(_family(attack.setting) for attack in attacks.attacks))
    panels = []
    for group, names in _SHOWN.items():
        for family in families:
            shown = {name: _by_epsilon(attacks.find(group, name), family) for name in names}
            lines = {name: row for name, row in shown.items() if len(row) > 1}
            if lines:
                title = group if len(families) == 1 else f"{group}: {family}"
                panels.append(Panel(title, tuple(starmap(_line, lines.items())), _floors(lines)))
    if not panels:
        return []
    caption = "How often each attack succeeds, against ε, with 95% intervals; floors: without the output."
    same = len({line.x for panel in panels for line in panel.lines}) == 1
    scale: Literal["", "linear"] = "" if same else "linear"
    return [Chart("attacks", caption, tuple(panels), "ε", "success, %", (0.0, 100.0), scale=scale)]


def _line(name: str, row: list[Attack]) -> Line:
    x = tuple(attack.setting["epsilon"] for attack in row)
    y, low, high = (tuple(100.0 * attack.success[i] for attack in row) for i in range(3))
    return Line(name, x, y, low, high)


def _floors(lines: dict[str, list[Attack]]) -> tuple[Level, ...]:
    """Return the null of each line; equal ones share a floor, and one that varies has both its ends."""
    names: dict[float, list[str]] = {}
    for name, row in lines.items():
        nulls = [round(100.0 * attack.null, 4) for attack in row]
        for null in {min(nulls), max(nulls)}:
            names.setdefault(null, []).append(name)
    usual = max(names, key=lambda null: len(names[null]))  # named without its lines, since margins are narrow
    others = [
        Level(f"{', '.join(owners)}, without output", null) for null, owners in names.items() if null != usual
    ]
    return Level("without the output", usual), *others


def _by_epsilon(attacks: list[Attack], family: str) -> list[Attack]:
    """Return one attack of a family per ε, in ascending order: on all texts, among the most candidates."""
    members = [attack for attack in attacks if _family(attack.setting) == family]
    most = max((attack.setting.get("candidates", 0) for attack in members), default=0)
    by_epsilon: dict[float, Attack] = {}
    for attack in members:
        setting = attack.setting
        if setting.get("candidates", 0) == most and not setting.get("words"):
            by_epsilon.setdefault(setting["epsilon"], attack)
    return [by_epsilon[epsilon] for epsilon in sorted(by_epsilon)]
