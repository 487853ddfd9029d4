// The frame of the studio: what is open, what can be undone, what runs, and one screen at a time beside the plan.
import { render } from './vendor/preact.js';
import { useEffect, useState } from './vendor/preact-hooks.js';
import { Columns } from './columns.js';
import { Compare } from './compare.js';
import { Editor } from './editor.js';
import { Export } from './export.js';
import { Frontier } from './frontier.js';
import { Hierarchies } from './hierarchies.js';
import { html, number, useId } from './parts.js';
import { Result } from './results.js';
import { Review } from './review.js';
import { act, enter, store, upload, useStore } from './state.js';
import { Steps } from './steps.js';

const SCREENS = [
  ['columns', 'Columns', Columns],
  ['steps', 'Steps', Steps],
  ['hierarchies', 'Hierarchies', Hierarchies],
  ['result', 'Result', Result],
  ['frontier', 'Frontier', Frontier],
  ['compare', 'Compare', Compare],
  ['export', 'Export', Export],
];

const WRITTEN = [
  ['delimiter', 'Separator', 'of a text file; found out where it is left empty'],
  ['decimal', 'Decimal mark', 'of a text file; a point where it is left empty'],
  ['encoding', 'Encoding', 'of a text file, as in latin-1; found out where it is left empty'],
  ['sheet', 'Sheet', 'of an Excel file; the first where it is left empty'],
];

function Open() {
  const { state } = useStore();
  const [path, set] = useState('');
  const [over, drag] = useState(false);
  const [how, write] = useState({});
  const id = useId('path');
  const drop = (e) => {
    e.preventDefault();
    drag(false);
    if (e.dataTransfer.files[0]) take(e.dataTransfer.files[0]);
  };
  const take = async (file) => (file.name.endsWith('.json') ? act('review', { text: await file.text(), name: file.name }) : upload(file, how));
  const busy = state.job !== null;
  return html`<main class="opening" id="screen"><h1>Open a table</h1>
    <p class="lead">A table of people, one row each, that you want to give to others. It stays on this machine: the studio uses no network.</p>
    <div class=${`drop ${over ? 'over' : ''}`} onDragOver=${(e) => { e.preventDefault(); drag(true); }} onDragLeave=${() => drag(false)} onDrop=${drop}>
      <p>Drop a file here, or <label class="file">choose one <input type="file" onChange=${(e) => e.target.files[0] && take(e.target.files[0])} /></label></p>
      <p class="hint">CSV, Excel, Parquet, SPSS, Stata or SAS; labels come along. Or a release that somebody handed to you for review (.json).</p></div>
    <form class="field" onSubmit=${(e) => { e.preventDefault(); if (path && !busy) act('open', { path, how }); }}><label for=${id}>Or its path on this machine</label>
      <div class="row"><input id=${id} value=${path} onInput=${(e) => set(e.target.value)} /><button class="strong">Open</button></div></form>
    <details class="how"><summary>If the file is read wrongly</summary><div class="fields">${WRITTEN.map(([name, label, hint]) => html`<div class="field"><label for=${`how-${name}`}>${label}</label>
      <input id=${`how-${name}`} value=${how[name] ?? ''} onInput=${(e) => write({ ...how, [name]: e.target.value })} /><p class="hint">${hint}</p></div>`)}</div></details>
    <p>No table at hand? <button onClick=${() => !busy && act('example')}>Use the example</button> <span class="hint">an invented hospital of 1,000 discharges</span></p>
    ${busy && html`<p role="status">${state.job.stage} …</p>`}</main>`;
}

// Back to the first screen; asked twice, for what was not exported is lost.
function Another() {
  const { state } = useStore();
  const [asking, ask] = useState(false);
  if (!asking) return html`<button class="plain" onClick=${() => ask(true)}>Another table</button>`;
  const close = () => {
    ask(false);
    return state.job === null && act('close');
  };
  return html`<span class="asking" role="group" aria-label="Another table">What was not exported is lost. <button onClick=${close} aria-disabled=${state.job !== null}>Close this table</button> <button onClick=${() => ask(false)}>Keep it</button></span>`;
}

function Bar() {
  const { state } = useStore();
  const { job } = state;
  const last = state.runs.at(-1);
  const can = !job && state.mistakes.length === 0;
  const cancels = job && ['run', 'explore'].includes(job.kind);
  const begin = () => {
    store.awaits = true;
    act('run');
  };
  return html`<header class="top"><div class="what"><strong>shoal studio</strong>${state.source && html`<span>${state.source}</span><span class="hint">${number(state.rows)} rows</span><${Another} />`}</div>
    ${state.source && html`<div class="buttons">
      <button aria-disabled=${state.undo === null} title=${state.undo ?? 'nothing to undo'} onClick=${() => state.undo !== null && act('undo')}>Undo${state.undo && html`<span class="note-of">: ${state.undo}</span>`}</button>
      <button aria-disabled=${state.redo === null} title=${state.redo ?? 'nothing to redo'} onClick=${() => state.redo !== null && act('redo')}>Redo${state.redo && html`<span class="note-of">: ${state.redo}</span>`}</button>
      <button class="strong" aria-disabled=${!can} onClick=${() => can && begin()}>Run</button>
      <button aria-disabled=${!cancels} onClick=${() => cancels && act('cancel')}>Cancel</button></div>
    <div class="status" role="status">${job ? html`<span>${job.stage}</span><progress max="1" value=${job.fraction} aria-label="done so far"></progress>`
      : last ? html`<span class=${`badge ${last.released ? 'holds' : 'fails'}`}>${last.released ? '✓ run' : '✗ run'} ${last.number} ${last.released ? 'proved' : 'refused'}${last.current ? '' : ', plan changed since'}</span>`
      : html`<span class="hint">not run yet</span>`}</div>`}</header>`;
}

const TYPED_INTO = 'input, textarea, select, [contenteditable="true"]';

function Ended({ run, onLook, onClose }) {
  return html`<div class="notices" role="status"><p class="notice done">Run ${run.number} has ended: ${run.released ? 'proved' : 'refused'}. <button onClick=${onLook}>Look</button> <button onClick=${onClose}>Close</button></p></div>`;
}

function Notices() {
  const { state, unreachable, said } = useStore();
  const close = () => act('dismiss');
  return html`<div class="notices" aria-live="assertive">${unreachable && html`<p class="notice error">${unreachable}</p>`}${said && html`<p class="notice">${said}</p>`}
    ${state?.notice && html`<p class=${`notice ${state.notice[0]}`}>${state.notice[1]} <button onClick=${close}>Close</button></p>`}</div>`;
}

function Studio() {
  const { state, unreachable } = useStore();
  const [screen, show] = useState(sessionStorage.getItem('shoal-studio-screen') ?? 'columns');
  const latest = state?.runs.at(-1)?.number ?? 0;
  const [seen, remember] = useState(null); // the last run that this page knows
  const [ended, offer] = useState(null); // one that ended while something else was being done
  useEffect(() => {
    if (!state) return;
    if (seen !== null && latest > seen && screen !== 'result') {
      if (store.awaits && !document.activeElement?.closest(TYPED_INTO)) open('result');
      else offer(state.runs.at(-1));
    }
    if (latest > (seen ?? 0)) store.awaits = false;
    if (latest < (seen ?? 0)) offer(null);
    remember(latest);
  }, [state === null, latest]);
  const open = (name) => {
    sessionStorage.setItem('shoal-studio-screen', name);
    show(name);
    if (name === 'result') offer(null);
  };
  if (!state) return html`<main class="opening"><h1>shoal studio</h1><p role="status">${unreachable || 'The studio is loading.'}</p></main>`;
  if (state.review) return html`<a class="skip" href="#screen">Go to the screen</a><${Bar} /><${Notices} /><div class="work alone"><${Review} /></div>`;
  const Screen = SCREENS.find(([name]) => name === screen)?.[2] ?? Columns;
  return html`<a class="skip" href="#screen">Go to the screen</a><${Bar} /><${Notices} />
    ${ended && html`<${Ended} run=${ended} onLook=${() => open('result')} onClose=${() => offer(null)} />`}
    ${state.source === null ? html`<${Open} />` : html`<nav aria-label="Screens">${SCREENS.map(([name, title]) => html`<button aria-current=${screen === name ? 'page' : null} onClick=${() => open(name)}>${title}</button>`)}</nav>
      <div class="work"><main id="screen" tabindex="-1"><${Screen} key=${screen} /></main><${Editor} /></div>`}`;
}

const place = document.getElementById('studio');
place.replaceChildren();
enter().catch((refusal) => {
  store.unreachable = refusal.message;
  render(html`<${Studio} />`, place);
}).then(() => render(html`<${Studio} />`, place));
