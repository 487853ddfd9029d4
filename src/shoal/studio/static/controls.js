// Controls of settings that hold several things: rows of columns with a number, matrices by column, and methods.
import { useRef } from './vendor/preact-hooks.js';
import { ColumnChoice, Field, first } from './forms.js';
import { Mistakes, Typed, html, useAnswer, useId } from './parts.js';
import { mistakesAt, store } from './state.js';

const MOST = 20; // categories of a matrix that is filled in by hand

// A value with what was typed but is not answered yet: one may type faster than the server answers.
function useLatest(value, set) {
  const sent = useRef(null);
  const change = async (next) => {
    sent.current = { next };
    const own = sent.current;
    await set(next);
    if (sent.current === own) sent.current = null;
  };
  return [() => (sent.current ? sent.current.next : value), change];
}

const numeral = (text) => (text.trim() === '' || Number.isNaN(Number(text)) ? text : Number(text));

// A list whose entries have columns and a number each, as in subsets of keys with a k of their own.
export function RowsOf({ field, value, set, label, columns }) {
  const rows = Array.isArray(value) ? value : [];
  const id = useId('rows');
  const [latest, send] = useLatest(rows, set);
  const change = (i, name, v) => send(latest().map((row, at) => (at === i ? { ...row, [name]: v } : row)));
  const roles = store.state.tree.columns ?? {};
  const keys = columns.filter((name) => (roles[name]?.role ?? roles[name]) === 'quasi-identifier');
  const fresh = Object.fromEntries(field.parts.map((part) => [part.name, part.control === 'columns' ? (keys.length ? keys : columns).slice(0, 2) : 3]));
  return html`<div role="group" aria-labelledby=${label}>${rows.map((row, i) => html`<div class="rows-of" key=${i}>${field.parts.map((part) => html`<div class="field" key=${part.name}>
      <span class="label" id=${`${id}-${i}-${part.name}`}>${part.name}</span>${part.control === 'columns' ? html`<${ColumnChoice} chosen=${row[part.name] ?? []} all=${columns} set=${(v) => change(i, part.name, v ?? [])} label=${`${id}-${i}-${part.name}`} none="choose" />`
      : html`<${Typed} inputmode="numeric" aria-labelledby=${`${id}-${i}-${part.name}`} value=${String(row[part.name] ?? '')} onChange=${(e) => change(i, part.name, numeral(e.target.value))} />`}</div>`)}
      <button onClick=${() => set(rows.length > 1 ? rows.filter((_, at) => at !== i) : null)}>Take out<span class="unseen"> entry ${i + 1}</span></button></div>`)}
    <button onClick=${() => set([...rows, fresh])}>Add ${rows.length ? 'another' : 'one'}<span class="unseen"> of ${field.label}</span></button></div>`;
}

// By column a matrix over its categories, in their order; each row sums to 1.
export function Matrices({ field, value, set, here, label }) {
  const own = value !== null && typeof value === 'object' ? value : {};
  const of = here[0] === 'tables' ? store.state.tree.tables[here[1]] : store.state.tree;
  const nominal = Object.keys(of.columns ?? {}).filter((name) => !(name in own));
  return html`<div role="group" aria-labelledby=${label}>${Object.keys(own).map((name) => html`<${Matrix} key=${name} name=${name} rows=${own[name]} set=${(rows) => set(rows === null && Object.keys(own).length === 1 ? null : Object.fromEntries(Object.entries({ ...own, [name]: rows }).filter(([, v]) => v !== null)))} />`)}
    <select aria-label=${`${field.label}: another column`} value="" onChange=${(e) => e.target.value && set({ ...own, [e.target.value]: [] })}><option value="">a matrix for the column …</option>${nominal.map((name) => html`<option value=${name}>${name}</option>`)}</select></div>`;
}

function Matrix({ name, rows, set }) {
  const [latest, send] = useLatest(rows, set);
  const seen = useAnswer('categories', { name }, [name]);
  if (!seen) return html`<p class="hint">Reading the categories …</p>`;
  if (seen.refused) return html`<p class="mistakes">${seen.refused}</p>`;
  const { categories } = seen, m = categories.length;
  if (m < 2 || m > MOST) return html`<p class="hint">${name} has ${m} categories; a matrix that is filled in by hand has 2 to ${MOST}. Write it in the plan’s text. <button onClick=${() => set(null)}>Take out<span class="unseen"> the matrix of ${name}</span></button></p>`;
  const stays = (share) => categories.map((_, i) => categories.map((__, j) => (i === j ? share : Number(((1 - share) / (m - 1)).toPrecision(6)))));
  const whole = rows.length === m && rows.every((row) => row.length === m);
  if (!whole) return html`<div class="rows-of"><p><strong>${name}</strong> <span class="hint">its matrix needs ${m} rows, one a category</span></p><p class="buttons"><button onClick=${() => set(stays(0.8))}>Begin with .8 on the diagonal<span class="unseen"> for ${name}</span></button><button onClick=${() => set(null)}>Take out<span class="unseen"> the matrix of ${name}</span></button></p></div>`;
  const change = (i, j) => (e) => send(latest().map((row, a) => row.map((p, b) => (a === i && b === j ? numeral(e.target.value) : p))));
  return html`<div class="rows-of"><p><strong>${name}</strong> <span class="hint">row: what it was; column: what is released; each row sums to 1</span></p><div class="wide" tabindex="0" role="region" aria-label=${`Matrix of ${name}`}><table class="dense matrix"><thead><tr><td></td>${categories.map((c) => html`<th scope="col">${seen.labels[c] ?? c}</th>`)}<th scope="col">sum</th></tr></thead>
      <tbody>${rows.map((row, i) => html`<tr><th scope="row">${seen.labels[categories[i]] ?? categories[i]}</th>${row.map((p, j) => html`<td><${Typed} inputmode="decimal" aria-label=${`${name}: ${categories[i]} becomes ${categories[j]}`} value=${String(p)} onChange=${change(i, j)} /></td>`)}<td>${Number(row.reduce((sum, p) => sum + Number(p), 0).toPrecision(6))}</td></tr>`)}</tbody></table></div>
    <button onClick=${() => set(null)}>Take out<span class="unseen"> the matrix of ${name}</span></button></div>`;
}

const called = (spec) => (typeof spec === 'string' ? spec : spec?.method ?? spec?.privacy ?? spec?.risk ?? spec?.utility);

// A list of methods with their settings, as requirements that a step works for, or thresholds of a risk.
export function Methods({ field, value, set, here, note, label }) {
  const listed = Array.isArray(value) ? value : [];
  const kinds = ['privacy', 'risk'];
  const known = store.methods.methods.filter((m) => kinds.includes(m.kind));
  const add = (name) => {
    const method = known.find((m) => m.name === name);
    const { [method.kind]: _, ...settings } = first(method);
    set([...listed, method.kind === 'privacy' ? { method: name, ...settings } : { [method.kind]: name, ...settings, 'at most': 0.1 }]);
  };
  return html`<div role="group" aria-labelledby=${label}>${listed.map((spec, i) => html`<${One} key=${i} ...${{ spec, place: [...here, i], note, known }} out=${() => set(listed.length > 1 ? listed.filter((_, at) => at !== i) : null)} />`)}
    <select aria-label=${`${field.label}: another one`} value="" onChange=${(e) => e.target.value && add(e.target.value)}><option value="">${listed.length ? 'another one …' : 'choose one …'}</option>${known.map((m) => html`<option value=${m.name}>${m.title}</option>`)}</select></div>`;
}

function One({ spec, place, note, known, out }) {
  const method = known.find((m) => m.name === called(spec));
  const most = { name: 'at most', label: 'at most', control: 'number', help: 'The threshold: the figure must not be above it.' };
  return html`<div class="rows-of"><p><strong>${method?.title ?? called(spec)}</strong> <button class="plain" onClick=${out}>Take out<span class="unseen"> ${method?.title}</span></button></p>
    <${Mistakes} of=${mistakesAt(place).filter((m) => m.place.length === place.length)} />
    ${method && typeof spec === 'object' && [...(method.kind === 'privacy' ? [] : [most]), ...method.fields].map((f) => html`<${Field} key=${f.name} field=${f} place=${place} value=${spec[f.name]} note=${note} />`)}</div>`;
}
