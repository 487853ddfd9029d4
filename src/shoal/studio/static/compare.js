// Runs side by side: what each proved, bought and cost, and how their plans differ.
import { html, number, plural, useAnswer } from './parts.js';
import { act, useStore } from './state.js';

export function Compare() {
  const { state } = useStore();
  const compared = useAnswer('compare', {}, [state.runs.map((r) => r.number).join()]);
  if (state.runs.length < 2) return html`<h1>Compare</h1><p class="lead">Run two plans or more, and they stand side by side here.</p>`;
  if (!compared) return html`<h1>Compare</h1><p class="hint">Reading the results …</p>`;
  if (compared.refused) return html`<h1>Compare</h1><p>${compared.refused}</p>`;
  const has = (row) => row.cells.some((cell) => cell !== null), none = compared.rows.filter((row) => !has(row));
  const take = (run) => act('edit', { text: compared.texts[run], note: `take the plan of run ${run}` });
  return html`<h1>Compare</h1><p class="lead">${compared.alike ? 'The best figure of each row is marked with ★.' : 'These runs released other columns, or columns in other roles. Their figures are of different things, so none is marked as the best.'}</p>
    <div class="wide" tabindex="0" role="region" aria-label="Runs side by side"><table class="compare"><thead><tr><th scope="col">figure</th>${compared.runs.map((r) => html`<th scope="col">Run ${r.number}<br /><span class="hint">${r.released ? 'proved' : 'refused'}</span><br />
      <button onClick=${() => take(r.number)} aria-label=${`Take the plan of run ${r.number}`}>Take</button></th>`)}</tr></thead>
    <tbody>${compared.rows.filter(has).map((row) => html`<tr key=${row.title}><th scope="row">${row.title}${row.better && html`<span class="hint"> ${row.better} is better</span>`}</th>
      ${row.cells.map((cell, i) => html`<td>${cell === null ? html`<span class="hint">${row.lacking}</span>` : number(cell)}${compared.alike && row.best.includes(i) && new Set(row.cells.filter((c) => c !== null).map((c) => number(c))).size > 1 ? html` <span title="best">★</span>` : ''}</td>`)}</tr>`)}</tbody></table></div>${none.length > 0 && html`<details class="why"><summary>${plural(none.length, 'measure')} without a figure in any run</summary><p>${none.map((row) => row.title).join(', ')}</p></details>`}
    <h2 class="later">How the plans differ</h2><p class="hint">From each run to the next.</p>
    ${compared.differences.map((d) => html`<h3>Run ${d.from} to run ${d.to}</h3>${d.lines.length ? html`<pre class="difference" tabindex="0">${d.lines.map((line) => html`<span class=${line[0] === '+' ? 'more' : 'less'}>${`${line}\n`}</span>`)}</pre>` : html`<p class="hint">The same plan.</p>`}`)}`;
}
