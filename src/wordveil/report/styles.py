"""The style of pages: light and dark, on a screen, on a phone and on paper."""

from typing import Final

from wordveil.report.colours import DARK, GREY, GRID, INK, PAPER

__all__ = ["NARROW", "page_style"]

NARROW: Final = "(max-width: 48rem)"
"""The screens that get the narrow form of a figure."""

_STYLE: Final = """
*{box-sizing:border-box}
html{color-scheme:light dark;scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{font:16px/1.55 system-ui,sans-serif;margin:0;color:var(--ink);background:var(--paper)}
.page{max-width:62rem;margin:0 auto;padding:1.2rem 1rem 3rem}
h1{font-size:1.7rem;line-height:1.2;margin:.2rem 0 1rem}
h2{font-size:1.2rem;margin:2.6rem 0 .6rem;padding-top:.6rem;border-top:1px solid var(--line)}
h1,h2,h3,p,figcaption,li{overflow-wrap:anywhere}
a{color:var(--link)} :target{scroll-margin-top:1rem}
nav{font-size:.9rem;background:var(--soft);border-radius:.4rem;padding:.6rem 1rem;margin:1rem 0}
nav ul{margin:0;padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.25rem 1.4rem}
nav details ul{display:block;columns:19rem;padding:.3rem 0 0}
nav summary{cursor:pointer}
.summary p{margin:.5rem 0;font-size:1.06rem}
.private{border-left:.3rem solid var(--warn);background:var(--soft);padding:.5rem .8rem;margin:1rem 0}
figure{margin:1.2rem 0}
figure img{display:block;width:100%;min-width:17rem;height:auto}
figcaption,.note{font-size:.92rem;color:var(--grey)}
figcaption details{margin-top:.3rem} figcaption summary{cursor:pointer}
.title{font-size:1rem;font-weight:600;margin:1.6rem 0 .3rem}
.note{margin:.3rem 0 0}
.cue{display:none;color:var(--grey);font-size:.85rem;margin:0 0 .2rem;text-align:right}
.scroll{overflow-x:auto;background:
 linear-gradient(to right,var(--paper) 40%,transparent) 0 0/3rem 100% no-repeat local,
 linear-gradient(to left,var(--paper) 40%,transparent) 100% 0/3rem 100% no-repeat local,
 linear-gradient(to right,var(--shadow),transparent) 0 0/.9rem 100% no-repeat scroll,
 linear-gradient(to left,var(--shadow),transparent) 100% 0/.9rem 100% no-repeat scroll}
table{border-collapse:collapse;font-size:.88rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .7rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th{vertical-align:bottom;color:var(--grey);font-weight:600;white-space:normal;min-width:4.8rem}
th:first-child,td:first-child{text-align:left;padding-left:0}
.scroll th:first-child,.scroll td:first-child{position:sticky;left:0;background:var(--paper);min-width:5.5rem}
.scroll .text,.sentences td,.sentences th{text-align:left;white-space:normal;vertical-align:top;
 min-width:7.5rem}
.scroll th.text{vertical-align:bottom}
pre{font-size:.88rem;line-height:1.4;padding:.6rem .8rem;border:1px solid var(--line);border-radius:.4rem}
tbody tr:hover{background:var(--hover)}
.verdicts table,.settings table{width:100%}
.verdicts td,.verdicts th,.settings td,.settings th{text-align:left;white-space:normal;vertical-align:top;
 overflow-wrap:anywhere}
.verdicts td:first-child{width:34%} .verdicts td:last-child:not(.outcome){color:var(--grey)}
.verdicts th:first-child,.settings td:first-child{padding-left:0}
.settings td:first-child{width:14rem;color:var(--grey)}
.verdicts .outcome{white-space:nowrap;font-weight:600}
.holds{color:var(--good)} .does-not-hold{color:var(--warn)} .undecided{color:var(--grey)}
footer{margin-top:3rem;font-size:.8rem;color:var(--grey)}
@media screen{.always{display:block}}
@media (max-width:62rem){.below-desktop{display:block}}
@media (max-width:60rem){.below-page{display:block}}
@media (max-width:48rem){.below-tablet{display:block}
 h1{font-size:1.4rem}
 .scroll td:first-child,.scroll th:first-child{max-width:10.5rem;white-space:normal}
 .long-names td:first-child{min-width:9.4rem}
 .verdicts table,.verdicts tbody,.verdicts tr,.verdicts td,
 .sentences table,.sentences tbody,.sentences tr,.sentences td{display:block;width:auto}
 .verdicts thead,.sentences thead,.cue:has(+.sentences){display:none}
 .verdicts td,.sentences td{border:0;padding:.1rem 0}
 .verdicts td:first-child{width:auto;font-weight:600}
 .sentences td:first-child{position:static;max-width:none;overflow-wrap:anywhere}
 .sentences td:first-child:not(:only-child){font-weight:600}
 .sentences td[data-label]::before{content:attr(data-label) ": ";color:var(--grey)}
 .verdicts tr,.sentences tr{padding:.7rem 0;border-bottom:1px solid var(--line)}
 .settings td:first-child{width:35%}}
@media (max-width:30rem){.below-phone{display:block}}
@media print{.page{max-width:none} nav,.cue,figcaption details{display:none}
 body{font-size:10pt} figure,tr,.verdicts td{break-inside:avoid} .scroll{overflow:visible;background:none}
 th,td{white-space:normal;overflow-wrap:anywhere;padding:.2rem .4rem}}
"""

# Besides the colours of figures: words that carry a meaning, and faint backgrounds.
_LIGHT: Final = {
    "paper": PAPER, "ink": INK, "grey": "#595959", "line": GRID, "soft": "#f4f5f7", "hover": "#00000008",
    "shadow": "#00000038", "link": "#005f99", "good": "#00664a", "warn": "#a84300",
}  # fmt: skip
_DARK: Final = {
    "paper": DARK[PAPER], "ink": DARK[INK], "grey": DARK[GREY], "line": DARK[GRID], "soft": "#20242b",
    "hover": "#ffffff0a", "shadow": "#ffffff3a", "link": "#7cc4ff", "good": "#4fd6ab", "warn": "#ff9d5c",
}  # fmt: skip


def page_style() -> str:
    """Return the style sheet of a page."""
    light, dark = (
        "".join(f"--{name}:{value};" for name, value in colours.items()) for colours in (_LIGHT, _DARK)
    )
    return f":root{{{light}}}@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}{_STYLE}"
