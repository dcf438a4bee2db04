"""The style and the script of the page of a trace."""

from __future__ import annotations

PAGE_STYLE = """
:root{color-scheme:light dark;--ink:#1f2328;--page:#f6f8fa;--card:#fff;--line:#d0d7de;
--dull:#59636e;
--good:#1a7f37;--bad:#b3261e;--badbg:#fff0ee;--del:#ffc9c4;--ins:#b8edc4;--mark:#ddf4ff}
@media (prefers-color-scheme:dark){:root{--ink:#d8dee4;--page:#0d1117;--card:#14181d;
--line:#30363d;
--dull:#9198a1;--good:#3fb950;--bad:#ff8f87;--badbg:#2d1614;--del:#7a2a25;--ins:#1f5a30;--mark:#12314f}}
*{box-sizing:border-box}
body{font:15px/1.45 system-ui,sans-serif;margin:0 auto;max-width:100em;padding:1em;
color:var(--ink);background:var(--page)}
h1{font-size:1.3em;overflow-wrap:anywhere}
h2{font-size:1.05em;overflow-wrap:anywhere;margin:1.5em 0 .5em}
h3{font-size:1em;margin:.8em 0 .4em;overflow-wrap:anywhere}
.outcome{color:var(--good)}.failed-outcome{color:var(--bad)}small,.t,figcaption{color:var(--dull);font-size:.85em;font-weight:normal}
.why{background:var(--badbg);border-left:4px solid var(--bad);padding:.5em 1em;margin:.5em 0}
.why h3{margin-top:.2em;color:var(--bad)}.why p{margin:.4em 0}
pre{margin:0;overflow:auto;white-space:pre}pre.why{font-size:.85em}
code{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;white-space:pre-wrap;
overflow-wrap:anywhere}
del{background:var(--del);text-decoration:none}ins{background:var(--ins);text-decoration:none}
.screen{border:1px solid var(--line);border-radius:6px;padding:.7em;font-size:13px;line-height:1.25}
figure{margin:0;min-width:0}figcaption{margin-bottom:.25em}
.pair{display:grid;gap:1em;grid-template-columns:repeat(2,minmax(0,1fr));margin:1em 0}
.timeline{display:grid;gap:1em;grid-template-columns:minmax(0,1fr) minmax(0,1fr);align-items:start}
.stage{position:sticky;top:.5em}.stage input{width:100%;margin:0 0 .5em}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.25em .5em;border-bottom:1px solid var(--line)}
.steps{background:var(--card);border:1px solid var(--line)}
.diff th{width:6em}.t{width:4em;text-align:right}
button{font:inherit;color:inherit;background:none;border:0;padding:0;text-align:left;cursor:pointer}
button:hover,button:focus-visible{text-decoration:underline}
.step{border-left:3px solid var(--line)}
.failed{border-left-color:var(--bad);background:var(--badbg)}
.error{color:var(--bad);overflow-wrap:anywhere}.diverged{background:var(--badbg);color:var(--bad)}
.unplayed{opacity:.55}.here{background:var(--mark)}
details{margin:1em 0}summary{cursor:pointer}
@media (max-width:60em){.pair,.timeline{grid-template-columns:minmax(0,1fr)}.stage{position:static}
.screen{font-size:11px}body{padding:.6em}}
"""

SCRIPT = """
for (const run of document.querySelectorAll('.timeline')) {
  const frames = [...run.querySelectorAll('.frame')];
  const shots = [...run.querySelectorAll('.shot')];
  const slider = run.querySelector('input');
  const only = one => { for (const each of [...frames, ...shots]) each.hidden = each !== one; };
  const mark = cell => {
    for (const each of run.querySelectorAll('.here')) each.classList.remove('here');
    if (cell) cell.classList.add('here');
  };
  slider.hidden = frames.length < 2;
  slider.addEventListener('input', () => { only(frames[slider.value]); mark(null); });
  run.addEventListener('click', event => {
    const button = event.target.closest('button');
    if (!button) return;
    const shot = shots[button.dataset.shot];
    const frame = frames[button.dataset.frame];
    if (frame) slider.value = button.dataset.frame;
    if (shot || frame) { only(shot || frame); mark(button.closest('td')); }
  });
}
"""
