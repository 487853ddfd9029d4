// Hierarchies: how values become coarser, level by level, with the records under each label.
import { useState } from './vendor/preact-hooks.js';
import { Typed, html, number, plural, useAnswer, useId } from './parts.js';
import { act, ask, inTable, putAll, say, store, useTable } from './state.js';

const WAYS = [
  ['intervals', 'numbers in intervals', 'widths, each a multiple of the last', '5, 10, 50'],
  ['prefix', 'codes by their first characters', 'how many characters are kept', '3, 2, 1'],
  ['order', 'values in their order, some together', 'how many together', '3, 9'],
  ['dates', 'days in months, quarters and years', '', ''],
  ['file', 'a file of mine (CSV, as ARX writes it)', 'its path, from the table’s folder', ''],
];

// What a column is mostly built from.
const usual = (type) => (/^Date/.test(type) ? 'dates' : /^(U?Int|Float|Decimal)/.test(type) ? 'intervals' : 'prefix');
const proposed = (how) => WAYS.find((w) => w[0] === how)[3];

export function Hierarchies() {
  const { state, facts } = useTable();
  const [name, choose] = useState(null);
  const id = useId('column');
  if (!facts) return html`<p class="hint">Looking at the columns …</p>`;
  const roles = state.tree.columns ?? {};
  const offered = facts.columns.filter((c) => (roles[c.name]?.role ?? roles[c.name]) !== 'identifier');
  const known = (c) => (roles[c.name]?.role ?? roles[c.name]) === 'quasi-identifier';
  const column = name ?? (offered.find((c) => roles[c.name]?.hierarchy) ?? offered.find(known) ?? offered[0])?.name;
  const spec = roles[column]?.hierarchy ?? null;
  return html`<h1>Hierarchies</h1><p class="lead">A hierarchy says what a value may become: a village a district, a district a county. Generalisation and recoding climb it only as far as they must.</p>
    <div class="field inline"><label for=${id}>Column</label><select id=${id} value=${column} onChange=${(e) => choose(e.target.value)}>${offered.map((c) => html`<option value=${c.name}>${c.name}${roles[c.name]?.hierarchy ? ' (has one)' : ''}</option>`)}</select></div>
    ${spec ? html`<${Levels} key=${column} column=${column} spec=${spec} />` : html`<p class="empty">This column has no hierarchy yet.</p>`}
    <${Files} columns=${offered.map((c) => c.name)} roles=${roles} />
    <${Building} key=${column} column=${column} has=${spec !== null} own=${roles[column]} type=${facts.columns.find((c) => c.name === column)?.type ?? ''} />`;
}

function Levels({ column, spec }) {
  const counted = useAnswer('levels', { column, spec }, [column, JSON.stringify(spec)]);
  const [editing, edit] = useState(false);
  if (!counted) return html`<p class="hint">Counting …</p>`;
  if (counted.refused) return html`<p class="mistakes">${counted.refused}</p>`;
  const change = (what, note) => act('edit_hierarchy', { of: store.table, column, edit: what, note: `${column}: ${note}` });
  const top = counted.levels.length - 1;
  // A label that is dropped on one of its own level joins it; on one of the next level it goes under it.
  const drop = (to, level) => (e) => {
    e.preventDefault();
    const from = JSON.parse(e.dataTransfer.getData('application/json') || '{}');
    if (from.level === level - 1) change({ level: from.level, label: from.label, under: to }, `${from.label} under ${to}`);
    else if (from.level === level && level > 0 && from.label !== to) change({ level, labels: [to, from.label], name: to }, `${from.label} joins ${to}`);
  };
  return html`${counted.lacking > 0 && html`<p class="mistakes">${plural(counted.lacking, 'value')} of the table are not in the hierarchy: add them, or the plan is refused. <button onClick=${() => change({ missing: true }, 'take in missing values')}>Add them</button></p>`}
    <p class="buttons"><button aria-pressed=${editing} onClick=${() => edit(!editing)}>Edit its labels</button>${editing && html`<span class="hint">Rename a label, put it under another one of the next level, or drag it there; choose several to make one of them. From the first change on the hierarchy is written out in the plan.</span>`}</p>
    <div class="levels" tabindex="0" role="region" aria-label="Levels">${counted.levels.map((level, i) => html`<section key=${i} class=${editing ? 'wider' : ''}><h2>Level ${i}</h2><p class="hint">${plural(level.of, 'label')}, the smallest of ${plural(level.smallest, 'record')}</p>
      ${editing && i > 0 && i < top && html`<${Merging} key=${`${i}`} level=${i} labels=${level.labels.map((l) => l.label)} change=${change} />`}
      <ol>${level.labels.map((l) => html`<li key=${l.label} title=${i < top ? `becomes ${l.parent}` : ''} draggable=${editing && i < top} onDragStart=${(e) => e.dataTransfer.setData('application/json', JSON.stringify({ level: i, label: l.label }))} onDragOver=${(e) => editing && e.preventDefault()} onDrop=${editing ? drop(l.label, i) : null}>
        ${editing ? html`<${Label} ...${{ label: l, level: i, top, change, meaning: i === 0 && Object.hasOwn(counted.labels, l.label) ? counted.labels[l.label] : null }} />` : html`<span>${l.label}${i === 0 && counted.labels[l.label] && html` <span class="hint">${counted.labels[l.label]}</span>`}</span>`}<span class="hint">${number(l.records)}</span></li>`)}</ol>
      ${editing && i > 0 && html`<datalist id=${`labels-${i}`}>${level.labels.map((l) => html`<option value=${l.label} />`)}</datalist>`}
      ${level.of > level.labels.length && html`<p class="hint">and ${plural(level.of - level.labels.length, 'label')} more</p>`}</section>`)}</div>`;
}

// One label: its name, and the label of the next level that it is under.
function Label({ label, level, top, change, meaning }) {
  const name = (e) => e.target.value.trim() && e.target.value !== label.label && change({ level, label: label.label, name: e.target.value }, `${label.label} becomes ${e.target.value.trim()}`);
  const under = (e) => e.target.value.trim() && e.target.value !== label.parent && change({ level, label: label.label, under: e.target.value }, `${label.label} under ${e.target.value.trim()}`);
  return html`<span class="cell">${level === 0 ? html`<span>${label.label}${meaning && html` <span class="hint">${meaning}</span>`}</span>` : html`<${Typed} aria-label=${`Name of ${label.label}`} value=${label.label} onChange=${name} />`}
    ${level < top && html`<${Typed} aria-label=${`${label.label} is under`} list=${`labels-${level + 1}`} value=${label.parent} onChange=${under} />`}
    ${level > 0 && level < top && html`<button class="plain" onClick=${() => change({ level, label: label.label, split: true }, `split ${label.label}`)}>Split<span class="unseen"> ${label.label}</span></button>`}</span>`;
}

// Several labels of a level made one.
function Merging({ level, labels, change }) {
  const [chosen, choose] = useState([]);
  const [name, write] = useState('');
  const id = useId('merged');
  const picked = chosen.filter((label) => labels.includes(label));
  const merge = () => {
    change({ level, labels: picked, name: name.trim() || picked[0] }, `${picked.join(', ')} become ${name.trim() || picked[0]}`);
    choose([]);
    write('');
  };
  return html`<details class="merging"><summary>Make one of several</summary><div class="checks" role="group" aria-label=${`Labels of level ${level}`}>${labels.map((label) => html`<label key=${label}><input type="checkbox" checked=${picked.includes(label)} onChange=${(e) => choose(e.target.checked ? [...picked, label] : picked.filter((l) => l !== label))} /> ${label}</label>`)}</div>
    <div class="field"><label for=${id}>called</label><input id=${id} value=${name} placeholder=${picked[0] ?? ''} onInput=${(e) => write(e.target.value)} /></div>
    <button aria-disabled=${picked.length < 2} onClick=${() => picked.length > 1 && merge()}>Merge</button></details>`;
}

// Files as ARX writes them, several at once; each goes to the column of its name, or to that with most of its values.
function Files({ columns, roles }) {
  const [over, drag] = useState(false);
  const [results, show] = useState([]);
  const take = async (list) => {
    const files = await Promise.all([...list].map(async (file) => ({ name: file.name, text: await file.text() })));
    try {
      const read = await ask('read-hierarchies', { files });
      show(read);
      const fit = read.filter((one) => one.column);
      const whole = (one) => ({ ...(typeof roles[one.column] === 'string' ? { role: roles[one.column] } : roles[one.column]), level: 'nominal', hierarchy: one.spec });
      if (fit.length) await putAll(fit.map((one) => ({ place: inTable(['columns', one.column]), value: whole(one) })), `${fit.map((one) => one.column).join(', ')}: hierarchy from ${fit.length === 1 ? 'a file' : 'files'}`);
    } catch (refusal) {
      say(refusal.message);
    }
  };
  const dropped = (e) => {
    e.preventDefault();
    drag(false);
    take(e.dataTransfer.files);
  };
  return html`<section class=${`card files ${over ? 'over' : ''}`} onDragOver=${(e) => { e.preventDefault(); drag(true); }} onDragLeave=${() => drag(false)} onDrop=${dropped}><h2>From files</h2>
    <p>Drop hierarchies as ARX writes them (CSV), all at once, or <label class="file">choose them<input type="file" multiple accept=".csv,.txt" onChange=${(e) => { take(e.target.files); }} /></label>.</p>
    ${results.length > 0 && html`<div role="status"><ul>${results.map((one) => html`<li key=${one.file}>${one.file}: ${one.column ? html`<strong>${one.column}</strong>, ${plural(one.height, 'level')}${one.lacking ? `; ${plural(one.lacking, 'value')} of the table are not in it` : ''}` : one.reason}</li>`)}</ul></div>`}</section>`;
}

function Building({ column, has, own, type }) {
  const [how, setHow] = useState(usual(type));
  const [sizes, setSizes] = useState(proposed(usual(type)));
  const ids = { how: useId('how'), sizes: useId('sizes') };
  const way = WAYS.find((w) => w[0] === how);
  const apply = async () => {
    try {
      const numbers = () => sizes.split(/[\s,;]+/).filter(Boolean).map(Number);
      const spec = how === 'file' ? sizes.trim() : await ask('build-hierarchy', { column, how, sizes: numbers() });
      const whole = { ...(typeof own === 'string' ? { role: own } : own), level: 'nominal', hierarchy: spec };
      await putAll([{ place: inTable(['columns', column]), value: whole }], `${column}: hierarchy`);
    } catch (refusal) {
      say(refusal.message);
    }
  };
  return html`<section class="card"><h2>${has ? 'Build another' : 'Build one'}</h2><div class="fields">
    <div class="field"><label for=${ids.how}>from</label><select id=${ids.how} value=${how} onChange=${(e) => { setHow(e.target.value); setSizes(proposed(e.target.value)); }}>${WAYS.map((w) => html`<option value=${w[0]}>${w[1]}</option>`)}</select></div>
    ${way[2] && html`<div class="field"><label for=${ids.sizes}>${way[2]}</label><input id=${ids.sizes} value=${sizes} onInput=${(e) => setSizes(e.target.value)} /></div>`}</div>
    <div class="buttons"><button class="strong" onClick=${apply}>Build</button>
    ${has && html`<button onClick=${() => putAll([{ place: inTable(['columns', column, 'hierarchy']), value: null }], `${column}: no hierarchy`)}>Take it out</button>`}</div></section>`;
}
