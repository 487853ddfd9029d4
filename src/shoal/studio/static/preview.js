// What a step would do, counted before and after while its settings are being chosen.
import { useState } from './vendor/preact-hooks.js';
import { html, number, percent, plural, useAnswer } from './parts.js';
import { Spread } from './spread.js';
import { useStore } from './state.js';

const PAUSE = 400; // milliseconds without a change, after which it is counted again

export function Preview({ step, of }) {
  const [open, show] = useState(false);
  return html`<details class="preview" onToggle=${(e) => show(e.target.open)}><summary>What it would change</summary>${open && html`<${Counts} step=${step} of=${of} />`}</details>`;
}

// `of`: the table whose own step it is; empty for a table that is alone, and for a step over all tables.
function Counts({ step, of }) {
  const { state } = useStore();
  const waits = state.mistakes.length > 0 || state.job !== null;
  const seen = useAnswer(waits ? null : 'preview', { step, of }, [step, of, state.text, waits], PAUSE);
  if (state.mistakes.length) return html`<p class="hint">Mend the mistakes of the plan first.</p>`;
  if (state.job) return html`<p class="hint">Something is under way; the preview comes when it has ended.</p>`;
  if (!seen) return html`<p class="hint" role="status">Counting …</p>`;
  if (seen.refused) return html`<p class="mistakes">${seen.refused}</p>`;
  if (seen.persons) return html`<${Persons} of=${seen} />`;
  return html`<div aria-live="polite">${of && html`<p class="hint">On this table alone, before what is done to whole persons.</p>`}
    ${seen.records < seen.of && html`<p class="hint">Counted on ${number(seen.records)} of ${number(seen.of)} records, drawn at random${seen.short ? ', with a short search' : ''}; Run takes all.</p>`}
    ${seen.left < seen.records && html`<p class="note">${plural(seen.records - seen.left, 'record')} would be left out.</p>`}
    ${seen.below[2] && html`<p>Alone by what others may know: <strong>${number(seen.below[2][0])}</strong> before, <strong>${number(seen.below[2][1])}</strong> after; with fewer than 4 others ${number(seen.below[5][0])} before, ${number(seen.below[5][1])} after.</p>`}
    ${seen.columns.length === 0 && html`<p>It changes no column.</p>`}
    ${seen.columns.map((c) => html`<${Column} key=${c.name} of=${c} />`)}</div>`;
}

function Persons({ of }) {
  return html`<div aria-live="polite">${of.persons < of.of && html`<p class="hint">Tried on ${number(of.persons)} of ${number(of.of)} persons with all of their rows, drawn at random; Run takes all.</p>`}
    <p>Persons alone by all of their rows: <strong>${percent(of.unique[0] ?? 0)}</strong> before, <strong>${percent(of.unique[1] ?? 0)}</strong> after.${of.kept !== null && html` Information kept, over the columns of all tables: <strong>${percent(of.kept)}</strong>.`}</p></div>`;
}

function Column({ of }) {
  const few = of.distinct[1] <= 60;
  return html`<section class="changed"><h4>${of.name}</h4>
    <p class="hint">${plural(of.changed, 'cell')} changed · values ${number(of.distinct[0])} → ${number(of.distinct[1])} · missing ${number(of.missing[0])} → ${number(of.missing[1])}</p>
    ${of.picture && html`<div class="spreads"><${Spread} of=${of.picture} labels=${of.labels} name=${of.name} /></div>`}
    ${few && html`<div class="wide" tabindex="0" role="region" aria-label=${`Values of ${of.name}`}><table><thead><tr><th scope="col">value</th><th scope="col">records before</th><th scope="col">after</th></tr></thead>
      <tbody>${of.values.map(([value, before, after]) => html`<tr key=${value}><th scope="row">${value}${of.labels[value] && html` <span class="hint">${of.labels[value]}</span>`}</th><td>${number(before)}</td><td>${number(after)}</td></tr>`)}</tbody></table></div>`}
    ${few && of.further > 0 && html`<p class="hint">and ${plural(of.further, 'value')} more</p>`}</section>`;
}
