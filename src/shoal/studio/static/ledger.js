// The ledger: earlier releases of the same people, what they told, and the promise that this one keeps beside them.
import { useState } from './vendor/preact-hooks.js';
import { Field } from './forms.js';
import { Mistakes, html, number, plural, useAnswer, useId } from './parts.js';
import { act, mistakesAt, useStore } from './state.js';

const day = (when) => new Date(when).toLocaleDateString('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const spent = (losses) => losses.map((l) => `${number(l.epsilon)}${l.delta ? ` and ${l.delta}` : ''} on ${l.columns.join(', ')}`).join('; ');
const cells = (counts) => Object.entries(counts).map(([name, n]) => `${name} ${number(n)}`).join(', ');

export function Ledger() {
  const { state, facts, methods, table } = useStore();
  const own = state.tree.ledger, keeps = own !== undefined && own !== null;
  const [address, write] = useState(null);
  const [key, choose] = useState(null);
  const ids = { address: useId('address'), key: useId('key') };
  const names = (facts?.columns ?? []).map((c) => c.name);
  const roles = state.tree.columns ?? {};
  const usual = names.find((name) => ['person', 'identifier'].includes(roles[name]?.role ?? roles[name])) ?? names[0] ?? '';
  const chosen = key ?? own?.key ?? usual;
  const where = address ?? (state.after.join('\n') || own?.file || '');
  const keep = (e) => {
    e.preventDefault();
    act('keep', { address: where, key: table ? null : chosen });
    write(null);
  };
  if (!methods || !facts) return html`<h1>Ledger</h1><p class="hint">Reading what there is …</p>`;
  const fields = methods.ledger.filter((f) => !['key', 'file'].includes(f.name) && (!table || methods.ledger_over_tables.includes(f.name)));
  return html`<h1>Ledger</h1><p class="lead">Who holds two releases of the same people can put them together. A ledger remembers what each release told of whom, so that a further wave is proved beside all earlier ones.</p>
    <section class="card"><h2>${keeps ? 'This release is entered in a ledger' : 'Is this a release of people who were released before, or will be again?'}</h2>
      <form onSubmit=${keep}><div class="field"><label for=${ids.address}>Folder of the release before this one, or the file of a ledger</label><textarea id=${ids.address} rows=${Math.max(1, where.split('\n').length)} value=${where} onInput=${(e) => write(e.target.value)}></textarea><p class="hint">A path on this machine; several that came after the same one, and do not know of each other, one a line. Left empty, this is the first wave, and its private folder gets the ledger that the next one carries on.</p></div>
      ${!table && html`<div class="field"><label for=${ids.key}>Column that says whose a record is</label><select id=${ids.key} value=${chosen} onChange=${(e) => choose(e.target.value)}>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select><p class="hint">The same in every wave. Its values enter the ledger only as keyed hashes, and it need not be released.</p></div>`}
      <p class="buttons"><button class=${keeps ? '' : 'strong'}>${keeps ? 'Change' : 'Keep a ledger'}</button>${keeps && html`<button type="button" onClick=${() => { write(null); act('keep_none'); }}>Keep no ledger</button>`}</p></form>
      <${Mistakes} of=${mistakesAt(['ledger']).filter((m) => m.place.length === 1 || ['key', 'file'].includes(m.place[1]))} />
      ${keeps && html`<p class="hint">It is entered when the release is written, under Export.</p>`}</section>
    ${keeps && html`<${Standing} /><section><h2>What must hold over all releases</h2><div class="fields">${fields.map((f) => html`<${Field} key=${f.name} field=${f} place=${['ledger']} value=${own[f.name]} note="ledger" />`)}</div></section>`}`;
}

// What stands in the ledger, and what was spent.
function Standing() {
  const { state } = useStore();
  const [withdrawing, ask] = useState(null);
  const seen = useAnswer('ledger', {}, [state.after.join(), JSON.stringify(state.tree.ledger), state.version]);
  if (!seen) return html`<section><h2>Earlier releases</h2><p class="hint">Reading the ledger …</p></section>`;
  if (seen.refused) return html`<section><h2>Earlier releases</h2><p class="mistakes">${seen.refused}</p></section>`;
  const budget = state.tree.ledger?.epsilon ?? {};
  const total = (column) => seen.releases.filter((r) => !r.withdrawn).flatMap((r) => r.epsilon).filter((l) => column === '*' || l.columns.includes(column)).reduce((sum, l) => sum + l.epsilon, 0);
  return html`<section><h2>Earlier releases</h2>${seen.where && html`<p class="hint">${seen.where}</p>`}
    ${seen.faults.length > 0 && html`<p class="mistakes">The ledger is damaged. ${seen.faults.join(' ')} Put it back from a copy; nothing is released by a damaged ledger.</p>`}
    ${!seen.releases.length && !seen.faults.length ? html`<p class="empty">None: this is the first wave.</p>` : html`<div class="wide" tabindex="0" role="region" aria-label="Earlier releases"><table class="dense waves"><thead><tr>${['release', 'made', 'for', 'persons', 'records', 'classes', 'blank', 'recoded', 'epsilon', 'withdrawn'].map((title) => html`<th scope="col">${title}</th>`)}</tr></thead>
      <tbody>${seen.releases.map((r) => html`<tr key=${r.release}><th scope="row">${r.release}</th><td>${day(r.made)}</td><td>${r.for}</td><td>${number(r.persons)}</td><td>${number(r.records)}</td><td>${number(r.classes)}</td><td>${cells(r.blank)}</td><td>${cells(r.recoded)}</td><td>${spent(r.epsilon)}</td>
        <td>${r.withdrawn || html`<button class="plain" aria-expanded=${withdrawing === r.release} onClick=${() => ask(withdrawing === r.release ? null : r.release)}>Withdraw<span class="unseen"> release ${r.release}</span></button>`}</td></tr>`)}</tbody></table></div>`}
    ${withdrawing !== null && html`<${Withdrawing} key=${withdrawing} number=${withdrawing} done=${() => ask(null)} />`}
    ${Object.keys(budget).length > 0 && html`<h3>Epsilon spent</h3><dl>${Object.entries(budget).map(([column, most]) => html`<dt>${column === '*' ? 'all columns together' : column}</dt><dd>${number(total(column))} of ${number(most)}</dd>`)}</dl>`}
    ${seen.releases.length > 0 && html`<p class="hint">${plural(seen.releases.filter((r) => !r.withdrawn).length, 'release')} count${seen.releases.filter((r) => !r.withdrawn).length === 1 ? 's' : ''}; what readers have seen cannot be taken back, so nothing is ever deleted here.</p>`}</section>`;
}

function Withdrawing({ number: of, done }) {
  const [why, write] = useState('');
  const id = useId('because');
  const withdraw = async (e) => {
    e.preventDefault();
    if (why.trim() && (await act('withdraw', { number: of, because: why }))) done();
  };
  return html`<form class="field" onSubmit=${withdraw}><label for=${id}>Why does nobody hold release ${of} any more?</label><div class="row"><input id=${id} value=${why} placeholder="never sent" onInput=${(e) => write(e.target.value)} /><button aria-disabled=${!why.trim()}>Withdraw it</button></div></form>`;
}
