"""The page's style sheet: one set of colours for light, one for dark and none but light on paper.

fill0 to fill4 go from good to worst with steadily changing lightness, away from the page's own, so
that they stay in order in greyscale and for every kind of colour blindness.
"""

_LIGHT = """
--paper:#fdfcfa;--card:#f4f2ed;--ink:#1d1f21;--soft:#5b6065;--rule:#dcd8cf;
--bar:#8ba3b8;--bad:#a3210f;--good:#0b6352;--warn:#7a4b00;--bad-back:#fbebe6;--good-back:#e6f2ee;
--warn-back:#fbf0da;--all:#1c5a8c;--one:#8a5a00;
--fill0:#e9edf0;--fill1:#f3cf7a;--fill2:#e58e3c;--fill3:#b23c25;--fill4:#4d0d18;
--on0:#1d1f21;--on1:#1d1f21;--on2:#1d1f21;--on3:#fff;--on4:#fff;
"""
_DARK = """
--paper:#15181b;--card:#1e2226;--ink:#e9e6e0;--soft:#a8adb2;--rule:#373d43;
--bar:#56728c;--bad:#ffad66;--good:#6fd3b8;--warn:#f2c66d;--bad-back:#33231a;--good-back:#152b27;
--warn-back:#302816;--all:#7db8ea;--one:#e0b15c;
--fill0:#2a3036;--fill1:#6b3f35;--fill2:#b2523a;--fill3:#ee9440;--fill4:#ffe9a8;
--on0:#e9e6e0;--on1:#fff;--on2:#fff;--on3:#15181b;--on4:#15181b;
"""

_TEXT = """
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;text-size-adjust:100%;background:var(--paper)}
body{margin:0 auto;max-width:72rem;padding:clamp(1rem,3.5vw,2.75rem);color:var(--ink);
 background:var(--paper);font:400 1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,
 "Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums;overflow-wrap:anywhere;
 -webkit-print-color-adjust:exact;print-color-adjust:exact}
h1{margin:0;font-size:clamp(1.65rem,4.6vw,2.7rem);line-height:1.12;font-weight:680;
 letter-spacing:-.022em;text-wrap:balance;display:flex;gap:.5em;align-items:baseline}
h2{margin:0 0 .6rem;font-size:1.3rem;line-height:1.25;font-weight:650;letter-spacing:-.012em}
p{margin:0 0 .75rem}
ul{margin:0 0 .75rem;padding-left:1.2em}
section{margin-top:3rem;padding-top:1.1rem;border-top:1px solid var(--rule)}
.lead{max-width:46rem;color:var(--soft)}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;
 font-size:.9em}
footer{margin-top:3.5rem;padding-top:1rem;border-top:1px solid var(--rule);color:var(--soft);
 font-size:.875rem}
:focus-visible{outline:2px solid var(--all);outline-offset:2px}
"""

_VERDICT = """
.place{color:var(--soft);font-size:.9rem;margin-bottom:.9rem}
.verdict{padding:clamp(1.1rem,3vw,2rem);border-radius:.6rem;border-left:.5rem solid}
.bad .verdict{background:var(--bad-back);border-color:var(--bad)}
.warn .verdict{background:var(--warn-back);border-color:var(--warn)}
.good .verdict{background:var(--good-back);border-color:var(--good)}
.verdict>:last-child{margin-bottom:0}
.mark-sign{flex:none;font-weight:800}
.bad .mark-sign,.bad .names{color:var(--bad)}
.warn .mark-sign,.warn .names{color:var(--warn)}
.good .mark-sign{color:var(--good)}
.names{margin:.5rem 0 0;font-size:clamp(1.05rem,2.6vw,1.4rem);font-weight:620}
.paste{margin:1.1rem 0 0}
.paste p{margin:0 0 .3rem;font-size:.9rem;color:var(--soft)}
.paste code{display:block;padding:.65rem .9rem;border:1px solid var(--rule);border-radius:.4rem;
 background:var(--paper);font-size:1rem;user-select:all;-webkit-user-select:all}
.findings{margin:1.1rem 0 0}
.findings li,.changes li{max-width:52rem;margin-bottom:.2rem}
.facts{display:flex;flex-wrap:wrap;gap:1rem 2.6rem;margin:1.5rem 0 0}
.facts dt,.method dt{font-size:.84rem;color:var(--soft)}
.facts dd{margin:0;font-weight:600}
.facts.large{margin:1rem 0 0}
.facts.large dd{font-size:clamp(1.5rem,4vw,2.2rem);letter-spacing:-.02em;line-height:1.2}
.method dt{margin-top:.9rem}
.method dd{margin:0;max-width:52rem}
"""

_FIGURES = """
figure{margin:0;min-width:0}
figcaption{display:flex;flex-wrap:wrap;gap:0 .75rem;align-items:baseline;margin-bottom:.3rem}
figcaption span{color:var(--soft);font-size:.9rem}
svg{display:block;width:100%;height:auto}
.two{display:grid;gap:2rem 3rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,23rem),1fr));
 align-items:start}
.bars-few,.bars-some,.bars-wide{display:grid;gap:1.8rem 2rem}
.bars-few{grid-template-columns:repeat(auto-fill,minmax(9rem,1fr))}
.bars-some{grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr))}
.bars-wide{grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr))}
:is(.bars-few,.bars-some,.bars-wide) figcaption{display:block}
:is(.bars-few,.bars-some,.bars-wide) :is(b,span){display:block;line-height:1.35}
:is(.bars-few,.bars-some,.bars-wide) figure{display:flex;flex-direction:column}
:is(.bars-few,.bars-some,.bars-wide) figcaption{flex:1 0 auto}
.map{max-width:34rem}
.legend{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;list-style:none;padding:0;
 margin:.6rem 0 .4rem;font-size:.875rem}
.legend li{display:flex;align-items:center;gap:.4rem}
.legend small,.marked{color:var(--soft)}
.swatch{width:1rem;height:1rem;border:1px solid var(--rule);border-radius:.15rem;flex:none}
.back0{background:var(--fill0)}.back1{background:var(--fill1)}.back2{background:var(--fill2)}
.back3{background:var(--fill3)}.back4{background:var(--fill4)}
.backmissing{background:repeating-linear-gradient(135deg,var(--soft) 0 1px,var(--paper) 1px 4px)}
.marked{margin:.2rem 0 0;font-size:.9rem;font-weight:600;color:var(--bad)}
text{fill:var(--soft);font-size:10px}
svg.measure text{font-size:11px}
text.bad{fill:var(--bad);font-weight:700}
.number{text-anchor:middle;font-size:9px}
.on0{fill:var(--on0)}.on1{fill:var(--on1)}.on2{fill:var(--on2)}.on3{fill:var(--on3)}
.on4{fill:var(--on4)}
.cells{fill:none;stroke-width:1.04}
.crisp{shape-rendering:crispEdges}
.fill0{fill:var(--fill0)}
.run1{stroke:var(--fill1)}.run2{stroke:var(--fill2)}.run3{stroke:var(--fill3)}
.run4{stroke:var(--fill4)}.runitself{stroke:var(--paper)}
.runmissing{stroke:var(--soft);stroke-width:.16;stroke-dasharray:.34 .16}
.grid{fill:none;stroke:var(--paper);stroke-width:1px;vector-effect:non-scaling-stroke}
.halo{fill:none;stroke:var(--paper);stroke-width:4.5}
.ring{fill:none;stroke:var(--ink);stroke-width:2}
.hint{fill:none;pointer-events:all}
.mark{fill:var(--bad)}
path.bars{fill:var(--bar)}
path.bars.bad{fill:var(--bad)}
.axis,.rule,.limit,.median,.cross,.line{fill:none;stroke:var(--soft);stroke-width:1}
.rule{stroke:var(--rule)}
.median{stroke:var(--ink);stroke-width:1.2}
.limit{stroke:var(--ink);stroke-dasharray:3 3;stroke-width:.8}
.line{stroke-width:2;stroke-linejoin:round}
.line.round{stroke:var(--all)}.dot.round{fill:var(--all)}
.line.square{stroke:var(--one);stroke-dasharray:6 3}.dot.square{fill:var(--one)}
.key{font-weight:600}
figcaption .key.round{color:var(--all)}
figcaption .key.square{color:var(--one)}
"""

_TABLES = """
.scroll{overflow:auto;max-height:34rem;border:1px solid var(--rule);border-radius:.4rem;
 margin:0 0 1rem}
table{border-collapse:separate;border-spacing:0;font-size:.875rem;width:100%}
caption{text-align:left;padding:.55rem .75rem;color:var(--soft);position:sticky;left:0}
th,td{padding:.32rem .75rem;text-align:right;white-space:nowrap;border-top:1px solid var(--rule);
 overflow-wrap:normal}
thead th{position:sticky;top:0;background:var(--card);color:var(--soft);font-weight:600;
 z-index:1;vertical-align:bottom;white-space:normal;min-width:4.6rem}
tbody th{text-align:left;font-weight:600;position:sticky;left:0;background:var(--paper)}
thead th:first-child{text-align:left;left:0;z-index:2}
.words,thead .words{text-align:left}
td.words{white-space:normal;min-width:14rem}
td strong,th strong{color:var(--bad)}
details{margin:0 0 .6rem}
summary{cursor:pointer;font-weight:600;padding:.45rem 0}
summary:hover{color:var(--all)}
pre{margin:0;padding:.9rem 1rem;overflow:auto;max-height:34rem;background:var(--card);
 border-radius:.4rem;line-height:1.35;overflow-wrap:normal}
"""

_PAPER = """
@page{margin:14mm}
@media print{
:root{--paper:#fff}
html{font-size:10pt}
body{max-width:none;padding:0}
h1{font-size:24pt}
section{margin-top:1.1rem;padding-top:.7rem}
.verdict{padding:.9rem 1.2rem}
.map svg{max-width:62mm}
.verdict,figure,tr,.facts,.lead,.marked{break-inside:avoid}
h2,figcaption,summary,.lead{break-after:avoid}
.scroll,pre{max-height:none;overflow:visible}
thead th,tbody th,caption{position:static}
table{font-size:8pt}
th,td{padding:.2rem .4rem}
thead th{min-width:0}
td.words{min-width:7rem}
pre{white-space:pre-wrap;font-size:7.5pt}
.two{grid-template-columns:1fr 1fr}
.bars-few,.bars-some,.bars-wide{grid-template-columns:repeat(3,1fr);gap:1rem}
}
"""

STYLE = (
    f":root{{color-scheme:light dark;{_LIGHT}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}}}}}"
    f"{_TEXT}{_VERDICT}{_FIGURES}{_TABLES}{_PAPER}"
)
