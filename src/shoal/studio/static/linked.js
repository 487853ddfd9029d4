// Several linked tables: how they hang together, which of them is looked at, and what is not for several.
import { Bar, Mistakes, Typed, html, number, percent, plural, useAnswer, useId } from './parts.js';
import { act, lookAt, mistakesAt, put, useStore } from './state.js';

// A screen that is for one table, and why.
export const INSTEAD = {
  utility: 'Analyses are followed on one table. What became of each column of each table stands under Result.',
};

// Chips that choose the table which the rest of a screen is about.
export function TableChoice() {
  const { state, table } = useStore();
  if (!table) return null;
  return html`<div class="chips tables-choice" role="group" aria-label="Table">${state.tables.map((name) => html`<button key=${name} aria-pressed=${name === table} onClick=${() => lookAt(name)}>${name}${state.tree.tables?.[name] ? '' : ' (left out)'}</button>`)}</div>`;
}

const parentOf = (tables, name) => tables[name]?.parent ?? null;

// The tables as boxes, persons first, each with the column that links it; and a form for every link.
export function Tables() {
  const { state, facts } = useStore();
  const tables = state.tree.tables ?? {};
  const seen = useAnswer('links', {}, [JSON.stringify(Object.entries(tables).map(([name, of]) => [name, of?.key, of?.parent, of?.link]))], 100);
  const named = Object.keys(tables).filter((name) => state.tables.includes(name));
  const tops = named.filter((name) => !named.includes(parentOf(tables, name)));
  const left = state.tables.filter((name) => !named.includes(name));
  const where = mistakesAt(['tables']).filter((m) => m.place.length === 1);
  return html`<section class="links"><h2>How the tables hang together</h2><p class="hint">A row of the first table is a person. Every other row is of the person whom it hangs on, and promises count persons.</p>
    <${Mistakes} of=${where} />${seen?.refused && html`<p class="mistakes">${seen.refused}</p>`}
    <div class="wide" tabindex="0" role="region" aria-label="Links between the tables"><ul class="tree">${tops.map((name) => html`<${Box} key=${name} ...${{ name, tables, named, seen, above: [] }} />`)}</ul></div>
    ${left.map((name) => html`<p class="note" key=${name}>${facts['left out'][name] ?? `'${name}' is not in the plan, and is not released.`}</p>`)}
    <details class="linking"><summary>Change what links them</summary><div class="wide" tabindex="0" role="region" aria-label="Keys and links"><table class="dense"><thead><tr><th scope="col">table</th><th scope="col">key: a value of its own in each row</th><th scope="col">hangs on</th><th scope="col">by the column</th></tr></thead>
      <tbody>${named.map((name) => html`<${Linking} key=${name} ...${{ name, named, tables, columns: facts.tables[name].columns.map((c) => c.name) }} />`)}</tbody></table></div></details></section>`;
}

function Box({ name, tables, named, seen, above }) {
  const { facts } = useStore();
  const own = tables[name] ?? {}, parent = parentOf(tables, name), counted = seen?.tables?.[name];
  const below = named.filter((other) => parentOf(tables, other) === name && !above.includes(other) && other !== name);
  const link = own.link ?? tables[parent]?.key;
  const guess = facts.guessed[name], same = guess && ['key', 'parent', 'link'].every((word) => (guess[word] ?? null) === (own[word] ?? null));
  const wrong = mistakesAt(['tables', name]).filter((m) => m.place.length <= 3);
  return html`<li><div class=${`box ${parent ? '' : 'persons'} ${wrong.length ? 'wrong' : ''}`}><strong>${name}</strong>
      <span class="figure">${plural(facts.tables[name].rows, 'row')}${parent && counted ? ` of ${plural(counted.persons, 'person')}` : parent ? '' : ', one a person'}</span>
      ${own.key && html`<span>key <code>${own.key}</code></span>`}${parent && html`<span>hangs on <code>${parent}</code> by <code>${link}</code></span>`}
      <span class="hint">${same ? facts.reasons[name] : 'as you said'}</span><${Mistakes} of=${wrong} /></div>
    ${below.length > 0 && html`<ul>${below.map((other) => html`<${Box} key=${other} name=${other} ...${{ tables, named, seen, above: [...above, name] }} />`)}</ul>`}</li>`;
}

function Linking({ name, named, tables, columns }) {
  const own = tables[name] ?? {};
  const now = { key: own.key ?? null, parent: own.parent ?? null, link: own.link ?? (own.parent ? tables[own.parent]?.key ?? null : null) };
  const change = (word) => (e) => {
    const next = { ...now, [word]: e.target.value || null };
    if (!next.parent) next.link = null;
    act('link', { table: name, own: next, note: `${name}: ${word} ${e.target.value || 'none'}` });
  };
  const choice = (word, from, none) => html`<select value=${now[word] ?? ''} aria-label=${`${word === 'parent' ? 'Table above' : word === 'key' ? 'Key' : 'Link'} of ${name}`} onChange=${change(word)}><option value="">${none}</option>${from.map((one) => html`<option value=${one}>${one}</option>`)}</select>`;
  return html`<tr><th scope="row">${name}</th><td>${choice('key', columns, 'none')}</td><td>${choice('parent', named.filter((one) => one !== name), 'nothing: its rows are persons')}</td><td>${now.parent ? choice('link', columns, 'choose') : html`<span class="hint">–</span>`}</td></tr>`;
}

// How exposed persons are by all of their rows, if nothing is done.
export function Persons() {
  const { state } = useStore();
  const waits = state.mistakes.length > 0 || state.job !== null;
  const plan = JSON.stringify(Object.entries(state.tree.tables ?? {}).map(([name, of]) => [name, of?.key, of?.parent, of?.link, of?.columns]));
  const seen = useAnswer(waits ? null : 'persons', {}, [plan, waits], 600);
  return html`<section class="card exposure" aria-live="polite"><h2>If nothing were done</h2>${state.mistakes.length ? html`<p class="hint">Mend the mistakes of the plan first.</p>` : !seen ? html`<p class="hint">Counting …</p>` : seen.refused ? html`<p>${seen.refused}</p>`
    : html`<p><strong class="big">${percent(seen.unique ?? 0)}</strong> of the ${plural(seen.persons, 'person')} would be unique by all of their rows in all tables, by what others may know.</p>
      <dl><div><dt>would be found on average, by guessing among equals</dt><dd>${number((seen.guessed ?? 0) * seen.persons, 3)} <${Bar} share=${seen.guessed ?? 0} kind="before" /></dd></div></dl>`}</section>`;
}

// What holds for whole persons besides steps and requirements.
export function WholePersons() {
  const { state } = useStore();
  const ids = { share: useId('share'), keys: useId('keys') };
  const share = (e) => put(['suppress_persons'], e.target.value.trim() === '' ? null : Number.isNaN(Number(e.target.value)) ? e.target.value : Number(e.target.value), 'persons left out at most');
  return html`<section><h2>Persons and keys</h2><div class="fields"><div class="field"><label for=${ids.share}>share of the persons who may be left out</label>
      <${Typed} id=${ids.share} inputmode="decimal" value=${String(state.tree.suppress_persons ?? '')} placeholder="by default 0" onChange=${share} /><p class="hint">Where a requirement fails on them, with all their rows. Allowed: 0 to 1.</p><${Mistakes} of=${mistakesAt(['suppress_persons'])} /></div>
    <div class="field"><label for=${ids.keys}>keys</label><select id=${ids.keys} value=${String(state.tree.release_keys ?? '')} onChange=${(e) => put(['release_keys'], e.target.value === '' ? null : e.target.value === 'true', 'keys released')}>
      <option value="">by default numbered anew, one number a person in all tables</option><option value="true">numbered anew</option><option value="false">not released: no row leads to another</option></select><p class="hint">The keys themselves never leave.</p></div></div></section>`;
}
