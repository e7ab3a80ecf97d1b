"""The report of attacks: success beside its null, against ε, and the words that are easiest to recover."""

from itertools import starmap
from typing import Any, Final, Literal

from wordveil.evaluation.attacks_result import Attack, Attacks
from wordveil.report.charts import Chart, Level, Line, Panel
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["attack_report"]

_VARIED: Final = ("pad_to", "candidates", "words", "releases")
# What the picture shows: a panel for each group.
_SHOWN: Final = {
    "words": ("best guess", "best guess from answers", "topic prior"),
    "context": ("use in the public text", "context of the public text"),
    "linkage": ("likelihood, rank 1", "tf-idf and length, rank 1", "length alone, rank 1"),
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
        {name: value for name, value in attacks.settings.items() if name != "settings"},
        attacks.is_private,
        attacks.to_dict(),
    )


def _summary(attacks: Attacks) -> tuple[str, str, str]:
    best = max(attacks.attacks, key=lambda attack: attack.success.share - attack.null)
    count = len(attacks.settings["settings"])
    return (
        f"{count} setting{'s' if count > 1 else ''} attacked by those who know everything but the noise.",
        f"The largest gain is that of '{best.group}: {best.name}' with {_setting(best.setting)}: "
        f"{_percent(best.success.share)}, and {_percent(best.null)} without the output.",
        "These numbers are about the texts that were attacked: private, not for release."
        if attacks.is_private
        else "Only public words were attacked; texts are traced back far more often than words.",
    )


def _percent(share: float) -> str:
    return f"{100.0 * share:.1f}%" if share >= 0.001 else f"{100.0 * share:.3f}%"


def _table(attacks: Attacks) -> StatTable:
    rows = [
        (
            f"{attack.group}: {attack.name}",
            _setting(attack.setting),
            _percent(attack.success.share),
            f"{_percent(attack.success.low)} to {_percent(attack.success.high)}",
            _percent(attack.null),
            f"{attack.count:,}",
        )
        for attack in attacks.attacks
    ]
    columns = ("attack", "setting", "success", "95% interval", "without the output", "attacked")
    return StatTable("Attacks", columns, tuple(rows))


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
    rows = tuple((word.word, _percent(word.named), word.why) for word in attacks.easiest)
    return StatTable("The words that are easiest to recover", ("word", "recovered", "why"), rows)


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
    return [Chart("attacks", caption, tuple(panels), "ε", "success", (0.0, 1.0), decimals=2, scale=scale)]


def _line(name: str, row: list[Attack]) -> Line:
    x = tuple(attack.setting["epsilon"] for attack in row)
    y, low, high = (tuple(attack.success[i] for attack in row) for i in range(3))
    return Line(name, x, y, low, high)


def _floors(lines: dict[str, list[Attack]]) -> tuple[Level, ...]:
    """Return the null of each line; equal ones share a floor, and one that varies has both its ends."""
    names: dict[float, list[str]] = {}
    for name, row in lines.items():
        nulls = [round(attack.null, 6) for attack in row]
        for null in {min(nulls), max(nulls)}:
            names.setdefault(null, []).append(name)
    usual = max(names, key=lambda null: len(names[null]))  # named without its lines, since legends are narrow
    others = [Level(f"… {', '.join(owners)}", null) for null, owners in names.items() if null != usual]
    return Level("without the output", usual), *others


def _by_epsilon(found: list[Attack], family: str) -> list[Attack]:
    """Return one attack of a family per ε, in ascending order: on all texts, among the most candidates."""
    found = [attack for attack in found if _family(attack.setting) == family]
    most = max((attack.setting.get("candidates", 0) for attack in found), default=0)
    by_epsilon: dict[float, Attack] = {}
    for attack in found:
        setting = attack.setting
        if setting.get("candidates", 0) == most and not setting.get("words"):
            by_epsilon.setdefault(setting["epsilon"], attack)
    return [by_epsilon[epsilon] for epsilon in sorted(by_epsilon)]
