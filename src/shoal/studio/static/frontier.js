// The frontier: many plans at once, what each buys and costs, and one of them to take.
import { useState } from './vendor/preact-hooks.js';
import { FrontierChart } from './chart.js';
import { Lattice, climbing } from './lattice.js';
import { html, number, useAnswer, useId } from './parts.js';
import { act, put, putAll, say, useStore } from './state.js';

const numbers = (text) => text.split(/[\s,;]+/).filter(Boolean).map(Number);

export function Frontier() {
  const { state, methods, table } = useStore();
  const [wide, widen] = useState(false);
  if (!methods) return html`<p class="hint">Reading what methods there are …</p>`;
  const { frontier } = state;
  const changed = (name) => Object.entries(frontier['steps of tables']?.[name] ?? {}).filter(([of, steps]) => steps.length || state.tree.tables?.[of]?.steps?.length).map(([of, value]) => ({ place: ['tables', of, 'steps'], value }));
  const take = (name) => putAll([{ place: ['steps'], value: frontier.steps[name] }, ...changed(name)], `take ${name}`).then((done) => done && say(`The plan has the steps of ${name} now; Run carries them out.`));
  const shown = frontier ? [...frontier.points].sort((a, b) => frontier.numbers[a.name] - frontier.numbers[b.name]) : [];
  const words = (axis) => `${axis.title}${axis.better ? `, ${axis.better} is better` : ''}`;
  return html`<h1>Frontier</h1><p class="lead">Try plans that differ in method, recoding, limits and strength, and see which keep most for the least risk.</p>
    <${Proposed} explore=${state.tree.explore} columns=${JSON.stringify([state.tree.columns, state.tree.requirements, state.tree.tables])} busy=${state.job !== null} broken=${state.mistakes.length > 0} />
    ${frontier && html`<section><h2>What came out</h2><p>${frontier.because}</p>
      <div class="chips" role="group" aria-label="What is drawn"><button aria-pressed=${!wide} onClick=${() => widen(false)}>Close up</button><button aria-pressed=${wide} onClick=${() => widen(true)}>All, and the unprotected table</button></div>
      <${FrontierChart} ...${{ frontier, wide, onTake: take, titles: { risk: words(frontier.axes.risk), utility: words(frontier.axes.utility) } }} />
      <p class="hint"><span class="key front"></span> on the frontier, the ringed recommended · <span class="key beaten"></span> beaten by another · × refused: a requirement does not hold</p>
      <div class="wide" tabindex="0" role="region" aria-label="Candidates"><table><thead><tr><th scope="col">no.</th><th scope="col">candidate</th><th scope="col">${frontier.axes.risk.title}</th><th scope="col">${frontier.axes.utility.title}</th><th scope="col">verdict</th><th scope="col">plan</th></tr></thead>
      <tbody>${shown.map((p) => html`<tr key=${p.name}><td>${frontier.numbers[p.name]}</td><th scope="row">${p.name}</th><td>${number(p.risk)}</td><td>${number(p.utility)}</td>
        <td>${p.name === frontier.recommended ? html`<strong>recommended</strong>` : frontier.pareto.includes(p.name) ? 'on the frontier' : p.holds ? 'beaten' : html`refused <details class="why"><summary>why</summary><p>${p.reason}</p></details>`}</td>
        <td><button onClick=${() => take(p.name)} aria-label=${`Take ${p.name}`}>Take</button></td></tr>`)}</tbody></table></div></section>`}
    ${climbing(state.tree).map((step) => html`<section key=${step} class="lattice-of"><h2>Levels of generalisation${climbing(state.tree).length > 1 ? `, step ${step + 1}` : ''}</h2><${Lattice} step=${step} /></section>`)}
    ${!table && html`<details><summary>Choose methods and measures yourself</summary><${Ranges} methods=${methods} explore=${state.tree.explore} busy=${state.job !== null} /></details>`}`;
}

const brief = (step) => Object.entries(step).map(([key, v]) => (['mask', 'partition'].includes(key) ? v : `${key} ${[v].flat().join(' or ')}`)).join(', ');

// Plans that suit the columns; those that the plan names already, if it names any.
function Proposed({ explore, columns, busy, broken }) {
  const { table } = useStore();
  const proposal = useAnswer('candidates', {}, [columns, broken]);
  const [left, leave] = useState([]);
  if (!proposal) return html`<p class="hint">Looking at the columns …</p>`;
  const own = explore && typeof explore.method === 'object' && !Array.isArray(explore.method);
  const section = own ? explore : proposal;
  const names = Object.keys(section.method ?? {});
  if (!names.length) return html`<p class="empty">${broken ? 'Mend the mistakes of the plan first.' : 'No column has the role quasi-identifier, so there is nothing to weigh against.'}</p>`;
  const chosen = names.filter((name) => !left.includes(name));
  const begin = async () => {
    const method = Object.fromEntries(chosen.map((name) => [name, section.method[name]]));
    if (await put(['explore'], { ...section, method }, 'what to explore')) await act('explore');
  };
  return html`<section class="card"><h2>What to try</h2><p class="hint">${table ? 'Each is tried after the steps of single tables, in place of those of whole persons; the requirements stay.' : 'Each is tried in place of the plan’s steps; the requirements stay.'}</p>
    <ul class="tries">${names.map((name) => html`<li key=${name}><label><input type="checkbox" checked=${chosen.includes(name)} onChange=${(e) => leave(e.target.checked ? left.filter((n) => n !== name) : [...left, name])} /> <strong>${name}</strong></label><span class="hint">${(section.method[name] ?? []).map(brief).join('; then ')}</span></li>`)}</ul>
    <button class="strong" aria-disabled=${busy || !chosen.length} onClick=${() => !busy && chosen.length && begin()}>Try these</button></section>`;
}

function Ranges({ methods, explore, busy }) {
  const [chosen, choose] = useState(Array.isArray(explore?.method) ? explore.method : ['mdav']);
  const [k, setK] = useState((Array.isArray(explore?.k) ? explore.k : [3, 5, 10]).join(', '));
  const [risk, setRisk] = useState(explore?.risk ?? 'marketer');
  const [utility, setUtility] = useState(explore?.utility ?? 'information-kept');
  const ids = { k: useId('k'), risk: useId('risk'), utility: useId('utility') };
  const able = methods.methods.filter((m) => ['partition', 'mask'].includes(m.kind) && m.fields.every((f) => !f.required || f.name === 'k'));
  const withK = able.some((m) => chosen.includes(m.name) && m.fields.some((f) => f.name === 'k'));
  const begin = async () => {
    const section = { method: chosen, ...(withK ? { k: numbers(k) } : {}), risk, utility };
    if (await put(['explore'], section, 'what to explore')) await act('explore');
  };
  const choice = (kind, id, value, set, label) => html`<div class="field"><label for=${id}>${label}</label><select id=${id} value=${value} onChange=${(e) => set(e.target.value)}>
    ${methods.methods.filter((m) => m.kind === kind).map((m) => html`<option value=${m.name}>${m.title}</option>`)}</select></div>`;
  return html`<section class="card">
    <div class="checks two" role="group" aria-label="Methods">${able.map((m) => html`<label key=${m.name}><input type="checkbox" checked=${chosen.includes(m.name)} onChange=${(e) => choose(e.target.checked ? [...chosen, m.name] : chosen.filter((n) => n !== m.name))} /> ${m.title} <code>${m.name}</code></label>`)}</div>
    <div class="fields">${withK && html`<div class="field"><label for=${ids.k}>group sizes k</label><input id=${ids.k} value=${k} onInput=${(e) => setK(e.target.value)} /><p class="hint">Numbers with commas between them.</p></div>`}
      ${choice('risk', ids.risk, risk, setRisk, 'risk is measured by')}${choice('utility', ids.utility, utility, setUtility, 'loss is measured by')}</div>
    <button class="strong" aria-disabled=${busy || !chosen.length} onClick=${() => !busy && chosen.length && begin()}>Try them</button></section>`;
}
