"""The web page of flame graphs: style and script inside, nothing from the network."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>__TITLE__</title>
<style>
:root {
  color-scheme: light dark;
  --page: #ffffff; --text: #1b1b1f; --dim: #63636e; --line: #d8d8de;
  --all: #d9d9df; --forward: #8ec5ff; --backward: #ffb27d; --user: #b5dba0; --mark: #d400aa; --ink: #16161a;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #17181c; --text: #ececf1; --dim: #a0a0ac; --line: #3a3b43;
    --all: #4a4b55; --forward: #2f6db0; --backward: #b0602a; --user: #4d7f38; --mark: #ff7be0; --ink: #ffffff;
  }
}
body { margin: 0; padding: 16px; background: var(--page); color: var(--text); font: 14px/1.4 system-ui, sans-serif; }
h1 { font-size: 18px; margin: 0 0 8px; }
#bar { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin-bottom: 8px; }
#search { font: inherit; padding: 3px 8px; width: 220px; }
button.plain { font: inherit; padding: 3px 10px; }
.key::before { content: ""; display: inline-block; width: 12px; height: 12px; margin-right: 5px; border-radius: 2px;
  background: var(--color); vertical-align: -1px; }
#found { color: var(--dim); }
#graph { position: relative; border: 1px solid var(--line); overflow: hidden; }
.frame { position: absolute; height: 19px; text-indent: 4px; overflow: hidden; cursor: pointer;
  white-space: nowrap; text-overflow: ellipsis; font: 12px/19px ui-monospace, monospace; color: var(--ink);
  background: var(--color); box-shadow: inset -1px 0 var(--page); border-radius: 2px; }
.frame.line { background: color-mix(in srgb, var(--color) 45%, var(--page)); color: var(--text); }
.frame.root { font-weight: 700; }
.frame.around { opacity: 0.6; }
.frame:hover, .frame:focus-visible { outline: 2px solid var(--text); outline-offset: -2px; }
.frame.match { background: var(--mark); color: var(--page); }
#about { position: sticky; bottom: 0; min-height: 22px; padding: 6px 0; background: var(--page);
  font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
</style>
</head>
<body>
<h1>__TITLE__</h1>
<div id="bar">
  <input id="search" type="search" placeholder="Search names" aria-label="Search names">
  <button id="reset" class="plain" type="button">Reset zoom</button>
  <span class="key" style="--color: var(--forward)">forward</span>
  <span class="key" style="--color: var(--backward)">backward</span>
  <span class="key" style="--color: var(--user)">record_function</span>
  <span id="found" role="status"></span>
</div>
<div id="graph"></div>
<div id="about" role="status">Point at a frame for its times, click it to zoom.</div>
<script id="data" type="application/json">__DATA__</script>
<script>
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const graph = document.getElementById('graph'), about = document.getElementById('about');
const search = document.getElementById('search'), found = document.getElementById('found');
const size = data.parent.length, ROW = 20, whole = data.total[0] || 1;
const left = new Array(size).fill(0), used = new Array(size).fill(0), depth = new Array(size).fill(0);
for (let i = 1; i < size; i++) {  // parents stand before their children
  const p = data.parent[i];
  depth[i] = depth[p] + 1;
  left[i] = left[p] + used[p];
  used[p] += data.total[i];
}
let zoomed = 0;

function time(us) {
  if (us >= 1e6) return (us / 1e6).toFixed(3) + ' s';
  return us >= 1e3 ? (us / 1e3).toFixed(3) + ' ms' : us.toFixed(3) + ' us';
}

function describe(i) {
  const calls = data.count[i] ? ', calls ' + data.count[i] : '';
  const part = (100 * data.total[i] / whole).toFixed(2);
  return data.name[i] + ': total ' + time(data.total[i]) + ' (' + part + ' %), self ' + time(data.self[i]) + calls;
}

function ancestors(i) {
  const all = new Set();
  for (let p = data.parent[i]; p >= 0; p = data.parent[p]) all.add(p);
  return all;
}

function matches(i) {
  const text = search.value.trim().toLowerCase();
  return text !== '' && data.name[i].toLowerCase().includes(text);
}

function frame(i, x, width, isAround) {
  const [kind, line] = data.kind[i].split(' ');
  const box = document.createElement('div');
  box.className = 'frame' + (line ? ' line' : '') + (depth[i] < 2 ? ' root' : '') + (isAround ? ' around' : '')
    + (matches(i) ? ' match' : '');
  box.style.cssText = 'left:' + 100 * x + '%;width:' + 100 * width + '%;top:' + ROW * depth[i] + 'px;--color:var(--'
    + kind + ')';
  box.textContent = data.name[i];
  box.title = describe(i);
  box.tabIndex = 0;
  box.setAttribute('role', 'button');
  box.dataset.frame = i;
  return box;
}

function draw() {
  const around = ancestors(zoomed), start = left[zoomed], span = data.total[zoomed] || 1;
  const boxes = document.createDocumentFragment();
  let deepest = 0;
  for (let i = 0; i < size; i++) {
    const isAround = around.has(i);
    const x = isAround ? 0 : (left[i] - start) / span, width = isAround ? 1 : data.total[i] / span;
    const inside = isAround || (x > -1e-9 && x + width < 1 + 1e-6 && depth[i] >= depth[zoomed]);
    if (!inside || width < 5e-4) continue;
    deepest = Math.max(deepest, depth[i]);
    boxes.appendChild(frame(i, x, width, isAround));
  }
  graph.replaceChildren(boxes);
  graph.style.height = ROW * (deepest + 1) + 'px';
}

function report() {
  let time_found = 0;
  const covered = new Array(size).fill(false);
  for (let i = 0; i < size; i++) {
    const outer = i > 0 && covered[data.parent[i]];
    covered[i] = outer || matches(i);
    if (covered[i] && !outer) time_found += data.total[i];
  }
  found.textContent = search.value.trim() ? 'found ' + time(time_found) + ', '
    + (100 * time_found / whole).toFixed(2) + ' % of the total' : '';
}

function zoom(i) { zoomed = i; draw(); }
function of(event) { const box = event.target.closest('.frame'); return box ? +box.dataset.frame : -1; }
function show(event) { const i = of(event); if (i >= 0) about.textContent = describe(i); }
graph.addEventListener('mouseover', show);
graph.addEventListener('focusin', show);
graph.addEventListener('click', event => { const i = of(event); if (i >= 0) zoom(i); });
graph.addEventListener('keydown', event => { const i = of(event); if (event.key === 'Enter' && i >= 0) zoom(i); });
document.addEventListener('keydown', event => { if (event.key === 'Escape') zoom(0); });
document.getElementById('reset').addEventListener('click', () => zoom(0));
search.addEventListener('input', () => { report(); draw(); });
draw();
</script>
</body>
</html>
"""
