// The table to work on: some of its records, and cells set to missing, before any plan is carried out.
import { useState } from './vendor/preact-hooks.js';
import { ColumnChoice } from './forms.js';
import { html, useId } from './parts.js';
import { act, useStore } from './state.js';

// What was prepared, with a way back from each.
export function Prepared() {
  const { state } = useStore();
  const done = state.prepared ?? [];
  if (!done.length) return null;
  const back = (i) => act('prepare', { preparations: done.filter((_, at) => at !== i) });
  return html`<section class="card prepared"><h2>You work on a prepared table</h2><p class="hint">It stands in the place of the original: risks and losses are those of the prepared table. The file is as it was.</p>
    <ul class="points">${state['prepared in words'].map((words, i) => html`<li key=${i}><span>${words}</span><button onClick=${() => back(i)}>Take back<span class="unseen">: ${words}</span></button></li>`)}</ul></section>`;
}

const WAYS = [['where', 'records that meet a condition', "age >= 18 and sex == 'f'"], ['rows', 'records by their row numbers', '3, 17, 204'], ['sample', 'records at random', 'how many'], ['file', 'records whose key is in a file', 'path of a file with that column']];

export function Preparing({ columns }) {
  const { state } = useStore();
  const [what, choose] = useState('keep');
  const [way, by] = useState('where');
  const [text, write] = useState('');
  const [key, name] = useState(columns[0] ?? '');
  const [blank, pick] = useState([]);
  const ids = { what: useId('what'), way: useId('way'), text: useId('text'), key: useId('key'), blank: useId('blank') };
  const weights = Object.entries(state.tree.columns ?? {}).filter(([, of]) => (of?.role ?? of) === 'weight').map(([column]) => column);
  const ready = text.trim() !== '' && (what === 'keep' || blank.length > 0) && state.job === null;
  const prepare = async (e) => {
    e.preventDefault();
    if (!ready) return;
    const numbers = text.split(',').map((part) => Number(part.trim()));
    const chosen = { where: { where: text.trim() }, rows: { rows: numbers }, sample: { sample: numbers[0], seed: crypto.getRandomValues(new Uint32Array(1))[0], ...(what === 'keep' && weights.length ? { weights } : {}) }, file: { file: text.trim(), key } }[way];
    if (await act('prepare', { preparations: [...state.prepared, { ...chosen, ...(what === 'blank' ? { columns: blank } : {}) }] })) write('');
  };
  return html`<details class="preparing"><summary>Work on some of the records, or set cells to missing</summary><form class="fields" onSubmit=${prepare}>
    <div class="field"><label for=${ids.what}>What to do</label><select id=${ids.what} value=${what} onChange=${(e) => choose(e.target.value)}><option value="keep">work on these records only</option><option value="blank">set cells of these records to missing</option></select></div>
    <div class="field"><label for=${ids.way}>Which records</label><select id=${ids.way} value=${way} onChange=${(e) => by(e.target.value)}>${WAYS.map(([value, words]) => html`<option value=${value}>${words}</option>`)}</select></div>
    <div class="field"><label for=${ids.text}>${WAYS.find(([value]) => value === way)[1]}</label><input id=${ids.text} value=${text} placeholder=${WAYS.find(([value]) => value === way)[2]} onInput=${(e) => write(e.target.value)} />
      <p class="hint">${way === 'where' ? 'As in constraints: columns, ==, !=, <, >=, and, in ("a", "b"). A record with a missing cell in one of its columns does not meet it.' : way === 'rows' ? 'Numbers of the rows above, with commas between them.' : way === 'sample' ? `Drawn by a seed that the script repeats.${what === 'blank' ? '' : weights.length ? ` Weights in ${weights.join(', ')} are made larger, so that they still stand for the population.` : ' If the table has sampling weights, give their column the role weight first, so that they are made larger.'}` : 'CSV, Excel, SPSS and others; a path on this machine, from the table’s folder.'}</p></div>
    ${way === 'file' && html`<div class="field"><label for=${ids.key}>Column with the key</label><select id=${ids.key} value=${key} onChange=${(e) => name(e.target.value)}>${columns.map((c) => html`<option value=${c}>${c}</option>`)}</select></div>`}
    ${what === 'blank' && html`<div class="field"><span class="label" id=${ids.blank}>Columns that become missing</span><${ColumnChoice} chosen=${blank} all=${columns} set=${(v) => pick(v ?? [])} label=${ids.blank} none="choose" /></div>`}
    <div class="field"><button class="strong" aria-disabled=${!ready}>${what === 'keep' ? 'Work on them' : 'Set to missing'}</button><p class="hint">Runs so far keep their figures; their tables are let go. Take it back at any time.</p></div></form></details>`;
}
