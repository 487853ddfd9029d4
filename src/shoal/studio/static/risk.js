// Risk: how many records and persons stand at each risk, which columns tell them apart, and the cells of the riskiest.
import { useRef, useState } from './vendor/preact-hooks.js';
import { html, number, percent, plural, useAnswer, useId } from './parts.js';
import { Persons, TableChoice } from './linked.js';
import { useStore, useTable } from './state.js';

const EDGES = [[1, 1], [2, 2], [3, 3], [4, 4], [5, 9], [10, 19], [20, 49], [50, 99], [100, Infinity]];
const called = ([low, high]) => (low === high ? `${low}` : high === Infinity ? `${low} or more` : `${low}–${high}`);

// A run to look at beside the original; the latest whose table is here.
export function useHere(state) {
  const here = state.runs.filter((r) => r.released && !r.reopened);
  const [chosen, set] = useState(undefined);
  const run = chosen === undefined ? here.at(-1)?.number ?? null : here.some((r) => r.number === chosen) ? chosen : null;
  return [here, run, set];
}

export function HereChoice({ here, run, set }) {
  const id = useId('run');
  if (!here.length) return html`<p class="note">The table as it is. After a run the released table stands beside it.</p>`;
  return html`<div class="field inline"><label for=${id}>Beside the original</label><select id=${id} value=${run ?? ''} onChange=${(e) => set(e.target.value ? Number(e.target.value) : null)}>
    <option value="">nothing</option>${here.map((r) => html`<option value=${r.number}>run ${r.number}${r.current ? ', the present plan' : ''}</option>`)}</select></div>`;
}

export function Risk() {
  const { state } = useStore();
  const { state: own, table } = useTable();
  const [here, run, set] = useHere(state);
  const [by, count] = useState('sizes');
  const [above, drag] = useState(0.2);
  const waits = state.mistakes.length > 0 && run === null;
  const keys = JSON.stringify([table, table && Object.entries(state.tree.tables ?? {}).map(([name, of]) => [name, of?.key, of?.parent, of?.link]), own.tree.columns, state.prepared]);
  const seen = useAnswer(waits ? null : 'risks', { run }, [run, keys, waits]);
  const sides = seen?.sides ?? [];
  const units = sides.some((s) => s.persons);
  return html`<h1>Risk</h1><p class="lead">The risk of a record is one over the number of records like it in all that others may know.${table ? ' Here it is counted table by table, by what others may know of one row; persons by all of their rows stand first.' : ''}</p>
    ${table && html`<${Persons} /><${TableChoice} />`}<${HereChoice} ...${{ here, run, set }} />
    ${waits ? html`<p class="empty">Mend the mistakes of the plan first.</p>` : !seen ? html`<p class="hint">Counting …</p>` : seen.refused ? html`<p class="mistakes">${seen.refused}</p>`
    : !sides.length ? html`<p class="empty">No column has the role quasi-identifier, so nothing is said to be known to others.</p>` : html`
    <section><h2>How many are at which risk</h2>${units && html`<div class="chips" role="group" aria-label="What is counted"><button aria-pressed=${by === 'sizes'} onClick=${() => count('sizes')}>Records</button><button aria-pressed=${by === 'persons'} onClick=${() => count('persons')}>Persons or households</button></div>`}
      <div class="pair"><${Histogram} ...${{ sides, by: units ? by : 'sizes' }} /><${Curve} ...${{ sides, by: units ? by : 'sizes', above, drag }} /></div></section>
    ${sides.map((side) => html`<${Riskiest} key=${side.title} side=${side} alone=${sides.length === 1} />`)}
    <${Sets} ...${{ run, keys, names: seen.keys, sides }} />`}
    <${Identifiers} />`;
}

const of = (side, by) => side[by] ?? side.sizes;
const total = (sizes) => sizes.reduce((sum, [, n]) => sum + n, 0);
const W = 440, H = 250, LEFT = 46, BOTTOM = 40;

function Histogram({ sides, by }) {
  const counts = sides.map((s) => EDGES.map(([low, high]) => total(of(s, by).filter(([size]) => size >= low && size <= high)) / (total(of(s, by)) || 1)));
  const most = Math.max(...counts.flat(), 0.01), wide = (W - LEFT - 6) / EDGES.length, y = (v) => H - BOTTOM - ((H - BOTTOM - 10) * v) / most;
  return html`<figure><svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`Shares of the ${by === 'sizes' ? 'records' : 'persons'} by the size of their class: ${sides.map((s, i) => `${s.title}, alone ${percent(counts[i][0])}`).join('; ')}`}>
    ${[0, most / 2, most].map((v) => html`<g><line x1=${LEFT} x2=${W - 6} y1=${y(v)} y2=${y(v)} class="grid" /><text x=${LEFT - 5} y=${y(v) + 4} text-anchor="end">${percent(v, 2)}</text></g>`)}
    ${EDGES.map((edge, b) => html`<g class="bar-row"><title>${`${called(edge)} alike: ${sides.map((s, i) => `${s.title} ${percent(counts[i][b])}`).join(', ')}`}</title>
      <rect x=${LEFT + b * wide} y="8" width=${wide - 4} height=${H - BOTTOM - 8} class="reach" />
      ${sides.map((s, i) => html`<rect x=${LEFT + b * wide + (i * (wide - 6)) / sides.length} y=${y(counts[i][b])} width=${(wide - 6) / sides.length} height=${H - BOTTOM - y(counts[i][b])} class=${i ? 'after' : 'before-filled'} />`)}
      <text x=${LEFT + b * wide + (wide - 6) / 2} y=${H - 24} text-anchor="middle">${called(edge).replace(' or more', '+')}</text></g>`)}
    <text x=${W / 2} y=${H - 6} text-anchor="middle">alike, by what others may know</text></svg>
    <figcaption><span class="key filled"></span> original${sides.length > 1 && html` <span class="key after"></span> released`}</figcaption></figure>`;
}

// The share at or above each risk; the threshold is dragged, or moved by keys.
function Curve({ sides, by, above, drag }) {
  const place = useRef(null);
  const id = useId('threshold');
  const x = (risk) => LEFT + (W - LEFT - 8) * risk, y = (share) => H - BOTTOM - (H - BOTTOM - 10) * share;
  const share = (s, risk) => total(of(s, by).filter(([size]) => 1 / size >= risk - 1e-12)) / (total(of(s, by)) || 1);
  const line = (s) => [...of(s, by)].reverse().reduce((path, [size]) => `${path} H${x(1 / size)} V${y(share(s, 1 / size + 1e-9))}`, `M${x(0)} ${y(1)}`);
  const moved = (e) => {
    if (!e.buttons) return;
    const box = place.current.getBoundingClientRect();
    drag(Math.round(100 * Math.min(1, Math.max(0.01, ((e.clientX - box.left) * W / box.width - LEFT) / (W - LEFT - 8)))) / 100);
  };
  const what = by === 'sizes' ? 'record' : 'person';
  return html`<figure><svg ref=${place} class="spread curve" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`Share at or above each risk; at ${percent(above)}: ${sides.map((s) => `${s.title} ${percent(share(s, above))}`).join(', ')}`}
      onPointerDown=${(e) => { e.currentTarget.setPointerCapture(e.pointerId); moved(e); }} onPointerMove=${moved}>
    ${[0, 0.5, 1].map((v) => html`<g><line x1=${LEFT} x2=${W - 8} y1=${y(v)} y2=${y(v)} class="grid" /><text x=${LEFT - 5} y=${y(v) + 4} text-anchor="end">${percent(v)}</text><text x=${x(v)} y=${H - 24} text-anchor=${v === 1 ? 'end' : 'middle'}>${percent(v)}</text></g>`)}
    ${sides.map((s, i) => html`<path d=${line(s)} class=${`run-of ${i ? 'released' : 'original'}`} />`)}
    <line x1=${x(above)} x2=${x(above)} y1="6" y2=${H - BOTTOM} class="threshold" /><text x=${W / 2} y=${H - 6} text-anchor="middle">risk of a ${what}</text></svg>
    <div class="field inline"><label for=${id}>Threshold</label><input id=${id} type="range" min="0.01" max="1" step="0.01" value=${above} aria-valuetext=${percent(above)} onInput=${(e) => drag(Number(e.target.value))} /><output for=${id}>${percent(above)}</output></div>
    <p aria-live="polite">${sides.map((s) => html`<span class="side-of">${s.title}: <strong>${percent(share(s, above))}</strong>, ${plural(Math.round(share(s, above) * total(of(s, by))), what)} at ${percent(above)} or more</span>`)}</p></figure>`;
}

function Riskiest({ side, alone }) {
  const [open, show] = useState(6);
  const shown = side.riskiest.slice(0, open);
  return html`<section class="riskiest"><h2>Records at highest risk${alone ? '' : `, ${side.title}`}</h2><p class="hint">Private: rows of the original, and the cell without which most others would be like the record.</p>
    ${shown.length ? html`<div class="wide" tabindex="0" role="region" aria-label=${`Records at highest risk, ${side.title}`}><table class="dense"><thead><tr><th scope="col">row</th><th scope="col">risk</th><th scope="col">the cell that makes it so</th><th scope="col">alike</th><th scope="col">alike without it</th></tr></thead>
      <tbody>${shown.map((r) => html`<tr key=${r.row}><th scope="row">${number(r.row)}</th><td>${percent(1 / r.size)}</td><td>${r.without === r.size ? html`<span class="hint">no single cell</span>` : html`${r.column}: ${r.value === null ? html`<span class="hint">missing</span>` : html`<strong>${r.value}</strong>${r.label && html` <span class="hint">${r.label}</span>`}`}`}</td><td>${number(r.size)}</td><td>${number(r.without)}</td></tr>`)}</tbody></table></div>
      ${side.riskiest.length > open && html`<button class="plain" onClick=${() => show(side.riskiest.length)}>All ${side.riskiest.length}</button>`}` : html`<p class="empty">All records are alike.</p>`}</section>`;
}

// The identifiers that a rule of law lists, and the columns that may hold them.
function Identifiers() {
  const { state: own, table } = useTable();
  const { state } = useStore();
  const seen = useAnswer('identifiers', {}, [state.source, table, JSON.stringify(state.prepared)]);
  const present = seen?.identifiers?.filter((one) => Object.keys(one.columns).length) ?? [];
  const roles = own.tree.columns ?? {};
  const role = (name) => roles[name]?.role ?? roles[name] ?? '';
  return html`<section class="hipaa"><h2>Identifiers that HIPAA lists</h2><p class="hint">Signs of the eighteen identifiers of safe harbour (45 CFR 164.514(b)(2)) in names of columns and up to ${number(seen?.values ?? 20000)} values of each. That none turns up proves nothing.</p>
    ${!seen ? html`<p class="hint">Looking …</p>` : seen.refused ? html`<p class="mistakes">${seen.refused}</p>` : html`${present.length ? html`<div class="wide" tabindex="0" role="region" aria-label="Identifiers that HIPAA lists"><table class="dense"><thead><tr><th scope="col">identifier</th><th scope="col">column</th><th scope="col">sign</th><th scope="col">role in the plan</th></tr></thead>
      <tbody>${present.flatMap((one) => Object.entries(one.columns).map(([name, sign]) => html`<tr key=${one.letter + name}><th scope="row">(${one.letter}) ${one.title}</th><td>${name}</td><td>${sign}</td><td>${role(name)}</td></tr>`))}</tbody></table></div>` : html`<p class="empty">No sign of any was seen.</p>`}
      <details><summary>What cannot be seen</summary><ul>${Object.entries(seen.unseen).map(([what, letters]) => html`<li>${letters.map((l) => `(${l})`).join(', ')}: ${what}</li>`)}</ul></details>`}</section>`;
}

// Sets of columns: how many records they tell apart.
function Sets({ run, keys, names, sides }) {
  const [chosen, choose] = useState([]);
  const seen = useAnswer('attribute-sets', { run, chosen }, [run, keys, chosen.join('\n')]);
  const two = sides.length > 1;
  const row = (one, label) => html`<tr key=${one.columns.join('\n')}><th scope="row">${label ?? one.columns.join(' + ')}</th>${['distinction', 'separation', 'unique'].map((what) => html`<td>${one.figures.map((f) => percent(f[what], 3)).join(' → ')}</td>`)}</tr>`;
  return html`<section class="sets"><h2>Which columns tell people apart</h2><p class="hint">Distinction: different combinations per record. Separation: pairs of records that differ. Alone: records that nobody else is like.${two ? ' Before → after.' : ''}</p>
    <details><summary>Look at a set of your own</summary><div class="checks" role="group" aria-label="Columns of the set">${names.map((name) => html`<label key=${name}><input type="checkbox" checked=${chosen.includes(name)} onChange=${(e) => choose(e.target.checked ? [...chosen, name] : chosen.filter((n) => n !== name))} /> ${name}</label>`)}</div></details>
    ${!seen ? html`<p class="hint">Counting …</p>` : seen.refused ? html`<p class="mistakes">${seen.refused}</p>` : html`<div class="wide tall" tabindex="0" role="region" aria-label="Sets of columns"><table class="dense"><thead><tr><th scope="col">columns</th><th scope="col">distinction</th><th scope="col">separation</th><th scope="col">alone</th></tr></thead>
      <tbody>${seen.chosen && row(seen.chosen, html`<strong>${seen.chosen.columns.join(' + ')}</strong>`)}${seen.sets.filter((one) => one.columns.join('\n') !== seen.chosen?.columns.join('\n')).map((one) => row(one))}</tbody></table></div>
      ${seen.further > 0 && html`<p class="hint">and ${plural(seen.further, 'set')} of up to ${seen.largest} columns more, that tell fewer apart</p>`}`}</section>`;
}
