// Columns: what each is, and how exposed people are by those that others may know.
import { useState } from './vendor/preact-hooks.js';
import { Thumb } from './chart.js';
import { Closer } from './closer.js';
import { Field } from './forms.js';
import { Bar, Mistakes, Rows, html, number, percent, plural, useAnswer } from './parts.js';
import { Persons, TableChoice, Tables } from './linked.js';
import { Prepared, Preparing } from './prepare.js';
import { inTable, mistakesAt, putAll, useTable } from './state.js';

const MEANINGS = {
  identifier: 'names a person; taken out',
  'quasi-identifier': 'others may know it',
  confidential: 'nobody should learn it',
  other: 'neither known nor secret',
  weight: 'sampling weight',
  person: 'says which records are one person\'s',
  household: 'says who lives together',
  stratum: 'kept apart',
};

const TYPES = [[/^U?Int/, 'whole number'], [/^(Float|Decimal)/, 'number'], [/^(String|Categorical|Enum)/, 'text'], [/^Datetime/, 'date and time'], [/^Date/, 'date'], [/^Time/, 'time'], [/^Boolean/, 'yes or no']];

// What a type is called by people who do not program.
export const typeName = (type) => TYPES.find(([pattern]) => pattern.test(type))?.[1] ?? type;

const said = (tree, name) => {
  const column = tree.columns?.[name];
  return typeof column === 'string' ? { role: column } : column ?? {};
};

// A role that stands alone becomes a mapping as soon as it gets company.
export function change(tree, name, key, value) {
  const column = tree.columns?.[name];
  if (typeof column === 'string' && key !== 'role') return { place: inTable(['columns', name]), value: { role: column, [key]: value } };
  if (typeof column === 'string') return { place: inTable(['columns', name]), value };
  return { place: inTable(['columns', name, key]), value };
}

// What the steps of the plan do to a column.
const what = (role, happens, name) => (role === 'identifier' ? 'is taken out' : Object.hasOwn(happens, name) ? happens[name].join(', then ') : 'no step changes it');

export function Columns() {
  const { state, facts, methods, table } = useTable();
  const [chosen, choose] = useState([]);
  const [words, look] = useState('');
  const [rows, showRows] = useState(false);
  const [close, closer] = useState(null);
  if (!facts || !methods) return html`<p class="hint">Looking at the columns …</p>`;
  const listed = facts.columns.filter((c) => c.name.toLowerCase().includes(words.toLowerCase()));
  const keys = table && state.tree.columns ? facts.columns.map((c) => c.name).filter((name) => !Object.hasOwn(state.tree.columns, name)) : [];
  const set = (names, key, value) => putAll(names.map((name) => change(state.tree, name, key, value)), `${names.length === 1 ? names[0] : `${names.length} columns`}: ${key} ${value ?? 'by default'}`);
  const all = listed.length > 0 && listed.every((c) => chosen.includes(c.name));
  return html`<h1>Columns</h1>
    <p class="lead">Say what an intruder could do with each column. Nobody can do this for you: the guesses below follow from names and values only.</p>
    ${!table && facts.notes.map((note) => html`<p class="note">${note}</p>`)}
    ${table ? html`<${Prepared} /><${Tables} /><${Persons} /><${TableChoice} />${facts.notes.map((note) => html`<p class="note">${note}</p>`)}` : html`<${Prepared} /><${Exposure} />`}
    <div class="tools">
      <label>Find a column <input type="search" value=${words} onInput=${(e) => look(e.target.value)} /></label>
      <label>Role of the ${chosen.length ? plural(chosen.length, 'chosen column') : 'chosen columns'} <select value="" disabled=${!chosen.length} onChange=${(e) => e.target.value && set(chosen, 'role', e.target.value)}>
        <option value="">choose</option>${methods.roles.map((r) => html`<option value=${r}>${r}</option>`)}</select></label>
      <label>Their missing values <select value="" disabled=${!chosen.length} onChange=${(e) => e.target.value && set(chosen, 'missing', e.target.value)}>
        <option value="">choose</option>${methods.missing.map((r) => html`<option value=${r}>${r}</option>`)}</select></label>
    </div>
    ${chosen.length > 1 && html`<p class="hint" role="status">${plural(chosen.length, 'column')} chosen: a role or level that you change in one of their rows is changed in all of them.</p>`}
    <div class="column heads"><label><input type="checkbox" checked=${all} onChange=${(e) => choose(e.target.checked ? listed.map((c) => c.name) : [])} /> <span>all</span></label><span>column</span><span>its values</span><span>role</span><span>level, and what happens to it</span></div>
    <ul class="columns-list">${listed.map((column) => html`<${Column} key=${column.name} ...${{ column, keys, methods, tree: state.tree, happens: state.happens, look: closer, chosen: chosen.includes(column.name) }} set=${(names, key, value) => set(chosen.length > 1 && chosen.includes(names[0]) ? chosen : names, key, value)}
      choose=${(on) => choose(on ? [...chosen, column.name] : chosen.filter((n) => n !== column.name))} />`)}</ul>
    <details onToggle=${(e) => showRows(e.target.open)}><summary>Look at the rows</summary>${rows && html`<${Rows} version=${state.source + table + JSON.stringify(state.prepared)} />`}</details>
    ${!table && html`<${Preparing} columns=${facts.columns.map((c) => c.name)} />`}
    ${close && html`<${Closer} key=${close.name} name=${close.name} picture=${close.picture} columns=${facts.columns.map((c) => c.name)} onClose=${() => closer(null)} />`}`;
}

function Column({ column, keys, methods, set, tree, happens, chosen, choose, look }) {
  const own = said(tree, column.name);
  const isKey = keys.includes(column.name);
  const wrong = mistakesAt(inTable(['columns', column.name]));
  const moreFields = methods.column.filter((f) => !['role', 'level', 'hierarchy'].includes(f.name));
  return html`<li class=${`column ${wrong.length ? 'wrong' : ''}`}>
    <input type="checkbox" checked=${chosen} aria-label=${`Choose ${column.name}`} onChange=${(e) => choose(e.target.checked)} />
    <div class="name"><strong>${column.name}</strong>${column.label && html`<span>${column.label}</span>`}
      <span class="hint">${typeName(column.type)} · ${plural(column.distinct, 'value')}${column.unique ? ` · ${number(column.unique)} unique` : ''}${column.missing ? ` · ${number(column.missing)} missing` : ''}</span></div>
    <button class="thumb-button" onClick=${() => look(column)} title="Look closer"><${Thumb} of=${column.picture} name=${column.name} labels=${column.values} /><span class="hint">Look closer<span class="unseen"> at ${column.name}</span></span></button>
    ${isKey ? html`<span class="hint key-column">a key: it leaves numbered anew, or not at all</span>` : html`<label><span class="hint">role</span><select value=${own.role ?? ''} onChange=${(e) => set([column.name], 'role', e.target.value)} aria-label=${`Role of ${column.name}`}>
      ${methods.roles.map((r) => html`<option value=${r}>${r}</option>`)}</select><span class="hint">${MEANINGS[own.role] ?? ''}</span></label>
    <label><span class="hint">level</span><select value=${own.level ?? ''} onChange=${(e) => set([column.name], 'level', e.target.value || null)} aria-label=${`Level of ${column.name}`}>
      <option value="">by type</option>${methods.levels.map((r) => html`<option value=${r}>${r}</option>`)}</select><span class="hint">${what(own.role, happens, column.name)}</span></label>`}
    <details class="why"><summary>Why, and more</summary><p>Guessed ${column.guess}: ${column.reason}.</p>
      ${typeof tree.columns?.[column.name] === 'object' && html`<div class="fields">${moreFields.map((f) => html`<${Field} key=${f.name} field=${f} place=${inTable(['columns', column.name])} value=${own[f.name]} note=${column.name} />`)}</div>`}</details>
    <${Mistakes} of=${wrong} /></li>`;
}

// The risk if nothing were done; it moves as roles change.
function Exposure() {
  const { state } = useTable();
  const roles = JSON.stringify(Object.keys(state.tree.columns ?? {}).map((name) => [said(state.tree, name).role, said(state.tree, name).level]));
  const risk = useAnswer('exposure', {}, [roles, state.source, JSON.stringify(state.prepared)], 150);
  if (!risk) return html`<section class="card exposure"><h2>If nothing were done</h2><p class="hint">Counting …</p></section>`;
  if (risk.refused) return html`<section class="card exposure"><h2>If nothing were done</h2><p>${risk.refused}</p></section>`;
  if (!risk.known) return html`<section class="card exposure"><h2>If nothing were done</h2><p>No column has the role quasi-identifier, so nothing is said to be known to others. That is seldom true.</p></section>`;
  const share = (n) => n / risk.records;
  const most = risk.columns.filter((c) => c.alone + c.fewer > 0).slice(0, 3).map((c) => c.name);
  return html`<section class="card exposure" aria-live="polite"><h2>If nothing were done</h2>
    <p><strong class="big">${percent(share(risk.below[2]))}</strong> of the records would be unique: ${risk.below[2] === 1 ? '1 person' : `${number(risk.below[2])} people`} could be found by the ${plural(risk.known, 'column')} that others may know.</p>
    <dl>${[['share their values with fewer than 2 others', risk.below[3], 0], ['share them with fewer than 4 others', risk.below[5], 0], ['would be found on average, by guessing among equals', risk.expected, 3]].map(([words, n, digits]) => html`<div><dt>${words}</dt><dd>${number(n, digits || undefined)} <${Bar} share=${share(n)} kind="before" /></dd></div>`)}</dl>
    <details><summary>Which columns single people out${most.length > 0 && `: ${most.join(', ')}`}</summary>
      ${risk.columns.every((c) => c.fewer === 0) && risk.below[2] > 0 && html`<p class="hint">No single one: without any of them just as many would be unique. Several must become coarser.</p>`}
      <table><thead><tr><th scope="col">column</th><th scope="col">unique by it alone</th><th scope="col">fewer unique without it</th></tr></thead>
      <tbody>${risk.columns.slice(0, 8).map((c) => html`<tr key=${c.name}><th scope="row">${c.name}</th><td>${number(c.alone)}</td><td>${number(c.fewer)}</td></tr>`)}</tbody></table></details>
  </section>`;
}
