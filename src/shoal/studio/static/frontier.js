// The frontier: many plans at once, what each buys and costs, and one of them to take.
import { useState } from './vendor/preact-hooks.js';
import { FrontierChart } from './chart.js';
import { html, number, useId } from './parts.js';
import { act, put, say, useStore } from './state.js';
import { useResult } from './results.js';

const numbers = (text) => text.split(/[\s,;]+/).filter(Boolean).map(Number);

export function Frontier() {
  const { state, methods } = useStore();
  const [, , result] = useResult(state);
  if (!methods) return html`<p class="hint">Reading what methods there are …</p>`;
  const { frontier } = state;
  const title = (kind, name) => methods.methods.find((m) => m.kind === kind && m.name === name)?.title ?? name;
  const take = (name) => put(['steps'], frontier.steps[name], `take ${name}`).then((done) => done && say(`The plan has the steps of ${name} now; Run carries them out.`));
  const original = frontier ? result?.measures?.find((m) => m.measure === frontier.risk)?.original ?? null : null;
  return html`<h1>Frontier</h1><p class="lead">Try several methods and strengths on this table, and see which give the least loss for the least risk.</p>
    <${Ranges} methods=${methods} explore=${state.tree.explore} busy=${state.job !== null} />
    ${frontier && html`<section><h2>What came out</h2><p>${frontier.because}</p>
      <${FrontierChart} ...${{ frontier, original, onTake: take, titles: { risk: title('risk', frontier.risk), utility: title('utility', frontier.utility) } }} />
      <p class="hint"><span class="key front"></span> on the frontier, filled; the largest is recommended · <span class="key beaten"></span> beaten by another, hollow · × refused, a requirement does not hold</p>
      <div class="wide" tabindex="0" role="region" aria-label="Candidates"><table><thead><tr><th scope="col">candidate</th><th scope="col">risk</th><th scope="col">loss</th><th scope="col">verdict</th><th scope="col">plan</th></tr></thead>
      <tbody>${frontier.points.map((p) => html`<tr key=${p.name}><th scope="row">${p.name}</th><td>${number(p.risk)}</td><td>${number(p.utility)}</td>
        <td>${p.name === frontier.recommended ? html`<strong>recommended</strong>` : frontier.pareto.includes(p.name) ? 'on the frontier' : p.holds ? 'beaten' : html`refused <details class="why"><summary>why</summary><p>${p.reason}</p></details>`}</td>
        <td><button onClick=${() => take(p.name)} aria-label=${`Take ${p.name}`}>Take</button></td></tr>`)}</tbody></table></div></section>`}`;
}

function Ranges({ methods, explore, busy }) {
  const [chosen, choose] = useState(Array.isArray(explore?.method) ? explore.method : ['mdav']);
  const [k, setK] = useState((Array.isArray(explore?.k) ? explore.k : [3, 5, 10]).join(', '));
  const [risk, setRisk] = useState(explore?.risk ?? 'distance-linkage');
  const [utility, setUtility] = useState(explore?.utility ?? 'sse');
  const ids = { k: useId('k'), risk: useId('risk'), utility: useId('utility') };
  const able = methods.methods.filter((m) => ['partition', 'mask'].includes(m.kind) && m.fields.every((f) => !f.required || f.name === 'k'));
  const withK = able.some((m) => chosen.includes(m.name) && m.fields.some((f) => f.name === 'k'));
  const begin = async () => {
    const section = { method: chosen, ...(withK ? { k: numbers(k) } : {}), risk, utility };
    if (await put(['explore'], section, 'what to explore')) await act('explore');
  };
  const choice = (kind, id, value, set, label) => html`<div class="field"><label for=${id}>${label}</label><select id=${id} value=${value} onChange=${(e) => set(e.target.value)}>
    ${methods.methods.filter((m) => m.kind === kind).map((m) => html`<option value=${m.name}>${m.title}</option>`)}</select></div>`;
  return html`<section class="card"><h2>What to try</h2><p class="hint">Each is tried in place of the plan’s steps; the requirements stay.</p>
    <div class="checks two" role="group" aria-label="Methods">${able.map((m) => html`<label key=${m.name}><input type="checkbox" checked=${chosen.includes(m.name)} onChange=${(e) => choose(e.target.checked ? [...chosen, m.name] : chosen.filter((n) => n !== m.name))} /> ${m.title} <code>${m.name}</code></label>`)}</div>
    <div class="fields">${withK && html`<div class="field"><label for=${ids.k}>group sizes k</label><input id=${ids.k} value=${k} onInput=${(e) => setK(e.target.value)} /><p class="hint">Numbers with commas between them.</p></div>`}
      ${choice('risk', ids.risk, risk, setRisk, 'risk is measured by')}${choice('utility', ids.utility, utility, setUtility, 'loss is measured by')}</div>
    <button class="strong" aria-disabled=${busy || !chosen.length} onClick=${() => !busy && chosen.length && begin()}>Try them</button></section>`;
}
