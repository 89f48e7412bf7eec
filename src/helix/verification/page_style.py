"""How the page looks: on a phone and on a screen, in light and dark, and on paper. Pure."""

from __future__ import annotations

_LIGHT = """
--paper:#f5f6f8;--card:#ffffff;--line:#dde2e9;--text:#17202b;--soft:#596675;--accent:#2f5fd0;
--fill:#5b86e8;--good:#17733f;--bad:#b3261e;--bad-fill:#fdeceb;--track:#e6eaf0;--code:#eef1f5;
"""
_DARK = """
--paper:#0e1318;--card:#171e26;--line:#2d3742;--text:#e7ecf2;--soft:#9fabb8;--accent:#8db2ff;
--fill:#5c8af0;--good:#62d493;--bad:#ff8f87;--bad-fill:#3a1c1b;--track:#2a333d;--code:#222b35;
"""
_SHAPES = """
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--text);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;
-webkit-text-size-adjust:100%}
main{max-width:1180px;margin:0 auto;padding:32px 24px 48px}
h1{font-size:clamp(1.45rem,3.4vw,2.1rem);line-height:1.2;margin:2px 0 8px;letter-spacing:-.01em}
h2{font-size:1.15rem;margin:0 0 4px}
p{margin:0}
.project{color:var(--accent);font-weight:650;overflow-wrap:anywhere}
.about{color:var(--soft);margin-bottom:12px}
.about .at{margin-left:1em;white-space:nowrap}
.quiet{color:var(--soft)}
.figures{list-style:none;margin:20px 0 0;padding:0;display:grid;gap:12px;
grid-template-columns:repeat(5,1fr)}
.figures li{background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:12px 14px;display:flex;flex-direction:column;min-width:0}
.figures b{font-size:.85rem;font-weight:600;color:var(--soft)}
.figures strong{font-size:1.55rem;line-height:1.25;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.figures span{font-size:.8rem;color:var(--soft)}
.figures .good strong{color:var(--good)}
.figures .bad strong{color:var(--bad)}
section{margin-top:36px}
section>h2+*{margin-top:8px}
table{width:100%;border-collapse:collapse;background:var(--card);border:1px solid var(--line);
border-radius:10px;overflow:hidden;font-size:.92rem}
th,td{text-align:left;vertical-align:top;padding:8px 12px;border-top:1px solid var(--line);
font-weight:400;overflow-wrap:anywhere}
thead th{border-top:0;color:var(--soft);font-size:.8rem;font-weight:600;overflow-wrap:normal}
th b,.id,td.fact{white-space:nowrap}
th b{font-weight:650}
td.fact{font-variant-numeric:tabular-nums}
.coverage tbody th{width:32%}
tbody th span{color:var(--soft)}
td.lack{color:var(--bad);font-weight:600}
mark.bad{background:var(--bad-fill);color:var(--bad);border-radius:6px;padding:1px 7px;
font-weight:600;white-space:nowrap}
.needs{margin:8px 0 0;padding:0;list-style:none;background:var(--card);
border:1px solid var(--line);border-radius:10px}
.needs li{padding:10px 14px;border-top:1px solid var(--line);overflow-wrap:anywhere}
.needs li:first-child{border-top:0}
.needs code{display:block;width:fit-content;max-width:100%;margin-top:3px}
code{font:.85em/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;background:var(--code);
border-radius:5px;padding:1px 6px;overflow-wrap:anywhere}
.charts{display:grid;gap:14px;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr))}
figure{margin:0;background:var(--card);border:1px solid var(--line);border-radius:10px;
padding:14px 16px;min-width:0}
figcaption{font-weight:650;margin-bottom:10px;overflow-wrap:anywhere}
figcaption p{font-weight:400;font-size:.82rem;color:var(--soft)}
.chart{display:block;width:100%;height:auto;max-width:560px}
.chart text{font-size:12px;fill:var(--soft)}
.chart .tick{text-anchor:end}
.chart .label,.chart .value,.chart .none{text-anchor:middle}
.chart .first{text-anchor:start}
.chart .last,.chart .count,.chart .floor-name{text-anchor:end}
.chart .value,.chart .name,.chart .count{fill:var(--text)}
.chart .floor-name{fill:var(--bad)}
.chart .grid,.chart .axis{stroke:var(--line);fill:none}
.chart .axis{stroke:var(--soft)}
.chart .bar,.chart .part{fill:var(--fill)}
.chart .track{fill:var(--track)}
.chart .line{fill:none;stroke:var(--fill);stroke-width:2;stroke-linejoin:round}
.chart .dot{fill:var(--fill)}
.chart .floor{stroke:var(--bad);stroke-dasharray:5 4;fill:none}
footer{margin-top:40px;color:var(--soft);font-size:.85rem}
"""
_NARROW = """
main{padding:20px 14px 32px}
.figures{grid-template-columns:repeat(2,1fr);gap:8px}
.about .at{display:block;margin-left:0}
.stacked thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stacked,.stacked tbody,.stacked tr,.stacked th,.stacked td{display:block}
.stacked tr{padding:10px 14px;border-top:1px solid var(--line)}
.stacked tbody tr:first-child{border-top:0}
.stacked th,.stacked td{border:0;padding:1px 0}
.stacked td:not(.fact){display:flex;gap:10px}
.stacked td:not(.fact)::before{content:attr(data-label);color:var(--soft);flex:0 0 5.5em;
font-weight:400}
.coverage tbody th{width:auto}
.chart text{font-size:13.5px}
.stacked td.empty{display:none}
.stacked td.fact{display:inline-block;margin-right:14px;color:var(--soft)}
.stacked td.fact::before{content:attr(data-label) " ";font-size:.8rem}
"""
_PAPER = """
body{background:#fff;font-size:10.5pt}
main{max-width:none;padding:0}
section,figure,tr,li{break-inside:avoid}
h2{break-after:avoid}
.figures{grid-template-columns:repeat(5,1fr)}
.charts{grid-template-columns:repeat(2,1fr)}
*{print-color-adjust:exact;-webkit-print-color-adjust:exact}
"""


def _rules(text: str) -> str:
    return text.strip() + "\n"


STYLE = (
    f":root{{{_LIGHT.replace(chr(10), '')}}}\n"
    f"@media (prefers-color-scheme:dark){{:root{{{_DARK.replace(chr(10), '')}}}}}\n"
    f"{_rules(_SHAPES)}"
    f"@media (max-width:900px){{.figures{{grid-template-columns:repeat(3,1fr)}}}}\n"
    f"@media (max-width:640px){{\n{_rules(_NARROW)}}}\n"
    f"@media print{{:root{{{_LIGHT.replace(chr(10), '')}}}\n{_rules(_PAPER)}}}\n"
)
