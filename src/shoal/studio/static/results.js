// The result: what was proved, what was measured before and after, and whose risk stays highest.
import { useEffect, useState } from './vendor/preact-hooks.js';
import { Closer } from './closer.js';
import { Bar, Pairs, RunChoice, Rows, html, number, plural, useAnswer } from './parts.js';
import { Became, Spread, shownAs } from './spread.js';
import { Beside, useStanding } from './standing.js';
import { TableChoice } from './linked.js';
import { put, useStore } from './state.js';
import { marked } from './terms.js';

export function useResult(state) {
  const latest = state.runs.at(-1)?.number ?? null;
  const [run, set] = useState(latest);
  useEffect(() => set(latest), [latest]);
  const result = useAnswer(run === null ? null : 'result', { run }, [run, state.source]);
  return [run, set, result && !result.refused && result.number !== run ? null : result]; // none while another is being read
}

export function Result() {
  const { state, methods, table } = useStore();
  const [run, set, result] = useResult(state);
  const [rows, showRows] = useState(false);
  const [pairs, showPairs] = useState(false);
  const standing = useStanding(run, true);
  if (!state.runs.length) return html`<h1>Result</h1><p class="lead">Nothing was run yet. <strong>Run</strong>, at the top, carries the plan out and proves what it requires.</p>`;
  if (!result || !methods) return html`<h1>Result</h1><p class="hint">Reading the result …</p>`;
  if (result.refused) return html`<h1>Result</h1><p>${result.refused}</p>`;
  const reopened = state.runs.find((r) => r.number === run)?.reopened;
  const kind = (m) => methods.methods.find((one) => one.name === m.measure && ['risk', 'utility'].includes(one.kind));
  const of = (wanted) => result.measures.filter((m) => kind(m)?.kind === wanted);
  return html`<h1>Result</h1><${RunChoice} runs=${state.runs} value=${run} set=${set} />
    <${Verdict} result=${result} standing=${standing} />
    ${reopened && html`<p class="note">Taken up from saved work, which has no cells: run the plan again for pictures, rows and the release.</p>`}
    ${result.copies > 1 && html`<p class="note">${result.copies} copies are released, each drawn anew and each proved; figures and pictures here are of the first.</p>`}
    <section><h2>What was proved</h2><${Proofs} of=${result.requirements} /></section>
    <${Measures} title="Risk" lead="How well people can still be found, or what can be learnt about them. Before: the original, as if it were released." of=${of('risk')} kind=${kind} before />
    <${Measures} title="What was lost" lead="How far the released table differs from the original." of=${of('utility')} kind=${kind} />
    ${result.tables?.length > 0 && !reopened && html`<${OfTable} ...${{ result, run, table, kind }} />`}
    ${result.columns.length > 0 && !reopened && html`<${BeforeAndAfter} result=${result} run=${run} />`}
    ${result.private && !table && !reopened && html`<${Riskiest} of=${result.private.riskiest} />`}
    ${result.steps.length > 0 && html`<section><h2>What each step did</h2>${result.steps.map((s) => html`<details><summary>${s.step}${s.columns.length ? `: ${s.columns.join(', ')}` : ''}</summary><dl>${Object.entries(s.facts).map(([k, v]) => html`<dt>${k}</dt><dd>${String(v)}</dd>`)}</dl></details>`)}</section>`}
    ${result.released && !reopened && html`<details onToggle=${(e) => showPairs(e.target.open)}><summary>Original and released rows side by side</summary>${pairs && html`<${Pairs} key=${`${run} ${table}`} run=${run} />`}</details>`}
    ${result.released && !table && !reopened && html`<details onToggle=${(e) => showRows(e.target.open)}><summary>Look at the released rows</summary>${rows && html`<${Rows} run=${run} version=${run} />`}</details>`}`;
}

// What became of one of several tables.
function OfTable({ result, run, table, kind }) {
  const [rows, showRows] = useState(false);
  const own = result.tables.find((one) => one.name === table);
  const shared = (of) => of.requirements.filter((v) => result.requirements.some((over) => over.requirement === v.requirement));
  return html`<section><h2>Each table</h2><${TableChoice} />${!own ? html`<p class="empty">This table is not in the plan, and was not released.</p>` : html`<p>${plural(own.records, 'released row')}</p>
    ${own.requirements.length > shared(own).length && html`<${Proofs} of=${own.requirements.filter((v) => !shared(own).includes(v))} />`}
    <details key=${`${table} figures`}><summary>Figures of ${table}</summary><${Measures} title=${`Measured in ${table}`} lead="In this table alone, as if nobody had the others." of=${own.measures.filter((m) => m.value !== null)} kind=${kind} before /></details>
    <${BeforeAndAfter} key=${table} result=${own} run=${run} />
    <details key=${`${table} rows`} onToggle=${(e) => showRows(e.target.open)}><summary>Look at the released rows</summary>${rows && html`<${Rows} key=${table} run=${run} version=${`${run} ${table}`} />`}</details>`}</section>`;
}

// Every column drawn over the original's own values, in words, and closely on demand.
function BeforeAndAfter({ result, run }) {
  const ends = useAnswer('extremes', { run }, [run]);
  const [close, look] = useState(null);
  const names = result.columns.map((c) => c.name);
  const end = (name) => {
    const [before, after] = ends?.[name] ?? [];
    const range = (of) => `${written(of.least)} to ${written(of.greatest)}`;
    return before?.least === undefined ? null : html`<p class="hint">${range(before)}${after?.least === undefined ? '' : `; released ${range(after)}`}</p>`;
  };
  return html`<section class="before-after"><h2>Columns before and after</h2><p class="hint"><span class="key before"></span> original <span class="key after"></span> released <span class="key hatched"></span> released as labels of several values, spread evenly over them</p>
    <div class="spreads">${result.columns.map((c) => html`<article key=${c.name}><header><h3>${c.name}${c.label && html` <span class="hint">${c.label}</span>`}</h3><${Became} column=${c} /></header>
      <p class="hint">${result.became[c.name]}</p><${Spread} of=${c.distribution} labels=${c.values} name=${c.name} />${end(c.name)}
      <button class="plain" onClick=${() => look(c)}>Look closer<span class="unseen"> at ${c.name}</span></button></article>`)}</div>
    ${close && html`<${Closer} key=${close.name} name=${close.name} run=${run} picture=${close.distribution} columns=${names} onClose=${() => look(null)} />`}</section>`;
}

const written = (v) => (typeof v === 'number' ? shownAs()(v) : v);

export function Proofs({ of }) {
  if (!of.length) return html`<p>The plan requires nothing, so nothing was proved.</p>`;
  return html`<ul class="proofs">${of.map((v) => html`<li class=${v.holds ? 'holds' : 'fails'}><strong>${v.holds ? '✓ proved' : '✗ does not hold'}: ${marked(v.requirement)}</strong><p>${v.sentence}</p></li>`)}</ul>`;
}

const VERDICTS = { good: ['holds', '✓'], open: ['unproved', '!'], bad: ['fails', '✗'] };

// The head of the report: the same words and figures.
function Verdict({ result, standing }) {
  if (result.released) {
    const { status, heading, points, headlines } = standing?.verdict ?? result.decision;
    const [look, sign] = VERDICTS[status];
    return html`<div class=${`verdict ${look}`} role="status"><strong>${sign} ${heading}</strong><dl class="reasons">${points.map((p) => html`<div><dt>${p.label}</dt>${p.sentences.map((s) => html`<dd>${s}</dd>`)}</div>`)}</dl>
      <dl class="headlines">${headlines.map((one) => html`<div><dt>${one.label}</dt><dd class="value">${one.value}</dd><dd class="hint">${one.note}</dd>
        <dd>${one.limit ? html`limit: ${one.limit} ${one.kept ? '✓ kept' : '✗ not kept'}` : html`<span class="hint">no limit stated</span>`}</dd></div>`)}</dl><${Beside} of=${standing} /></div>`;
  }
  const failed = result.requirements.filter((v) => !v.holds);
  return html`<div class="verdict fails" role="status"><strong>Refused: nothing is released</strong><p>${failed.map((v) => `${v.requirement} does not hold: ${v.sentence}`).join(' ') || result.refusal.replace('Nothing was released. ', '')}</p>
    ${result.advice?.length > 0 && html`<p><strong>What would help</strong></p><ul>${result.advice.map((a) => html`<li>${a.requirement}: ${a.remedy} ${a.effect}</li>`)}</ul>`}
    <${Unanswered} of=${result.unanswered ?? {}} />
    ${failed.length > 0 && html`<p>Strengthen a step, or ask for less: change the plan under Steps and run it again.</p>`}</div>`;
}

// One button a column that nobody answers for; the answer is an entry of the plan like any other, and can be undone.
function Unanswered({ of }) {
  const { state } = useStore();
  const answered = state.tree.accept ?? [];
  const open = Object.entries(of).filter(([name]) => !answered.includes(name));
  if (!Object.keys(of).length) return null;
  if (!open.length) return html`<p>The plan now answers for these columns. Run it again.</p>`;
  const accept = (name) => (answered.length ? put(['accept', answered.length], name, `accept ${name}`) : put(['accept'], [name], `accept ${name}`));
  return html`<p><strong>If nobody outside can know these columns, answer for them in the plan</strong></p>
    <div class="answers">${open.map(([name, clause]) => html`<button key=${name} onClick=${() => accept(name)}>Accept <code>${name}</code>, which ${clause}</button>`)}</div>`;
}

const scale = (m, value) => (m.limits[1] === null || m.limits[1] === undefined ? null : (value - m.limits[0]) / (m.limits[1] - m.limits[0]));

function Figure({ m, value, kind }) {
  const bound = ['at most', 'at least'].find((words) => value?.[words] !== undefined);
  if (bound) return html`${bound} ${number(value[bound])}${value.unit && ` ${value.unit}`}`;
  if (typeof value !== 'number') return html`<span class="hint">–</span>`;
  const share = scale(m, value);
  return html`${number(value)}${m.unit && ` ${m.unit}`} ${share !== null && html`<${Bar} share=${share} kind=${kind} />`}`;
}

export function Measures({ title, lead, of, kind, before = false }) {
  if (!of.length) return null;
  const none = of.filter((m) => m.value === null), measured = of.filter((m) => m.value !== null);
  return html`<section><h2>${title}</h2><p class="hint">${lead}</p>${measured.length > 0 && html`<div class="wide" tabindex="0" role="region" aria-label=${title}><table class="measures">
    <thead><tr><th scope="col">measure</th>${before && html`<th scope="col">before</th>`}<th scope="col">after</th></tr></thead>
    <tbody>${measured.map((m) => html`<tr key=${m.title}><th scope="row">${marked(m.title)}${m.better && html`<span class="hint"> ${m.better} is better</span>`}<details class="why"><summary>What it says</summary><p>${m.sentence || m.reason}</p><p class="hint">${kind(m)?.summary}</p>
      ${m.by_column && html`<dl>${Object.entries(m.by_column).map(([c, v]) => html`<dt>${c}</dt><dd>${typeof v === 'number' ? number(v) : v === null ? '–' : Object.entries(v).map(([k, one]) => `${k} ${typeof one === 'number' ? number(one) : one}`).join(', ')}</dd>`)}</dl>`}</details></th>
      ${before && html`<td><${Figure} m=${m} value=${m.original} kind="before" /></td>`}<td><${Figure} m=${m} value=${m.value} kind="after" />${m.interval && html`<span class="hint"> ${number(m.interval.low)} to ${number(m.interval.high)}</span>`}</td></tr>`)}</tbody></table></div>`}
    ${none.length > 0 && html`<details class="why"><summary>${plural(none.length, 'measure')} without a figure</summary><dl>${none.map((m) => html`<dt>${m.title}</dt><dd>${m.reason || m.sentence || 'No figure of it is handed over.'}</dd>`)}</dl></details>`}</section>`;
}

function Riskiest({ of }) {
  const lists = of.filter((one) => one.rows.length);
  return html`<section><h2>Records at highest risk</h2><p class="hint">Private: row numbers of the original, for you to look at.</p>
    ${!lists.length && html`<p>No measure with a risk for each record was taken, or none is above zero. Under measures, add one such as individual-risk.</p>`}
    ${lists.map((one) => html`<details><summary>${one.title}</summary><ol class="risky">${one.rows.map((row, i) => html`<li>row ${number(row)}: risk ${number(one.risk[i])}</li>`)}</ol></details>`)}</section>`;
}
