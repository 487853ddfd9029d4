// A table before it is opened: its first rows, how its file is read, and what its columns are taken for.
import { useState } from './vendor/preact-hooks.js';
import { typeName } from './columns.js';
import { Typed, html, number, plural } from './parts.js';
import { act, ask, lookInto, useStore } from './state.js';

const WRITTEN = [
  ['delimiter', 'Separator', 'of a text file; recognised where it is left empty'],
  ['decimal', 'Decimal mark', 'of a text file; a point where it is left empty'],
  ['encoding', 'Encoding', 'of a text file, as in latin-1; recognised where it is left empty'],
  ['sheet', 'Sheet', 'of an Excel file; the first where it is left empty'],
];

// Settings for reading a file; each at once as it is typed, or when its field is left.
export const Written = ({ how, write, prefix = 'how', box = 'input', on = 'onInput' }) => html`<div class="fields">${WRITTEN.map(([name, label, hint]) => html`<div class="field"><label for=${`${prefix}-${name}`}>${label}</label>
  <${box} id=${`${prefix}-${name}`} value=${how[name] ?? ''} ...${{ [on]: (e) => write({ ...how, [name]: e.target.value }) }} /><p class="hint">${hint}</p></div>`)}</div>`;

const TYPES = ['text', 'number', 'whole number', 'date'];

// Columns that are taken otherwise than they are read, with one setting changed.
const changed = (columns, name, key, value) => {
  const { [name]: own = {}, ...others } = columns;
  const { [key]: _, ...rest } = own;
  const next = value === null ? rest : { ...rest, [key]: value };
  return Object.keys(next).length ? { ...others, [name]: next } : others;
};

// Those of them that the file has, however it is read now.
const present = (columns, seen) => Object.fromEntries(Object.entries(columns).filter(([name]) => seen.columns.some((c) => c.name === name)));

const codes = (text) => text.split(',').map((code) => code.trim()).filter(Boolean);

// The columns and first rows of a table, with what each column is taken for; `of` stands before a column's name.
function FirstRows({ seen, columns, take, label, of = '' }) {
  const set = (name, key, value) => take(changed(columns, name, key, value));
  return html`<div class="wide tall" tabindex="0" role="region" aria-label=${label}><table class="rows"><thead><tr><td></td>${seen.columns.map((c) => html`<th scope="col" key=${c.name}>${c.name}</th>`)}</tr></thead><tbody>
    <tr><th scope="row">taken as</th>${seen.columns.map((c) => html`<td key=${c.name}><select aria-label=${`${of}${c.name}: taken as`} value=${columns[c.name]?.type ?? ''} onChange=${(e) => set(c.name, 'type', e.target.value || null)}><option value="">${typeName(c.type)}, as read</option>${TYPES.map((t) => html`<option value=${t}>${t}</option>`)}</select></td>`)}</tr>
    <tr><th scope="row">codes for missing</th>${seen.columns.map((c) => html`<td key=${c.name}><${Typed} aria-label=${`${of}${c.name}: codes for missing`} placeholder="none" value=${(columns[c.name]?.missing ?? []).join(', ')} onChange=${(e) => set(c.name, 'missing', codes(e.target.value).length ? codes(e.target.value) : null)} /></td>`)}</tr>
    <tr><th scope="row">missing already</th>${seen.columns.map((c) => html`<td key=${c.name}>${number(c.missing)}</td>`)}</tr>
    ${seen.first.map((row, i) => html`<tr><th scope="row">row ${i + 1}</th>${row.map((cell) => html`<td>${cell ?? html`<span class="hint">missing</span>`}</td>`)}</tr>`)}</tbody></table></div>`;
}

const Codes = () => html`<p class="hint">Codes with commas between them, as in -9, 99. What you choose here stands in the script of a run, and can be taken back.</p>`;

export function Looked({ first, how: before, leave }) {
  const { state } = useStore();
  const [seen, see] = useState(first);
  const [how, write] = useState(before);
  const [columns, take] = useState({});
  const [wrong, refuse] = useState(first.refused ?? '');
  const busy = state.job !== null;
  const again = async (next) => {
    write(next);
    try {
      see(await ask('look', { how: next }));
      refuse('');
    } catch (refusal) {
      refuse(refusal.message);
    }
  };
  const open = async () => {
    if (busy || wrong) return;
    await act('open_looked', { how, columns: present(columns, seen) });
  };
  return html`<main class="opening looked" id="screen" tabindex="-1"><h1>${seen.source ?? 'Before it is opened'}</h1>
    ${wrong ? html`<p class="mistakes" role="alert">${wrong}</p>` : html`<p class="lead">${plural(seen.rows, 'row')} and ${plural(seen.columns.length, 'column')}, read as ${seen.described}. Nothing is open yet.</p>`}
    <details class="how" open><summary>How the file is read</summary><${Written} how=${how} write=${again} prefix="look" box=${Typed} on="onChange" /></details>
    ${!wrong && seen.notes.map((note) => html`<p class="note">${note}</p>`)}
    ${!wrong && html`<${FirstRows} ...${{ seen, columns, take }} label="Columns and first rows" /><${Codes} />`}
    <p class="buttons"><button class="strong" aria-disabled=${busy || wrong !== ''} onClick=${open}>Open this table</button><button onClick=${leave}>Another file</button></p>
    ${busy && html`<p role="status">${state.job.stage} …</p>`}</main>`;
}

// Several tables before they are opened: how they hang together, and the columns and first rows of each.
export function LookedSeveral({ first, how: before, files, leave }) {
  const { state } = useStore();
  const [seen, see] = useState(first);
  const [how, write] = useState(before);
  const [tables, take] = useState({});
  const [wrong, refuse] = useState(first.refused ?? '');
  const busy = state.job !== null;
  const again = async (next) => {
    write(next);
    const answer = await lookInto(files, next);
    if (!answer.refused) see(answer);
    refuse(answer.refused ?? '');
  };
  const open = () => {
    if (busy || wrong) return;
    const columns = Object.fromEntries(Object.entries(tables).filter(([name]) => seen.tables[name]).map(([name, own]) => [name, present(own, seen.tables[name])]));
    if (typeof files[0] === 'string') act('open', { path: files.length === 1 ? files[0] : files, how, columns });
    else act('open_aside', { columns });
  };
  const names = [...new Set([...Object.keys(seen.guessed ?? {}), ...Object.keys(seen.tables ?? {})])]; // persons first
  return html`<main class="opening looked" id="screen" tabindex="-1"><h1>${seen.source ?? 'Before they are opened'}</h1>
    ${wrong ? html`<p class="mistakes" role="alert">${wrong}</p>` : html`<p class="lead">${plural(names.length, 'table')} that belong together. Nothing is open yet.</p>${seen.apart && html`<p class="note">${seen.apart}</p>`}`}
    <p class="buttons"><button class="strong" aria-disabled=${busy || wrong !== ''} onClick=${open}>Open these tables</button><button onClick=${leave}>Other files</button></p>
    <details class="how"><summary>How the files are read</summary><${Written} how=${how} write=${again} prefix="look" box=${Typed} on="onChange" /></details>
    ${!wrong && names.map((name) => html`<${LookedTable} key=${name} name=${name} of=${seen.tables[name]} link=${seen.guessed[name]} why=${seen['left out'][name] ?? seen.reasons[name]} columns=${tables[name] ?? {}} take=${(own) => take({ ...tables, [name]: own })} />`)}${!wrong && html`<${Codes} />`}
    ${busy && html`<p role="status">${state.job.stage} …</p>`}</main>`;
}

function LookedTable({ name, of, link, why, columns, take }) {
  return html`<section><h2>${name} <span class="hint">${of.file}</span></h2>
    <p>${plural(of.rows, 'row')} and ${plural(of.columns.length, 'column')}, read as ${of.described}.${link?.key && html` Its key is <code>${link.key}</code>.`}${link?.parent ? html` It hangs on <code>${link.parent}</code> by <code>${link.link}</code>.` : link ? ' Its rows are persons.' : ''}</p>
    ${why && html`<p class="hint">${why}</p>`}${of.notes.map((note) => html`<p class="note">${note}</p>`)}
    <${FirstRows} ...${{ seen: of, columns, take }} label=${`Columns and first rows of ${name}`} of=${`${name}, `} /></section>`;
}
