// Utility: analyses that one wants to do with the release, stated once and followed through all runs.
import { useState } from './vendor/preact-hooks.js';
import { html, number, percent, useAnswer, useId } from './parts.js';
import { act, useStore } from './state.js';

const KINDS = { mean: 'a mean, by groups', table: 'a table of two columns', model: 'a linear regression' };
const title = (a) => (a.kind === 'mean' ? `Mean of ${a.of}${a.by.length ? ` by ${a.by[0]}` : ''}` : a.kind === 'table' ? `Table of ${a.of} by ${a.by[0]}` : `${a.of} explained by ${a.by.join(', ')}`);

const numeric = (columns) => columns.filter((c) => c.picture && c.picture.scale !== 'nominal').map((c) => c.name);
const groups = (columns) => columns.filter((c) => c.picture?.scale === 'nominal').map((c) => c.name);

// One analysis of each kind to begin with: of what nobody should learn, by what others may know.
function usual(columns, tree) {
  const of = (role) => ({ name }) => (tree.columns?.[name]?.role ?? tree.columns?.[name]) === role;
  const [secret] = numeric(columns.filter(of('confidential'))), keys = columns.filter(of('quasi-identifier')), [group, other] = groups(keys);
  return [secret && group && { kind: 'mean', of: secret, by: [group] }, other && { kind: 'table', of: group, by: [other] }, secret && keys.length > 0 && { kind: 'model', of: secret, by: [...numeric(keys), ...groups(keys)].slice(0, 2) }].filter((a) => a && (a.kind !== 'model' || a.by.length > 0));
}

export function Utility() {
  const { state, facts } = useStore();
  if (!facts) return html`<h1>Utility</h1><p class="hint">Looking at the columns …</p>`;
  const drop = (i) => act('analyses', { analyses: state.analyses.filter((_, at) => at !== i) });
  return html`<h1>Utility</h1><p class="lead">State what you want to do with the release, and see what every run makes of it.</p>
    ${state.analyses.map((asked, i) => html`<${Followed} key=${JSON.stringify(asked)} asked=${asked} drop=${() => drop(i)} />`)}
    ${!state.analyses.length && html`<p class="empty">No analysis yet.</p><p class="buttons">${usual(facts.columns, state.tree).map((a) => html`<button onClick=${() => act('analyses', { analyses: [a] })}>${title(a)}</button>`)}</p>`}
    <${Adding} columns=${facts.columns} all=${state.analyses} />`;
}

function Followed({ asked, drop }) {
  const { state } = useStore();
  const here = state.runs.filter((r) => r.released && !r.reopened).map((r) => r.number);
  const seen = useAnswer('follow', { asked }, [here.join(), JSON.stringify(state.tree.columns)]);
  const written = (v) => (v === null || v === undefined ? html`<span class="hint">–</span>` : asked.kind === 'table' ? percent(v[0]) : html`${number(v[0])}<span class="hint"> ± ${number(v[1], 2)}</span>`);
  return html`<section class="analysis"><header><h2>${title(asked)}</h2><button onClick=${drop}>Take out<span class="unseen"> ${title(asked)}</span></button></header>
    ${!seen ? html`<p class="hint">Counting …</p>` : seen.refused ? html`<p class="mistakes">${seen.refused}</p>` : html`<div class="wide" tabindex="0" role="region" aria-label=${title(asked)}><table class="dense"><thead><tr><th scope="col">${{ model: 'slope of', table: 'cell', mean: asked.by[0] ?? 'records' }[asked.kind]}</th><th scope="col">original</th>${seen.runs.map((r) => html`<th scope="col">run ${r.run}</th>`)}</tr></thead>
      <tbody>${seen.rows.map((row, i) => html`<tr key=${row}><th scope="row">${row}</th><td>${written(seen.original[i])}</td>${seen.runs.map((r) => html`<td class=${outside(asked, seen.original[i], r.values[i]) ? 'moved' : ''}>${written(r.values[i])}${outside(asked, seen.original[i], r.values[i]) && html` <span title="outside the interval of the original">!</span>`}</td>`)}</tr>`)}</tbody>
      <tfoot><tr><th scope="row">${asked.kind === 'table' ? 'share of the records in another cell' : 'rows outside the original’s 95 % interval'}</th><td></td>${seen.runs.map((r) => html`<td><strong>${asked.kind === 'table' ? percent(moved(seen.original, r.values)) : number(r.values.filter((v, i) => outside(asked, seen.original[i], v)).length)}</strong></td>`)}</tr></tfoot></table></div>
      ${seen.runs.length === 0 && html`<p class="hint">Runs stand beside the original as soon as one is proved.</p>`}`}</section>`;
}

const outside = (asked, before, after) => asked.kind !== 'table' && before && (!after || Math.abs(after[0] - before[0]) > before[1] + 1e-12);
const moved = (before, after) => before.reduce((sum, v, i) => sum + Math.abs((after[i]?.[0] ?? 0) - v[0]), 0) / 2;

function Adding({ columns, all }) {
  const [kind, choose] = useState('mean');
  const [of, setOf] = useState('');
  const [by, setBy] = useState([]);
  const ids = { kind: useId('kind'), of: useId('of'), by: useId('by') };
  const first = kind === 'table' ? groups(columns) : numeric(columns);
  const others = (kind === 'model' ? [...numeric(columns), ...groups(columns)] : groups(columns)).filter((name) => name !== of);
  const chosen = by.filter((name) => others.includes(name));
  const complete = first.includes(of) && (kind === 'mean' || chosen.length > 0);
  const add = () => complete && act('analyses', { analyses: [...all, { kind, of, by: kind === 'model' ? chosen : chosen.slice(0, 1) }] });
  return html`<section class="card"><h2>State an analysis</h2><div class="fields">
    <div class="field"><label for=${ids.kind}>what</label><select id=${ids.kind} value=${kind} onChange=${(e) => { choose(e.target.value); setOf(''); setBy([]); }}>${Object.entries(KINDS).map(([k, words]) => html`<option value=${k}>${words}</option>`)}</select></div>
    <div class="field"><label for=${ids.of}>column</label><select id=${ids.of} value=${of} onChange=${(e) => setOf(e.target.value)}><option value="">choose</option>${first.map((name) => html`<option value=${name}>${name}</option>`)}</select></div>
    ${kind === 'model' ? html`<div class="field"><span class="label" id=${ids.by}>explained by</span><div class="checks" role="group" aria-labelledby=${ids.by}>${others.map((name) => html`<label key=${name}><input type="checkbox" checked=${chosen.includes(name)} onChange=${(e) => setBy(e.target.checked ? [...chosen, name] : chosen.filter((n) => n !== name))} /> ${name}</label>`)}</div></div>`
      : html`<div class="field"><label for=${ids.by}>by</label><select id=${ids.by} value=${chosen[0] ?? ''} onChange=${(e) => setBy(e.target.value ? [e.target.value] : [])}><option value="">${kind === 'mean' ? 'all records together' : 'choose'}</option>${others.map((name) => html`<option value=${name}>${name}</option>`)}</select></div>`}</div>
    <button class="strong" aria-disabled=${!complete} onClick=${add}>Follow it</button></section>`;
}
