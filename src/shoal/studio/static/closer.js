// A column looked at closely: its picture, its figures and its values, alone or with another column.
import { useEffect, useRef, useState } from './vendor/preact-hooks.js';
import { html, number, percent, plural, ticks, useAnswer, useId } from './parts.js';
import { Spread, shownAs } from './spread.js';

const FIGURES = [['least', 'least'], ['first quarter', 'quartiles', 0], ['median', 'quartiles', 1], ['third quarter', 'quartiles', 2], ['greatest', 'greatest'], ['mean', 'mean'], ['standard deviation', 'deviation'], ['missing', 'missing'], ['records', 'records']];
const figure = (of, key, place) => (place === undefined ? of[key] : of[key]?.[place]);
const written = (v) => (typeof v === 'number' ? number(v) : v);

export function Closer({ name, run = null, picture, columns, onClose }) {
  const place = useRef(null);
  const [other, set] = useState('');
  const column = useAnswer('column', { name, run }, [name, run]);
  const id = useId('with');
  useEffect(() => {
    place.current.showModal();
  }, []);
  const ready = column && !column.refused;
  return html`<dialog ref=${place} class="closer" onClose=${onClose} aria-label=${`${name}, looked at closely`}>
    <header><h2>${name}${ready && column.label && html` <span class="hint">${column.label}</span>`}</h2><button onClick=${() => place.current.close()}>Close</button></header>
    <p class="hint">${run === null ? 'The table as it is.' : html`<span class="key before"></span> original <span class="key after"></span> released <span class="key hatched"></span> from labels of several values, spread evenly over them`}</p>
    <div class="field inline"><label for=${id}>Together with</label><select id=${id} value=${other} onChange=${(e) => set(e.target.value)}><option value="">no other column</option>${columns.filter((c) => c !== name).map((c) => html`<option value=${c}>${c}</option>`)}</select></div>
    ${column?.refused && html`<p class="mistakes">${column.refused}</p>`}
    ${other ? html`<${Together} names=${[name, other]} run=${run} />` : html`${picture && html`<${Spread} of=${picture} labels=${Object.fromEntries((column?.values ?? []).map(([v, label]) => [v, label]))} name=${name} wide />`}
      ${ready ? html`<div class="two"><${Figures} of=${column.summaries} /><${Values} of=${column} both=${run !== null} /></div>` : !column && html`<p class="hint">Counting …</p>`}`}
  </dialog>`;
}

function Figures({ of }) {
  const rows = FIGURES.filter(([, key, place]) => of.some((one) => figure(one, key, place) !== undefined));
  return html`<table class="dense"><thead><tr><th scope="col">figure</th><th scope="col">${of.length > 1 ? 'original' : 'table'}</th>${of.length > 1 && html`<th scope="col">released</th>`}</tr></thead>
    <tbody>${rows.map(([title, key, place]) => html`<tr><th scope="row">${title}</th>${of.map((one) => html`<td>${written(figure(one, key, place) ?? '–')}</td>`)}</tr>`)}</tbody></table>`;
}

function Values({ of, both }) {
  const labelled = of.values.some(([, label]) => label);
  return html`<div class="wide tall" tabindex="0" role="region" aria-label=${`Values of ${of.name}`}><table class="dense"><thead><tr><th scope="col">value</th>${labelled && html`<th scope="col">meaning</th>`}<th scope="col">${both ? 'original' : 'records'}</th>${both && html`<th scope="col">released</th>`}</tr></thead>
    <tbody>${of.values.map(([value, label, before, after]) => html`<tr key=${value}><th scope="row">${value}</th>${labelled && html`<td>${label}</td>`}<td>${number(before)}</td>${both && html`<td>${number(after)}</td>`}</tr>`)}</tbody></table>
    ${of.further > 0 && html`<p class="hint">and ${plural(of.further, 'value')} more</p>`}</div>`;
}

const WAYS = { cross: 'Shares', boxes: 'Boxes by group', points: 'Points' };

function Together({ names, run }) {
  const [way, choose] = useState('');
  const seen = useAnswer('together', { names, run }, [names.join('\n'), run]);
  if (!seen) return html`<p class="hint">Counting …</p>`;
  if (seen.refused) return html`<p class="mistakes">${seen.refused}</p>`;
  const ways = ['boxes', 'points', 'cross'].filter((one) => one === 'cross' || seen[one]);
  const shown = ways.includes(way) ? way : ways[0];
  const tables = run === null ? ['The table'] : ['Original', 'Released'];
  const Drawn = { cross: Heat, boxes: Boxes, points: Points }[shown];
  return html`${ways.length > 1 && html`<div class="chips" role="group" aria-label="Shown as">${ways.map((one) => html`<button aria-pressed=${one === shown} onClick=${() => choose(one)}>${WAYS[one]}</button>`)}</div>`}
    ${seen.records < seen.of && html`<p class="hint">Counted on ${number(seen.records)} of ${number(seen.of)} records, drawn at random.</p>`}
    <div class="pair">${tables.map((title, i) => html`<figure><figcaption>${title}</figcaption><${Drawn} ...${{ seen, names, i, title }} /></figure>`)}</div>
    <details><summary>Cross table in figures</summary><div class="wide" tabindex="0" role="region" aria-label="Cross table"><table class="dense"><thead><tr><th scope="col">${names[0]} \\ ${names[1]}</th>${seen.axes[1].cells.map((c, b) => html`<th scope="col">${cell(seen.axes[1], b)}</th>`)}</tr></thead>
      <tbody>${seen.axes[0].cells.map((_, a) => html`<tr><th scope="row">${cell(seen.axes[0], a)}</th>${seen.axes[1].cells.map((__, b) => html`<td>${percent(seen.shares[0][a][b])}${run === null ? '' : ` → ${percent(seen.shares[1][a][b])}`}</td>`)}</tr>`)}</tbody></table></div></details>`;
}

const cell = (axis, i) => {
  if (axis.edges) return shownAs(axis.temporal ? 'temporal' : '')(axis.edges[i]) + (axis.temporal ? '' : ` to ${number(axis.edges[i + 1])}`);
  return axis.labels[i] ? `${axis.cells[i]} ${axis.labels[i]}` : axis.cells[i];
};
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
const W = 400, LEFT = 104;

function Heat({ seen, names, i, title }) {
  const [rows, columns] = seen.axes, table = seen.shares[i];
  const single = (axis, at) => axis.edges || !/^\d+ others$/.test(axis.cells[at]); // what stands for others would outshine all
  const most = Math.max(...seen.shares.flatMap((t) => t.flatMap((row, a) => row.filter((_, b) => single(rows, a) && single(columns, b))))) || 1;
  const wide = (W - LEFT - 4) / columns.cells.length, H = rows.cells.length * 24 + 92;
  return html`<svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`${title}: shares of the records by ${names[0]} and ${names[1]}`}>
    ${rows.cells.map((_, a) => html`<g><text x=${LEFT - 6} y=${a * 24 + 16} text-anchor="end">${cut(cell(rows, a), 16)}</text>
      ${columns.cells.map((__, b) => html`<g class="bar-row"><title>${`${cell(rows, a)}, ${cell(columns, b)}: ${percent(table[a][b])}`}</title>
        <rect x=${LEFT + b * wide} y=${a * 24} width=${wide - 1} height="23" class="trough" /><rect x=${LEFT + b * wide} y=${a * 24} width=${wide - 1} height="23" class="after" fill-opacity=${Math.min(1, table[a][b] / most) ** 0.7} /></g>`)}</g>`)}
    ${columns.cells.map((_, b) => html`<text transform=${`translate(${LEFT + b * wide + wide / 2 + 4} ${rows.cells.length * 24 + 6}) rotate(-40)`} text-anchor="end" dy="6">${cut(cell(columns, b), 14)}</text>`)}</svg>`;
}

// The scale of the numbers is that of both tables, so that they can be compared.
function scaleOf(values) {
  const low = Math.min(...values), high = Math.max(...values);
  return [low, high, (v, from, to) => from + ((to - from) * (v - low)) / (high - low || 1)];
}

function Boxes({ seen, names, i, title }) {
  const { of, tables } = seen.boxes, groups = seen.axes[1 - of], temporal = seen.axes[of].temporal;
  const [low, high, at] = scaleOf(tables.flat().filter(Boolean).flat());
  const H = groups.cells.length * 24 + 26, x = (v) => at(v, LEFT, W - 8);
  return html`<svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`${title}: ${names[of]} by ${names[1 - of]}`}>
    ${ticks(low, high, 6).map((v) => html`<g><line x1=${x(v)} x2=${x(v)} y1="0" y2=${H - 20} class="grid" /><text x=${x(v)} y=${H - 6} text-anchor="middle">${shownAs(temporal ? 'temporal' : '')(v)}</text></g>`)}
    ${groups.cells.map((_, g) => {
      const box = tables[i][g], y = g * 24 + 3;
      return html`<g class="bar-row"><title>${box ? `${cell(groups, g)}: ${box.map(shownAs(temporal ? 'temporal' : '')).join(' · ')}` : `${cell(groups, g)}: no record`}</title><text x=${LEFT - 6} y=${y + 12} text-anchor="end">${cut(cell(groups, g), 16)}</text>
        ${box && html`<line x1=${x(box[0])} x2=${x(box[4])} y1=${y + 8} y2=${y + 8} class="axis-line" /><rect x=${x(box[1])} y=${y} width=${Math.max(1, x(box[3]) - x(box[1]))} height="16" class="after" fill-opacity=".75" /><line x1=${x(box[2])} x2=${x(box[2])} y1=${y} y2=${y + 16} class="middle" />`}</g>`;
    })}</svg>`;
}

function Points({ seen, names, i, title }) {
  const every = seen.points.flat(), H = 300;
  const [low, high, at] = scaleOf(every.map((p) => p[0])), [low2, high2, at2] = scaleOf(every.map((p) => p[1]));
  const x = (v) => at(v, 56, W - 8), y = (v) => at2(v, H - 38, 8);
  return html`<svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`${title}: ${names[0]} against ${names[1]}, ${plural(seen.points[i].length, 'record')}`}>
    ${ticks(low, high, 4).map((v) => html`<g><line x1=${x(v)} x2=${x(v)} y1="8" y2=${H - 38} class="grid" /><text x=${x(v)} y=${H - 24} text-anchor="middle">${shownAs(seen.axes[0].temporal ? 'temporal' : '')(v)}</text></g>`)}
    ${ticks(low2, high2, 4).map((v) => html`<g><line x1="56" x2=${W - 8} y1=${y(v)} y2=${y(v)} class="grid" /><text x="52" y=${y(v) + 4} text-anchor="end">${shownAs(seen.axes[1].temporal ? 'temporal' : '')(v)}</text></g>`)}
    <text x=${W / 2} y=${H - 6} text-anchor="middle">${cut(names[0], 40)}</text><text transform=${`translate(10 ${H / 2 - 20}) rotate(-90)`} text-anchor="middle">${cut(names[1], 30)}</text>
    ${seen.points[i].map(([a, b]) => html`<circle cx=${x(a)} cy=${y(b)} r="2.6" class="after" fill-opacity=".5" />`)}</svg>`;
}
