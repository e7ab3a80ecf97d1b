"""`wordveil audit`: tries to break a setting, on this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.config import Config
from wordveil.cli.console import count_progress, output
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import Json
from wordveil.cli.policy_options import Bag, PadTo
from wordveil.cli.setting import SettingOptions, chosen_setting
from wordveil.errors import check_whole
from wordveil.evaluation.audit import GROUPS, audit_mechanism
from wordveil.evaluation.audit_black_box import DRAWS
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.policy import Policy
from wordveil.report.output import check_folder
from wordveil.report.report import make_report

__all__ = ["audit_setting"]

_FAILED = 3


@with_option_sets
def audit_setting(
    context: typer.Context,
    *,
    setting_options: SettingOptions,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GROUP", help=f"Only these checks: {', '.join(GROUPS)}."),
    ] = None,
    draws: Annotated[
        int, typer.Option(metavar="N", help="How often to draw each word in low dimension.")
    ] = DRAWS,
    pad_to: PadTo = None,
    bag: Bag = False,
    out: Annotated[
        Path | None, typer.Option(help="Write the result as a page and as tables to this folder.")
    ] = None,
    as_json: Json = False,
    config: Config = None,  # noqa: ARG001  # its callback reads it
) -> int:
    """Try to break a setting on this machine; the exit code is 3 if a check fails.

    Nothing private is read: all words and texts are made up, or public.
    """
    check_whole(draws, "draws", "audit", 20_000)
    check_folder(out)
    setting = chosen_setting(context, setting_options)
    policy = Policy(pad_to, bag)

    def perturb(chosen: Mechanism) -> Perturber:
        return Perturber(chosen, policy)

    with count_progress("auditing") as watch:
        result = audit_mechanism(
            setting.mechanism, perturb=perturb, groups=only or GROUPS, draws=draws, watch=watch
        )
    if out is not None:
        make_report(result).write(out)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
    else:
        console = output()
        for check in result.checks:
            console.print(str(check), markup=False)
        console.print(f"\n{result.headline}", markup=False)
    return 0 if result.passed else _FAILED
