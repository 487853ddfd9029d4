// Handing over: exactly what ran, as two folders, a plan and a script.
import { useState } from './vendor/preact-hooks.js';
import { RunChoice, document_of, html, useId } from './parts.js';
import { act, save, useStore } from './state.js';
import { useResult } from './results.js';
import { Handing } from './review.js';

export function Export() {
  const { state, table } = useStore();
  const [run, set, result] = useResult(state);
  const [where, go] = useState('release-1');
  const [over, replace] = useState(false);
  const [approval, take] = useState(null);
  const id = useId('folder');
  if (!state.runs.length) return html`<h1>Export</h1><p class="lead">Run the plan first; what ran is what is handed over.</p>`;
  const busy = state.job !== null;
  const another = (number) => {
    take(null); // an approval is of one run
    set(number);
  };
  const get = (what) => () => document_of(what, run, save);
  return html`<h1>Export</h1><${RunChoice} runs=${state.runs} value=${run} set=${another} />
    ${state.runs.find((r) => r.number === run)?.reopened ? html`<p class="note">This run is of saved work: its figures are here, its table is not. Take its plan under Compare, or undo to it, and run it again to hand it over.</p>` : result && !result.released ? html`<p class="note">This run was refused, so there is no table to hand over. Its plan and script can be saved.</p>` : html`<section class="card"><h2>The release</h2>
      <p>Written as two folders. <strong>release/</strong> may leave the building: ${table ? 'all tables with their keys, their codebooks' : 'the table, its codebook'}, the evidence and a report. <strong>private/</strong> may not: the seed, groups, risks by record.</p>
      <div class="field"><label for=${id}>Folder to write</label><input id=${id} value=${where} onInput=${(e) => go(e.target.value)} /><p class="hint">A path on this machine. It must not exist, or be empty.</p></div>
      <label class="check"><input type="checkbox" checked=${over} onChange=${(e) => replace(e.target.checked)} /> replace a release that is there</label>
      ${approval && html`<p class="note">It will say that ${approval.by} approved it.</p>`}<p><button class="strong" aria-disabled=${busy || !where} onClick=${() => !busy && where && act('export', { run, directory: where, overwrite: over, review: approval?.text ?? '' })}>Write the release</button></p></section>
      <${Handing} ...${{ run, approval, take }} />
      <section class="card"><h2>Reports</h2><p>One for everybody, with nothing in it that the release does not give away; and one for you, with the figures of the original.</p><p class="buttons"><button onClick=${get('public report')}>Save the public report</button><button onClick=${get('private report')}>Save the private report</button></p></section>`}
    <section class="card"><h2>Plan and script</h2><p>The plan as it ran, and a Python script that does the same again. The script has the seed: keep it private.</p>
      <p class="buttons"><button onClick=${get('plan')}>Save the plan</button><button onClick=${get('script')}>Save the script</button></p></section>`;
}
