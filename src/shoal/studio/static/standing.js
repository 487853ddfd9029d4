// Where a plan stands: its risk and loss, the bound on the loss, what is known to lose less, and the next step.
import { useEffect, useState } from './vendor/preact-hooks.js';
import { html, number, percent, plural, useAnswer } from './parts.js';
import { act, ask, put, store, useStore } from './state.js';

const about = (share) => percent(share, 2);

// The standing of a run, again once variants of its plan were tried on some records.
export function useStanding(run, tries = false) {
  const { state } = useStore();
  const on = [run, state.runs.length, state.frontier === null ? 0 : state.frontier.because];
  const quick = useAnswer(run === null ? null : 'standing', { run }, on);
  const [tried, set] = useState(null);
  const idle = state.job === null && state.mistakes.length === 0;
  useEffect(() => {
    set(null);
    if (!tries || run === null || !idle) return undefined;
    let old = false;
    ask('neighbours', { run }).then((a) => old || a.refused || set(a)).catch(() => {}); // given up: what is known stays
    return () => {
      old = true;
    };
  }, [...on, tries, idle]);
  const known = tried ?? quick;
  return known && !known.refused && known.run === run ? known : null;
}

export const take = (other) => (other.text ? act('edit', { text: other.text, note: `take the plan of ${other.name}` }) : put(['steps'], other.steps, `take ${other.name}`));

// Beside the loss: what no plan goes below, and what is known to do better.
export function Beside({ of }) {
  const { table } = useStore();
  if (!of || of.loss === null) return null;
  const least = of.better[0];
  const against = (other) => (other['tried on'] ? of.tried.loss : of.loss);
  return html`<div class="beside"><h2>Is this loss needed?</h2>
    <dl class="losses"><div><dt>this run loses</dt><dd><${Loss} of=${of.loss} kind="before" /></dd></div>
      ${of.better.map((other) => html`<div key=${other.name}><dt>${other.name}${other['tried on'] && html` <span class="hint">on ${number(other['tried on'])} records, where this loses ${about(against(other))}</span>`}</dt>
        <dd><${Loss} of=${other.loss} kind="after" /><button onClick=${() => take(other)} aria-label=${`Take ${other.name}`}>Take</button></dd></div>`)}
      ${of.bounds.map((b) => html`<div><dt>bound for ${b.step}</dt><dd>${b.says} ${b.bound} <span class="hint">(this one: ${b.loss}, in the step’s own measure)</span></dd></div>`)}</dl>
    ${!least && html`<p class="hint">${of.tried ? (of.tried.names.length ? `None that is better came out of ${of.tried.names.join(' and ')} with the same promises, tried on ${number(of.tried.records)} records, and all other runs.` : 'Among the runs and candidates with the same promises none loses less. Frontier tries more of them.') : table ? 'Frontier tries other plans for the same tables.' : 'Trying stronger methods with the same promises …'}</p>`}</div>`;
}

function Loss({ of, kind }) {
  return html`<svg class="loss" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="8" class="trough" /><rect width=${100 * of} height="8" class=${kind} /></svg><span>${about(of)} of the information</span>`;
}

// What to do next, in one button.
function next({ state, standing, screen, open }) {
  const last = state.runs.at(-1);
  if (state.mistakes.length) return ['Mend the plan', () => { document.querySelector('.plan-button[aria-expanded=false]')?.click(); setTimeout(() => document.querySelector('.plan .mistakes')?.scrollIntoView({ block: 'center' }), 50); }];
  if (!state.tree.steps?.length && screen !== 'steps') return ['Choose steps', () => open('steps')];
  if (!last?.current) return [last ? 'Run it again' : 'Run the plan', () => { store.awaits = true; return act('run'); }];
  if (!last.released) return screen === 'result' ? ['Change the steps', () => open('steps')] : ['See what would help', () => open('result')];
  const better = standing?.verdict?.points.some((p) => p.label === 'Loses less') && standing.better[0];
  if (better) return [`Take ${better.name}`, () => take(better)];
  if (screen !== 'result' && screen !== 'export' && standing?.verdict?.status !== 'good') return ['See what is left to decide', () => open('result')];
  return screen === 'export' ? null : ['Hand it over', () => open('export')];
}

// The bar on every screen: risk and loss of the present plan, those of the best so far, and the next step.
export function StandingBar({ screen, open }) {
  const { state } = useStore();
  const proved = state.runs.filter((r) => r.released);
  const last = state.runs.find((r) => r.current && r.released) ?? proved.at(-1);
  const standing = useStanding(last?.number ?? null, last?.current && !last?.reopened);
  const step = next({ state, standing, screen, open });
  const best = standing?.better[0] ?? null;
  const waits = state.job !== null;
  const [wrong] = state.mistakes, more = state.mistakes.length - 1;
  return html`<aside class="standing" aria-label="Where the plan stands"><span class="mistakes" role="status">${wrong && `${wrong.sentence}${more > 0 ? ` And ${plural(more, 'mistake')} more.` : ''}`}</span>
    ${wrong ? null : !standing || standing.loss === null ? html`<span class="hint">${standing ? (state.tables.length ? 'What each table lost stands under Result.' : 'This run has no figure of its loss.') : last ? 'Reading the risk and the loss …' : state.runs.length ? 'No run was proved yet.' : 'Risk and loss stand here after the first run.'}</span>`
      : html`<dl><div><dt>${last.current ? 'present plan' : `run ${last.number}, plan changed since`}</dt><dd>risk <strong>${standing.risk}</strong> → loss <strong>${about(standing.loss)}</strong> <${Small} of=${standing.loss} kind="before" /></dd></div>
        <div><dt>best so far</dt><dd>${best ? html`${best.name}${best['tried on'] ? html`<span class="hint"> tried on ${number(best['tried on'])} records</span>` : ''}: ${best.risk && html`risk <strong>${best.risk}</strong> → `}loss <strong>${about(best.loss)}</strong> <${Small} of=${best.loss} kind="after" />` : 'this one'}</dd></div></dl>`}
    ${step && html`<span class="next"><span class="hint">next</span> <button aria-disabled=${waits} onClick=${() => !waits && step[1]()}>${step[0]}</button></span>`}</aside>`;
}

const Small = ({ of, kind }) => html`<svg class="loss small" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="8" class="trough" /><rect width=${100 * of} height="8" class=${kind} /></svg>`;
