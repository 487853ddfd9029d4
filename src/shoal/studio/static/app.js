// The frame of the studio: what is open, what can be undone, what runs, and one screen at a time beside the plan.
import { render } from './vendor/preact.js';
import { useEffect, useState } from './vendor/preact-hooks.js';
import { Columns } from './columns.js';
import { Compare } from './compare.js';
import { Export } from './export.js';
import { Frontier } from './frontier.js';
import { Hierarchies } from './hierarchies.js';
import { Ledger } from './ledger.js';
import { Looked, LookedSeveral, Written } from './look.js';
import { html, number, plural, useAnswer, useId } from './parts.js';
import { Palette } from './palette.js';
import { Plan } from './plan.js';
import { Result } from './results.js';
import { Review } from './review.js';
import { Risk } from './risk.js';
import { act, ask, enter, lookInto, say, store, upload, useStore } from './state.js';
import { INSTEAD } from './linked.js';
import { StandingBar } from './standing.js';
import { Steps } from './steps.js';
import { Tour, beginTour } from './tour.js';
import { Utility } from './utility.js';

// Four things are done in this order; each has its screens.
const GROUPS = [
  ['Describe', [['columns', 'Columns', Columns], ['hierarchies', 'Hierarchies', Hierarchies]]],
  ['Protect', [['steps', 'Steps', Steps], ['frontier', 'Frontier', Frontier]]],
  ['Judge', [['result', 'Result', Result], ['risk', 'Risk', Risk], ['utility', 'Utility', Utility], ['compare', 'Compare', Compare]]],
  ['Hand over', [['ledger', 'Ledger', Ledger], ['export', 'Export', Export]]],
];
const SCREENS = GROUPS.flatMap(([, screens]) => screens);

function Open() {
  const { state } = useStore();
  const [path, set] = useState('');
  const [over, drag] = useState(false);
  const [how, write] = useState({});
  const [first, look] = useState(false); // whether a file is looked at before it is opened
  const [looked, see] = useState(null);
  const id = useId('path');
  const drop = (e) => {
    e.preventDefault();
    drag(false);
    if (e.dataTransfer.files[0]) take([...e.dataTransfer.files]);
  };
  const lookAt = async (files, how) => see({ files, how, seen: await lookInto(files, how) });
  const take = async (files) => (files[0].name.endsWith('.json') ? act('review', { text: await files[0].text(), name: files[0].name }) : first ? lookAt(files, how) : upload(files, how));
  const paths = path.split('\n').map((one) => one.trim()).filter(Boolean);
  const database = paths.length === 1 && (/^[a-z][a-z0-9]*(\+\w+)?:\/\//i.test(paths[0]) || /\.duckdb$/i.test(paths[0]));
  const asked = database ? how : { ...how, query: '' };
  const open = async () => paths.length > 0 && !busy && (first ? lookAt(paths, asked) : act('open', { path: paths.length === 1 ? paths[0] : paths, how: asked }));
  const busy = state.job !== null;
  const example = async (toured) => !busy && (await act('example')) && toured && beginTour();
  const leave = () => see(null);
  if (looked?.seen.tables || looked?.files.length > 1) return html`<${LookedSeveral} first=${looked.seen} how=${looked.how} files=${looked.files} leave=${leave} />`;
  if (looked) return html`<${Looked} first=${looked.seen} how=${looked.how} leave=${leave} />`;
  return html`<main class="opening" id="screen"><h1>Open a table</h1>
    <p class="lead">A table of people, with one row or several for each, or several tables that are linked, that you want to give to others. All stays on this machine: the studio uses no network, unless you name a database.</p>
    <div class=${`drop ${over ? 'over' : ''}`} onDragOver=${(e) => { e.preventDefault(); drag(true); }} onDragLeave=${() => drag(false)} onDrop=${drop}>
      <p>Drop a file here, or <label class="file">choose one <input type="file" multiple onChange=${(e) => e.target.files[0] && take([...e.target.files])} /></label></p>
      <p class="hint">Several files at once are linked tables, such as patients and their stays. CSV, Excel, Parquet, SPSS, Stata, SAS or R; labels come along. Or a release that somebody handed to you for review (.json).</p></div>
    <form class="field" onSubmit=${(e) => { e.preventDefault(); open(); }}><label for=${id}>Or its path on this machine</label>
      <div class="row"><textarea id=${id} rows=${Math.max(1, path.split('\n').length)} value=${path} onInput=${(e) => set(e.target.value)} aria-describedby=${`${id}-help`} onKeyDown=${(e) => { if (e.key === 'Enter' && !e.shiftKey) { e.preventDefault(); open(); } }}></textarea><button class="strong">Open</button></div>
      <p class="hint" id=${`${id}-help`}>A folder of linked tables, or one path a line (Shift and Enter), opens them together. Or the address of a database, as in postgresql://user@host/name or people.duckdb.</p></form>
    ${database && html`<div class="field"><label for="query">Table of this database, or a SELECT</label><input id="query" value=${how.query ?? ''} onInput=${(e) => write({ ...how, query: e.target.value })} /><p class="hint">A password comes from the environment (SHOAL_PASSWORD), never from the address.</p></div>`}
    <p><label><input type="checkbox" checked=${first} onChange=${(e) => look(e.target.checked)} /> Look at it before it is opened</label> <span class="hint">its first rows, types of columns, codes for missing</span></p>
    <details class="how"><summary>If the file is read wrongly</summary><${Written} how=${how} write=${write} /></details>
    <${Recent} busy=${busy} />
    <p>No table at hand? <button onClick=${() => example(!state.toured)}>Use the example</button> <span class="hint">an invented hospital of 1,000 discharges${state.toured ? '' : ', with a tour of two minutes that you can leave at any point'}</span>${state.toured && html` <button class="plain" onClick=${() => example(true)}>with the tour again</button>`}</p>
    <p>Or several tables? <button onClick=${() => !busy && act('example', { several: true })}>Use the linked example</button> <span class="hint">patients, their stays and laboratory values</span></p>
    ${busy && html`<p role="status">${state.job.stage} …</p>`}</main>`;
}

const day = (when) => new Date(when).toLocaleString('en-GB', { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit' });
const work = (of) => `${plural(of.edits, 'change')}, ${plural(of.runs, 'run')}, ${day(of.when)}`;

// Work that was saved by itself; a table that was dropped is taken up when it is dropped again.
function Recent({ busy }) {
  const [forgotten, forget] = useState(0);
  const recent = useAnswer('recent', {}, [forgotten]);
  if (!recent?.length) return null;
  return html`<section class="recent"><h2>Open recent</h2><ul>${recent.map((one) => html`<li key=${one.key}><div><strong>${one.source}</strong> <span class="hint">${work(one)}${one.path ? '' : '; drop its file to take it up'}</span>${one.path && html`<div class="hint">${[one.path].flat().join(', ')}</div>`}</div>
    <span class="buttons">${one.path && html`<button aria-disabled=${busy} onClick=${() => !busy && act('reopen', { key: one.key })}>Open<span class="unseen"> ${one.source}</span></button>`}<button class="plain" onClick=${async () => (await act('forget', { key: one.key })) && forget(forgotten + 1)}>Forget<span class="unseen"> ${one.source}</span></button></span></li>`)}</ul></section>`;
}

// Earlier work on the table that was opened, offered until something is done to it or it is put aside.
function Earlier() {
  const { state, facts } = useStore();
  const [aside, put] = useState(false);
  const earlier = facts?.earlier;
  if (!earlier || aside || state.history.length > 1 || state.runs.length) return null;
  return html`<div class="notices" role="status"><p class="notice done">You worked on this table before: ${work(earlier)}. <button onClick=${() => act('take_up')}>Take it up</button> <button onClick=${() => put(true)}>Begin anew</button></p></div>`;
}

// Another tab on the same studio, which gets an address of its own that works once.
async function tab() {
  try {
    const { token } = await ask('another-tab');
    window.open(`/#${token}`, '_blank', 'noopener');
  } catch (refusal) {
    say(refusal.message);
  }
}

// Back to the first screen; asked twice, for tables that were not exported are lost.
function Another() {
  const { state } = useStore();
  const [asking, ask] = useState(false);
  if (!asking) return html`<button class="plain" onClick=${() => ask(true)}>Another table</button>`;
  const close = () => {
    ask(false);
    return state.job === null && act('close');
  };
  return html`<span class="asking" role="group" aria-label="Another table">The plan, its history and the results are kept; released tables that were not exported are not. <button onClick=${close} aria-disabled=${state.job !== null}>Close this table</button> <button onClick=${() => ask(false)}>Keep it</button></span>`;
}

// Run the plan, and go to the result when it is there.
function begin() {
  if (store.state.job || store.state.mistakes.length) return;
  store.awaits = true;
  act('run');
}

function Bar({ open }) {
  const { state, table } = useStore();
  const { job } = state;
  const last = state.runs.at(-1);
  const can = !job && state.mistakes.length === 0;
  const cancels = job && ['run', 'explore'].includes(job.kind);
  return html`<header class="top"><div class="what"><strong>shoal studio</strong>${state.source && html`<span>${state.source}</span><span class="hint">${number(state.rows)} rows${table && ` in ${plural(state.tables.length, 'table')}`}</span><${Another} /><button class="plain" onClick=${tab}>New tab</button><${Palette} screens=${SCREENS} open=${open} run=${begin} tour=${beginTour} />`}</div>
    ${state.source && html`<div class="buttons">
      <button aria-disabled=${state.undo === null} title=${state.undo ?? 'nothing to undo'} onClick=${() => state.undo !== null && act('undo')}>Undo${state.undo && html`<span class="note-of">: ${state.undo}</span>`}</button>
      <button aria-disabled=${state.redo === null} title=${state.redo ?? 'nothing to redo'} onClick=${() => state.redo !== null && act('redo')}>Redo${state.redo && html`<span class="note-of">: ${state.redo}</span>`}</button>
      <button class="strong" aria-disabled=${!can} onClick=${() => can && begin()}>Run</button>
      <button aria-disabled=${!cancels} onClick=${() => cancels && act('cancel')}>Cancel</button></div>
    <div class=${`status ${!job && last && !last.current ? 'since' : ''}`} role="status">${job ? html`<span>${job.stage}</span><progress max="1" value=${job.fraction} aria-label="done so far"></progress>`
      : last ? html`<span class=${`badge ${last.released ? 'holds' : 'fails'}`}>${last.released ? '✓ run' : '✗ run'} ${last.number} ${last.released ? 'proved' : 'refused'}</span>${!last.current && html`<span class="hint">plan changed since</span>`}`
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

// The screen that the address names, as in #/result; a reload, a bookmark, back and forward keep it.
const screenOf = () => SCREENS.find(([name]) => location.hash === `#/${name}`)?.[0] ?? 'columns';

const DRAWER = 'shoal-studio-plan'; // the drawer with the text of the plan, as it was left

function Studio() {
  const { state, unreachable, table, tour } = useStore();
  const [screen, show] = useState(screenOf());
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
  const [plan, showPlan] = useState(localStorage.getItem(DRAWER) === 'shown');
  const draw = (on) => {
    localStorage.setItem(DRAWER, on ? 'shown' : 'hidden');
    showPlan(on);
  };
  const open = (name) => {
    if (name !== screenOf()) location.hash = `/${name}`;
    show(name);
    if (name === 'result') offer(null);
  };
  useEffect(() => {
    const follow = () => open(screenOf());
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, []);
  const [source, follow] = useState(state?.source ?? null); // a table that is opened is looked at from its columns on
  useEffect(() => {
    if (!state) return;
    if (source === null && state.source !== null) open('columns');
    follow(state.source);
  }, [state?.source]);
  useEffect(() => {
    const title = SCREENS.find(([name]) => name === screen)?.[1], tab = document.querySelector('nav [aria-current]');
    if (tab && (tab === document.activeElement || !tab.closest('nav').matches(':focus-within'))) tab.closest('nav').scrollLeft = tab.offsetLeft - 120; // where they do not all fit
    document.title = state?.source ? `${title} · ${state.source} · shoal studio` : 'shoal studio';
  }, [screen, state?.source]);
  if (!state) return html`<main class="opening"><h1>shoal studio</h1><p role="status">${unreachable || 'The studio is loading.'}</p></main>`;
  if (state.review) return html`<a class="skip" href="#screen">Go to the screen</a><${Bar} /><${Notices} /><div class="work alone"><${Review} /></div>`;
  const Screen = SCREENS.find(([name]) => name === screen)?.[2] ?? Columns;
  return html`<a class="skip" href="#screen">Go to the screen</a><${Bar} open=${open} /><${Notices} />
    <${Earlier} key=${state.source} />${ended && html`<${Ended} run=${ended} onLook=${() => open('result')} onClose=${() => offer(null)} />`}
    ${state.source === null ? html`<${Open} />` : html`<nav aria-label="Screens">${GROUPS.map(([group, screens]) => html`<div class="group" role="group" aria-label=${group}><span class="hint" aria-hidden="true">${group}</span>${screens.map(([name, title]) => html`<button class=${table && INSTEAD[name] ? 'not-here' : ''} aria-current=${screen === name ? 'page' : null} data-title=${title} onClick=${() => open(name)}>${title}</button>`)}</div>`)}<button class="plan-button" aria-expanded=${plan} aria-controls="plan" onClick=${() => draw(!plan)}>${plan ? 'Hide the plan' : 'Show the plan'}${state.mistakes.length > 0 && html` <span class="count">(${plural(state.mistakes.length, 'mistake')})</span>`}</button></nav>
      <${StandingBar} screen=${screen} open=${open} />
      <div class=${`work ${plan ? '' : 'without'}`}><main id="screen" tabindex="-1">${table && INSTEAD[screen] ? html`<h1>${SCREENS.find(([name]) => name === screen)[1]}</h1><p class="empty">${INSTEAD[screen]}</p>` : html`<${Screen} key=${screen} />`}</main><${Plan} shown=${plan} /></div>${tour && html`<${Tour} ...${{ screen, open, run: begin }} />`}`}`;
}

const place = document.getElementById('studio');
place.replaceChildren();
enter().catch((refusal) => {
  store.unreachable = refusal.message;
  render(html`<${Studio} />`, place);
}).then(() => render(html`<${Studio} />`, place));
