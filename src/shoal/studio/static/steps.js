// Steps and requirements: what is done, what must hold, what is measured besides.
import { useEffect, useState } from './vendor/preact-hooks.js';
import { Field, MethodForm, first } from './forms.js';
import { Mistakes, html, number, percent, useAnswer } from './parts.js';
import { Preview } from './preview.js';
import { TableChoice, WholePersons } from './linked.js';
import { act, ask, mistakesAt, put, store, useStore, useTable } from './state.js';

const SECTIONS = [
  { place: 'steps', title: 'Steps', kinds: ['partition', 'mask'], verb: 'Add a step', lead: 'What is done to the table, from the first step to the last.' },
  { place: 'requirements', title: 'Requirements', kinds: ['privacy', 'risk', 'utility'], verb: 'Add a requirement', lead: 'What must be proved on the finished table: a privacy model, or a bound on the figure of any measure. If one does not hold, nothing is released.' },
  { place: 'measures', title: 'More measures', kinds: ['risk', 'utility'], verb: 'Add a measure', lead: 'Measured besides those that every result has.' },
];

// Over several tables: what works on whole persons.
const OVER_ALL = [
  { ...SECTIONS[0], lead: 'What is done to whole persons, after the steps of each table.', only: true },
  { ...SECTIONS[1], lead: 'What must be proved on persons, with all their rows in all tables.', only: true },
  { ...SECTIONS[2], lead: 'What is measured over all tables.', only: true },
];

export function Steps() {
  const { state, methods } = useStore();
  const { state: own, table } = useTable();
  if (!methods) return html`<p class="hint">Reading what methods there are …</p>`;
  if (table) {
    return html`<h1>Steps and requirements</h1><h2 class="over">Over all tables</h2>
      ${OVER_ALL.map((s) => html`<${Section} key=${s.place} ...${s} base=${[]} items=${state.tree[s.place] ?? []} />`)}<${WholePersons} />
      <h2 class="over">In one table</h2><${TableChoice} />
      ${SECTIONS.map((s) => html`<${Section} key=${`${table} ${s.place}`} ...${s} base=${['tables', table]} items=${own.tree[s.place] ?? []} />`)}`;
  }
  return html`<h1>Steps and requirements</h1>
    ${SECTIONS.map((s) => html`<${Section} key=${s.place} ...${s} base=${[]} items=${state.tree[s.place] ?? []} />`)}
    <section><h2>Output</h2><div class="fields">${methods.output.map((f) => html`<${Field} key=${f.name} field=${f} place=${['output']} value=${state.tree.output?.[f.name]} note="output" />`)}</div></section>`;
}

const kindOf = (item, kinds) => (typeof item === 'string' ? kinds[0] : kinds.find((kind) => item && kind in item));

function Section({ title, lead, verb, kinds, items, place, base, only }) {
  const here = [...base, place];
  return html`<section class="section"><h2>${title}</h2><p class="hint">${lead}</p>
    <${Mistakes} of=${mistakesAt(here).filter((m) => m.place.length === here.length)} />
    <ol class="cards">${(Array.isArray(items) ? items : []).map((item, i) => html`<${Card} key=${i} ...${{ item, i, place, here, kinds, last: i === items.length - 1 }} />`)}</ol>
    ${items.length === 0 && html`<p class="empty">${base.length ? 'None of its own.' : title === 'Steps' ? 'No step yet: the table would leave as it came.' : title === 'Requirements' ? 'Nothing is required, so nothing would be proved.' : 'None.'}</p>`}
    <${Adding} ...${{ verb, kinds, place, here, only, count: items.length }} /></section>`;
}

function Card({ item, i, place, here, kinds, last }) {
  const kind = kindOf(item, kinds);
  const name = typeof item === 'string' ? item : item?.[kind];
  const method = store.methods.methods.find((m) => m.kind === kind && m.name === name);
  const title = method?.title ?? String(name ?? 'unknown');
  const own = [...here, i];
  const wrong = mistakesAt(own).filter((m) => m.place.length === own.length);
  const full = typeof item === 'string' ? () => put(own, { [kind]: item }, `${title}: open its settings`) : null;
  return html`<li class=${`card ${mistakesAt(own).length ? 'wrong' : ''}`}>
    <header><h3>${title} <code>${name}</code></h3><div class="buttons">
      <button aria-disabled=${i === 0} onClick=${() => i > 0 && act('swap', { place: here, first: i - 1, second: i, note: `${title}: earlier` })} aria-label=${`Move ${title} earlier`}>↑</button>
      <button aria-disabled=${last} onClick=${() => !last && act('swap', { place: here, first: i, second: i + 1, note: `${title}: later` })} aria-label=${`Move ${title} later`}>↓</button>
      <button onClick=${() => put(own, null, `${title}: take out`)} aria-label=${`Take out ${title}`}>Take out</button></div></header>
    <${Mistakes} of=${wrong} />
    ${full ? html`<p>With its defaults. <button onClick=${full}>Change settings</button></p>` : html`<${MethodForm} kind=${kind} place=${own} value=${item} />`}
    ${place === 'steps' && html`<${Preview} step=${i} of=${here[0] === 'tables' ? here[1] : ''} />`}</li>`;
}

const RECOMMENDED = 3;
const AT_A_TIME = 8;

// What some methods begin with, asked a few at a time so that the first answers come at once; forgotten with the columns.
function useBeginnings(asks, columns, names) {
  const [begun, note] = useState({ columns, of: {} });
  const of = begun.columns === columns ? begun.of : {};
  const next = asks ? names.filter((name) => !(name in of)).slice(0, AT_A_TIME) : [];
  const answer = useAnswer(next.length ? 'beginnings' : null, { methods: next }, [columns, next.join()]);
  useEffect(() => {
    if (answer && !answer.refused) note((old) => ({ columns, of: { ...(old.columns === columns ? old.of : {}), ...answer } }));
  }, [answer]);
  return { of, waits: next.length > 0 && !answer?.refused };
}

// By what the person wants, by what people call it, or by the name of a method.
function Adding({ verb, kinds, place, here, only, count }) {
  const { methods, state } = store;
  const [open, setOpen] = useState(false);
  const [goal, choose] = useState('');
  const [words, look] = useState('');
  const [every, showAll] = useState(false);
  const asks = open && place === 'steps' && !store.table && state.mistakes.length === 0 && state.job === null;
  const columns = JSON.stringify([state.tree.columns, state.tree.requirements]);
  const goals = methods.goals.filter((g) => methods.methods.some((m) => kinds.includes(m.kind) && g.methods.includes(m.name)));
  const wanted = words.trim() ? undefined : goals.find((g) => g.goal === goal)?.methods;
  const match = (m) => words.toLowerCase().split(/\s+/).every((word) => `${m.name} ${m.title} ${m.summary} ${m.words}`.toLowerCase().includes(word));
  const offered = methods.methods.filter((m) => kinds.includes(m.kind) && (!only || methods.over_tables.includes(m.name)) && (!wanted || wanted.includes(m.name)) && match(m));
  const begins = useBeginnings(asks, columns, offered.map((m) => `${m.kind}/${m.name}`));
  const beginning = (m) => begins.of[`${m.kind}/${m.name}`] ?? {};
  const rank = (m) => (wanted ? wanted.indexOf(m.name) : 0) + (!begins.waits && beginning(m).reason ? 1000 : 0);
  const listed = offered.sort((a, b) => rank(a) - rank(b));
  const fit = wanted && !begins.waits ? listed.filter((m) => beginning(m).spec).slice(0, RECOMMENDED) : [];
  const rest = fit.length && !every ? [] : listed.filter((m) => !fit.includes(m));
  const bound = (m) => (place === 'requirements' && m.kind !== 'privacy' ? { 'at most': 0.1 } : {});
  const settings = async (m) => {
    const name = `${m.kind}/${m.name}`;
    const begun = begins.of[name] ?? (asks ? (await ask('beginnings', { methods: [name] }).catch(() => ({})))[name] : null);
    return begun?.spec ?? { ...first(m), ...bound(m) };
  };
  const add = async (m) => (await put([...here, count], await settings(m), `add ${m.title}`)) && setOpen(false);
  const pick = (g) => {
    choose(goal === g && !words.trim() ? '' : g);
    look('');
    showAll(false);
  };
  return html`<details class="adding" open=${open} onToggle=${(e) => setOpen(e.target.open)}><summary>${verb}</summary>
    ${place === 'steps' && !only && html`<div class="chips" role="group" aria-label="What do you want?">${goals.map((g) => html`<button aria-pressed=${goal === g.goal && !words.trim()} onClick=${() => pick(g.goal)}>${g.goal}</button>`)}</div>`}
    <label class="field">Find a method <input type="search" value=${words} onInput=${(e) => look(e.target.value)} placeholder=${place === 'steps' ? 'as in missing, group values, round' : ''} /></label>
    ${asks && html`<p class="hint" role="status">${begins.waits ? 'Trying each method on some of the records …' : '\u00a0'}</p>`}
    ${fit.length > 0 && html`<ol class="fit">${fit.map((m) => html`<${Recommended} key=${m.name} ...${{ m, spec: beginning(m).spec, add }} />`)}</ol>
      ${listed.length > fit.length && html`<button class="plain" aria-expanded=${every} onClick=${() => showAll(!every)}>${every ? 'Fewer' : `All ${listed.length} methods for this`}</button>`}`}
    ${rest.length > 0 && html`<ul class="offers" tabindex="0" aria-label="Methods">${rest.map((m) => html`<li key=${`${m.kind}/${m.name}`} class=${beginning(m).reason ? 'unfit' : ''}><div><strong>${m.title}</strong> <code>${m.name}</code><p>${m.summary}</p>
      ${beginning(m).reason && html`<p class="reason">Not as it stands: ${beginning(m).reason}</p>`}</div>
      ${beginning(m).reason ? html`<button class="plain" onClick=${() => add(m)}>Add, then fill in<span class="unseen"> ${m.title}</span></button>` : html`<button onClick=${() => add(m)} aria-label=${`Add ${m.title}`}>Add</button>`}</li>`)}</ul>`}
    ${listed.length === 0 && html`<p class="empty">No method is called so. To leave a column out, give it the role identifier under Columns; to rename labels, edit its hierarchy.</p>`}</details>`;
}

// A method that fits, with what it would do; tried on some records, which is said.
function Recommended({ m, spec, add }) {
  const seen = useAnswer('forecast', { spec }, [JSON.stringify(spec)]);
  const settings = Object.entries(spec).filter(([key]) => key !== m.kind).map(([key, v]) => `${key} ${typeof v === 'object' ? (Array.isArray(v) ? v.join(', ') : v?.method ?? '') : v}`).join(' · ');
  return html`<li><strong>${m.title}</strong><p>${m.summary}</p>${settings && html`<p class="hint">${settings}</p>`}
    ${!seen ? html`<p class="hint">Trying …</p>` : seen.refused ? html`<p class="hint">${seen.refused}</p>` : html`<dl>${seen.alone && html`<div><dt>alone</dt><dd>${percent(seen.alone[0] / seen.records, 2)} → ${percent(seen.left ? seen.alone[1] / seen.left : 0, 2)}</dd></div>`}
      ${typeof seen.kept === 'number' && html`<div><dt>information kept</dt><dd>${percent(seen.kept, 2)}</dd></div>`}</dl><p class="hint">tried on ${number(seen.records)} records${seen.short ? ' with a short search' : ''}${seen.left < seen.records ? `, ${number(seen.left)} left` : ''}</p>`}
    <button class="strong" onClick=${() => add(m)} aria-label=${`Add ${m.title}`}>Add</button></li>`;
}
