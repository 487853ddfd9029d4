// Forms of any method: what the server says of its fields is all they know.
import { useRef, useState } from './vendor/preact-hooks.js';
import { Help, Mistakes, Typed, html, useId } from './parts.js';
import { Matrices, Methods, RowsOf } from './controls.js';
import { act, at, mistakesAt, put, store } from './state.js';

const shown = (value) => (value === undefined || value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value));

const limits = (f) => [
  'minimum' in f ? `at least ${f.minimum}` : 'exclusiveMinimum' in f ? `above ${f.exclusiveMinimum}` : '',
  'maximum' in f ? `at most ${f.maximum}` : 'exclusiveMaximum' in f ? `below ${f.exclusiveMaximum}` : '',
].filter(Boolean).join(', ');

// The columns that a setting may name: those of its table, and over several tables none.
const columnsOf = (place) => Object.keys(at(store.state.tree, [...(place[0] === 'tables' ? place.slice(0, 2) : []), 'columns']) ?? {});

// One parameter: the control that fits it, its meaning, its limits, and what is wrong with it.
export function Field({ field, place, value, note, write }) {
  const id = useId('field');
  const here = [...place, field.name];
  const wrong = mistakesAt(here);
  const set = write ?? ((v) => put(here, v, `${note}: ${field.label}`));
  const more = { id, 'aria-describedby': `${id}-help`, 'aria-invalid': wrong.length > 0 };
  const standard = field.default === null || field.default === undefined ? '' : shown(field.default?.method ?? field.default);
  return html`<div class=${`field ${wrong.length ? 'wrong' : ''} ${field.help.length > 200 ? 'long' : ''}`}>
    ${['columns', 'several', 'entries', 'rows', 'matrix', 'methods'].includes(field.control) ? html`<span class="label" id=${`${id}-label`}>${field.label}</span>` : html`<label for=${id}>${field.label}${field.required && html`<span class="hint"> needed</span>`}</label>`}
    <${Control} ...${{ field, value, set, more, id, here, note, standard }} />
    <p class="hint" id=${`${id}-help`}>${field.help}${limits(field) && ` Allowed: ${limits(field)}.`}</p>
    <${Mistakes} of=${wrong} /></div>`;
}

function Control({ field, value, set, more, id, here, note, standard }) {
  const empty = standard === '' ? '' : `by default ${standard}`;
  switch (field.control) {
    case 'integer':
    case 'number': {
      const text = (e) => e.target.value.trim();
      const read = (e) => (text(e) === '' ? null : Number.isNaN(Number(text(e))) ? text(e) : Number(text(e)));
      return html`<${Typed} ...${more} inputmode="decimal" value=${shown(value)} placeholder=${empty} onChange=${(e) => set(read(e))} />`;
    }
    case 'truth':
      return html`<select ...${more} value=${shown(value)} onChange=${(e) => set(e.target.value === '' ? null : e.target.value === 'true')}>
        <option value="">${`by default ${standard === 'true' ? 'yes' : 'no'}`}</option><option value="true">yes</option><option value="false">no</option></select>`;
    case 'choice':
      return html`<select ...${more} value=${shown(value)} onChange=${(e) => set(field.choices.find((c) => String(c) === e.target.value) ?? null)}>
        ${!field.required && html`<option value="">${empty || 'as usual'}</option>`}${field.choices.map((c) => html`<option value=${String(c)}>${String(c)}</option>`)}</select>`;
    case 'column':
      return html`<select ...${more} value=${shown(value)} onChange=${(e) => set(e.target.value || null)}><option value="">${empty || 'none'}</option>
        ${[...field.choices, ...columnsOf(here)].map((c) => html`<option value=${c}>${c}</option>`)}</select>`;
    case 'columns':
      return html`<${ColumnChoice} chosen=${[value ?? []].flat().map(String)} all=${columnsOf(here)} set=${set} label=${`${id}-label`} />`;
    case 'method':
      return html`<${Nested} ...${{ field, value, set, more, here, note }} />`;
    case 'text':
    case 'file':
      return html`<${Typed} ...${more} value=${shown(value)} placeholder=${field.control === 'file' ? 'path of a file, from the table’s folder' : empty} onChange=${(e) => set(e.target.value || null)} />`;
    case 'secret':
      return html`<form onSubmit=${(e) => e.preventDefault()}><${Typed} ...${more} type="password" autocomplete="off" value=${shown(value)} onChange=${(e) => set(e.target.value || null)} /></form>`;
    case 'several':
      return html`<${ColumnChoice} chosen=${[value ?? []].flat().map(String)} all=${field.choices} set=${set} label=${`${id}-label`} none=${standard && standard !== '[]' ? `by default ${standard}` : 'none'} />`;
    case 'list':
      return html`<${Typed} ...${more} value=${[value ?? []].flat().join(', ')} placeholder=${[field.default ?? []].flat().join(', ') || 'with commas between them'} onChange=${(e) => set(parts(e.target.value))} />`;
    case 'entries':
      return html`<${Entries} ...${{ field, value, set, label: `${id}-label`, columns: columnsOf(here) }} />`;
    case 'rows':
      return html`<${RowsOf} ...${{ field, value, set, label: `${id}-label`, columns: columnsOf(here) }} />`;
    case 'matrix':
      return html`<${Matrices} ...${{ field, value, set, here, label: `${id}-label` }} />`;
    case 'methods':
      return html`<${Methods} ...${{ field, value, set, here, note, label: `${id}-label` }} />`;
    default:
      return html`<${Typed} ...${more} class="code" value=${shown(value)} placeholder=${empty || 'as in a plan: [1, 2] or {a: 1}'}
        onChange=${(e) => act('put', { changes: [{ place: here, yaml: e.target.value }], note: `${note}: ${field.label}` })} />`;
  }
}

const word = (text) => (text === '' || Number.isNaN(Number(text)) ? text : Number(text));

const parts = (text) => {
  const listed = text.split(',').map((part) => part.trim()).filter(Boolean).map(word);
  return listed.length ? listed : null;
};

// Values by name, one row each; a name that is typed into the last row makes another. A number without a name is for all.
function Entries({ field, value, set, label, columns }) {
  const list = useId('names');
  const rows = value !== null && typeof value === 'object' ? Object.entries(value) : value === undefined || value === null ? [] : [['', value]];
  const [name, write] = useState('');
  const written = (v) => (Array.isArray(v) ? v.join(', ') : shown(v));
  const read = (text) => (text.trim() === '' ? null : field.lists ? parts(text) : word(text.trim()));
  const change = (at, key, v) => {
    const next = [...rows.slice(0, at), ...(v === null ? [] : [[key.trim(), v]]), ...rows.slice(at + 1)];
    write('');
    if (next.length === 0) return set(null);
    return set(next.length === 1 && next[0][0] === '' ? next[0][1] : Object.fromEntries(next.filter(([k]) => k !== '')));
  };
  const what = field.lists ? 'values, with commas' : 'value';
  return html`<div class="entries" role="group" aria-labelledby=${label}><datalist id=${list}>${columns.map((c) => html`<option value=${c} />`)}</datalist>
    ${rows.map(([key, v], i) => html`<div class="row" key=${i}><${Typed} list=${list} value=${key} placeholder=${field.alone ? 'every column' : 'name'} aria-label=${`${field.label}: name ${i + 1}`} onChange=${(e) => change(i, e.target.value, v)} />
      <${Typed} value=${written(v)} aria-label=${`${field.label} of ${key || 'every column'}`} onChange=${(e) => change(i, key, read(e.target.value))} /></div>`)}
    <div class="row"><input list=${list} value=${name} placeholder=${field.alone ? 'every column' : 'name'} aria-label=${`${field.label}: another name`} onInput=${(e) => write(e.target.value)} />
      <${Typed} value="" placeholder=${what} aria-label=${`${field.label} of the other name`} onChange=${(e) => (name.trim() || field.alone) && read(e.target.value) !== null && change(rows.length, name, read(e.target.value))} /></div></div>`;
}

export function ColumnChoice({ chosen, all, set, label, none = 'the usual ones' }) {
  const [words, look] = useState('');
  const id = useId('chosen');
  const sent = useRef(null); // what was ticked but is not answered yet: one may tick faster than the server answers
  const present = sent.current ?? chosen;
  const change = async (name, on) => {
    const before = sent.current ?? chosen;
    const next = all.filter((c) => (c === name ? on : before.includes(c)));
    sent.current = next;
    await set(next.length ? next : null);
    if (sent.current === next) sent.current = null;
  };
  const listed = all.filter((c) => c.toLowerCase().includes(words.toLowerCase()));
  return html`<details class="columns"><summary id=${id} aria-labelledby=${`${label} ${id}`}>${!chosen.length ? none : chosen.length > 8 ? `${chosen.length} of ${all.length} chosen` : chosen.join(', ')}</summary>
    ${all.length > 12 && html`<input aria-label="Find columns" placeholder="find" value=${words} onInput=${(e) => look(e.target.value)} />`}
    <div class="checks" role="group" aria-labelledby=${label}>${listed.map((name) => html`<label key=${name}><input type="checkbox" checked=${present.includes(name)} onChange=${(e) => change(name, e.target.checked)} /> ${name}</label>`)}</div></details>`;
}

// A parameter that is itself a method: its name, and its own fields below.
function Nested({ field, value, set, more, here, note }) {
  const known = store.methods.methods.filter((m) => m.kind === field.of);
  const name = typeof value === 'string' ? value : value?.method ?? value?.[field.of] ?? '';
  const standard = field.default?.method ?? field.default ?? '';
  const method = known.find((m) => m.name === (name || standard));
  const own = method ? method.fields.filter((f) => !STEP_FIELDS.includes(f.name)) : [];
  const whole = typeof value === 'object' && value !== null; // a method that was named alone becomes a mapping by its first setting
  return html`<select ...${more} value=${name} onChange=${(e) => set(e.target.value || null)}>
      <option value="">${standard ? `by default ${standard}` : 'none'}</option>${known.map((m) => html`<option value=${m.name}>${m.name}: ${m.title}</option>`)}</select>
    ${own.length > 0 && html`<details><summary>Settings of ${method.name}</summary>
      ${own.map((f) => html`<${Field} key=${f.name} field=${f} place=${here} value=${whole ? value[f.name] : null} note=${note} write=${whole ? null : (v) => v !== null && set({ method: name || standard, [f.name]: v })} />`)}</details>`}`;
}

const STEP_FIELDS = ['columns', 'by', 'replace', 'small_strata', 'unit'];

const BOUNDS = [
  { name: 'at most', label: 'at most', control: 'number', help: 'The upper end of the figure’s interval must not be above this.' },
  { name: 'at least', label: 'at least', control: 'number', help: 'The lower end of the figure’s interval must not be below this.' },
];

// A whole method: its name, its help, what it needs first, the rest on demand.
export function MethodForm({ kind, place, value }) {
  const name = typeof value === 'string' ? value : value?.[kind];
  const method = store.methods.methods.find((m) => m.kind === kind && m.name === name);
  if (!method) return html`<p>This method is not known; see the plan’s text.</p>`;
  const own = typeof value === 'object' ? value : {};
  const bounds = place[0] === 'requirements' && kind !== 'privacy' ? BOUNDS : [];
  const offered = store.table && place[0] !== 'tables' ? method.fields.filter((f) => !['columns', 'missing'].includes(f.name)) : method.fields; // over several tables it takes none
  const first = offered.filter((f) => f.required || f.name in own || ['columns', 'replace', 'k'].includes(f.name));
  const others = offered.filter((f) => !first.includes(f));
  const field = (f) => html`<${Field} key=${f.name} field=${f} place=${place} value=${own[f.name]} note=${method.title} />`;
  return html`<${Help} first=${method.summary} rest=${method.help} source=${method.source} />
    <div class="fields">${bounds.map(field)}${first.map(field)}</div>
    ${others.length > 0 && html`<details><summary>${others.length === 1 ? 'One more setting' : `${others.length} more settings`}</summary><div class="fields">${others.map(field)}</div></details>`}`;
}

// What a method needs before anything can be said of it: a first guess for every needed field.
export function first(method) {
  const spec = { [method.kind]: method.name };
  for (const f of method.fields.filter((one) => one.required)) {
    const least = f.minimum ?? f.exclusiveMinimum ?? 0;
    if (f.name === 'k') spec.k = 5;
    else if (f.control === 'integer') spec[f.name] = Math.max(2, least);
    else if (f.control === 'number') spec[f.name] = f.maximum === 1 || f.exclusiveMaximum === 1 || least === 0 ? 0.1 : least;
    else if (f.control === 'choice') spec[f.name] = f.choices[0];
  }
  return spec;
}
