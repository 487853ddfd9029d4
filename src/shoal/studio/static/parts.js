// Small parts that all screens are made of.
import { useEffect, useState } from './vendor/preact-hooks.js';
import htm from './vendor/htm.js';
import { ask, say } from './state.js';
import { element } from './terms.js';

export const html = htm.bind(element);

const rounded = (value, digits) => (Number.isInteger(value) ? value : Number(value.toPrecision(digits)));

export const number = (value, digits = 4) =>
  typeof value !== 'number' ? '–' : Number.isInteger(value) || Math.abs(value) >= 1000 ? rounded(value, digits).toLocaleString('en') : String(rounded(value, digits));

export const percent = (share, digits = 3) => `${Number((100 * share).toPrecision(digits))} %`;

// A step between ticks that is easily read: 1, 2 or 5 times a power of ten, and the ticks that lie within.
export function ticks(low, high, most = 5) {
  const rough = (high - low || 1) / most, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((n) => n * power >= rough) * power;
  const first = Math.ceil(low / step), last = Math.floor(high / step);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(10)));
}

export const plural = (n, noun) => `${number(n)} ${noun}${n === 1 ? '' : 's'}`;

let ids = 0;
export function useId(prefix) {
  const [id] = useState(() => `${prefix}-${(ids += 1)}`);
  return id;
}

// A field whose value changes when it is left; news of a run that arrive meanwhile do not take away what is typed.
export function Typed({ value, onChange, ...more }) {
  const [draft, type] = useState(null);
  const done = (e) => {
    onChange(e);
    type(null);
  };
  return html`<input ...${more} value=${draft ?? value} onInput=${(e) => type(e.target.value)} onChange=${done} onBlur=${() => type(null)} />`;
}

// What a question is answered with; asked again when one of `on` changes. No question without a name.
export function useAnswer(name, given, on, wait = 0) {
  const [answer, set] = useState(null);
  useEffect(() => {
    if (name === null) return undefined;
    let old = false;
    const timer = setTimeout(() => {
      ask(name, given).then((a) => old || set(a)).catch((refusal) => old || set({ refused: refusal.message }));
    }, wait);
    return () => {
      old = true;
      clearTimeout(timer);
    };
  }, on);
  return answer;
}

export function Mistakes({ of }) {
  if (!of.length) return null;
  return html`<ul class="mistakes">${of.map((m) => html`<li>${m.sentence}</li>`)}</ul>`;
}

// A paragraph, and more of it on demand.
export function Help({ first, rest, source }) {
  return html`<div class="help"><p>${first}</p>
    ${(rest || source) && html`<details><summary>More about it</summary>
      ${(rest ?? '').split('\n\n').filter(Boolean).map((p) => html`<p>${p}</p>`)}
      ${source && html`<p class="hint">Source: ${source}</p>`}</details>`}</div>`;
}

// A part of a whole as a bar; the figure stands beside it as text.
export function Bar({ share, kind = 'after' }) {
  const width = Math.max(0, Math.min(1, share || 0)) * 100;
  return html`<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    <rect width="100" height="8" class="trough" /><rect width=${width} height="8" class=${kind} /></svg>`;
}

// Rows of the table or of a release, page by page.
export function Rows({ run = null, version }) {
  const [where, go] = useState({ offset: 0, by: null, descending: false });
  const page = useAnswer('rows', { run, ...where }, [run, version, where.offset, where.by, where.descending]);
  if (!page) return html`<p class="hint">Reading rows …</p>`;
  if (page.refused) return html`<p class="mistakes">${page.refused}</p>`;
  const sort = (name) => go({ offset: 0, by: name, descending: where.by === name && !where.descending });
  const last = Math.min(page.of, page.offset + page.rows.length);
  return html`<div class="pager">
      <button onClick=${() => go({ ...where, offset: Math.max(0, where.offset - 50) })} disabled=${where.offset === 0}>Earlier rows</button>
      <span>${number(page.offset + 1)} to ${number(last)} of ${number(page.of)}</span>
      <button onClick=${() => go({ ...where, offset: where.offset + 50 })} disabled=${last >= page.of}>Later rows</button>
    </div>
    <div class="wide" tabindex="0" role="region" aria-label="Rows"><table class="rows">
      <thead><tr><th scope="col">row</th>${page.columns.map((name) => html`<th scope="col"
        aria-sort=${where.by === name ? (where.descending ? 'descending' : 'ascending') : 'none'}>
        <button class="plain" onClick=${() => sort(name)}>${name}${where.by === name ? (where.descending ? ' ↓' : ' ↑') : ''}</button></th>`)}</tr></thead>
      <tbody>${page.rows.map((row, i) => html`<tr key=${i}><th scope="row">${page.numbers[i]}</th>
        ${row.map((cell, c) => html`<td>${cell ?? html`<span class="hint">missing</span>`}${page.labels[page.columns[c]]?.[cell] && html` <span class="hint">${page.labels[page.columns[c]][cell]}</span>`}</td>`)}</tr>`)}</tbody>
    </table></div>`;
}

// Released records beside those that they were made of, class by class.
export function Pairs({ run }) {
  const [offset, go] = useState(0);
  const page = useAnswer('pairs', { run, offset }, [run, offset]);
  if (!page) return html`<p class="hint">Reading rows …</p>`;
  if (page.refused) return html`<p class="empty">${page.refused}</p>`;
  const last = Math.min(page.of, page.offset + page.rows.length);
  const shown = (cell) => cell ?? html`<span class="hint">missing</span>`;
  return html`<p class="hint">Private: rows of the original. The smallest classes come first; what changed stands above what it became. What others may know: ${page.keys.join(', ')}.</p><div class="pager">
      <button onClick=${() => go(Math.max(0, offset - 50))} disabled=${offset === 0}>Earlier pairs</button><span>${number(page.offset + 1)} to ${number(last)} of ${number(page.of)}</span><button onClick=${() => go(offset + 50)} disabled=${last >= page.of}>Later pairs</button></div>
    <div class="wide tall" tabindex="0" role="region" aria-label="Original and released rows"><table class="rows pairs"><thead><tr><th scope="col">row</th><th scope="col">alike</th>${page.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${page.rows.map((r, i) => html`<tr key=${i} class=${i > 0 && page.rows[i - 1].class !== r.class ? 'new-class' : ''}><th scope="row">${number(r.row)}</th><td>${number(r.size)}</td>
        ${r.cells.map(([before, after]) => html`<td>${before === after ? shown(after) : html`<del><span class="unseen">was </span>${shown(before)}</del><ins>${shown(after)}</ins>`}</td>`)}</tr>`)}</tbody></table></div>`;
}

// A choice among the runs that there are.
export function RunChoice({ runs, value, set }) {
  const id = useId('run');
  return html`<div class="field inline"><label for=${id}>Run</label><select id=${id} value=${value} onChange=${(e) => set(Number(e.target.value))}>
    ${runs.map((r) => html`<option value=${r.number}>${r.number}: ${r.released ? 'proved' : 'refused'}${r.current ? ', the present plan' : ''}</option>`)}
  </select></div>`;
}

export async function document_of(what, run, save) {
  try {
    const made = await ask('document', { what, run });
    save(made.name, made.text);
  } catch (refusal) {
    say(refusal.message);
  }
}
