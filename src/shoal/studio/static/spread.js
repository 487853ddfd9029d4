// How records spread over a column, with axes, names and figures: the original as an outline, the released table filled.
import { html, number, percent, ticks, useId } from './parts.js';

const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const plain = (v) => (Math.abs(v) < 10_000 ? number(v).replace(',', '') : number(v)); // 1984 may be a year
export const shownAs = (scale) => (scale === 'temporal' ? day : plain);

// A pattern for what stands for several values; each picture brings its own.
const Hatch = ({ id }) => html`<defs><pattern id=${id} width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" class="hatch-paper" /><rect width="2" height="5" class="after" /></pattern></defs>`;

const sides = (bins, of) => of(bins.find((b) => b.table === 'original') ?? null, bins.find((b) => b.table === 'released') ?? null);
const figures = (before, after) => [before && `original ${percent(before.share)}`, after && `released ${percent(after.share)}`,
  after?.coarse && `of these ${percent(after.coarse)} from labels of several values`].filter(Boolean).join(', ');

export function Spread({ of, labels = {}, name, wide = false }) {
  const id = useId('hatch');
  if (!of) return html`<p class="hint">no picture</p>`;
  const Drawn = of.scale === 'nominal' ? Bars : Histogram;
  return html`<${Drawn} ...${{ of, labels, name, id, wide }} />`;
}

const two = (share) => Number((100 * share).toPrecision(2));
function change(before, after) {
  if (!before || !after || two(before.share) === two(after.share)) return percent((after ?? before).share, 2);
  return `${two(before.share)} → ${two(after.share)} %`;
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function Bars({ of, labels, name, id, wide }) {
  const names = [...new Set(of.bins.map((b) => b.category))];
  const most = Math.max(...of.bins.map((b) => b.share)) || 1;
  const W = wide ? 640 : 300, LEFT = wide ? 220 : 116, ROW = 17, H = names.length * ROW + (of.further > 0 ? 20 : 4);
  const x = (share) => LEFT + ((W - LEFT - 70) * share) / most;
  return html`<svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`${name}: ${names.length} values, the most frequent ${percent(most)}`}><${Hatch} id=${id} />
    ${names.map((category, i) => sides(of.bins.filter((b) => b.category === category), (before, after) => {
      const label = labels[category] ? `${category} ${labels[category]}` : category, y = i * ROW + 2;
      return html`<g class="bar-row"><title>${`${label}: ${figures(before, after)}`}</title><rect x="0" y=${y - 1} width=${W} height=${ROW} class="reach" />
        <text x=${LEFT - 6} y=${y + 11} text-anchor="end">${cut(label, wide ? 34 : 17)}</text>
        ${after && html`<rect x=${LEFT} y=${y + 3} width=${Math.max(0.5, x(after.share) - LEFT)} height="9" class="after" />`}
        ${after?.coarse && html`<rect x=${x(after.share - after.coarse)} y=${y + 3} width=${x(after.share) - x(after.share - after.coarse)} height="9" fill=${`url(#${id})`} />`}
        ${before && html`<rect x=${LEFT} y=${y + 1} width=${Math.max(0.5, x(before.share) - LEFT)} height="13" class="before" />`}
        <text x=${Math.max(x(before?.share ?? 0), x(after?.share ?? 0)) + 4} y=${y + 11} class="figure">${change(before, after)}</text></g>`;
    }))}
    <line x1=${LEFT} x2=${LEFT} y1="0" y2=${names.length * ROW + 2} class="axis-line" />
    ${of.further > 0 && html`<text x=${LEFT - 6} y=${H - 4} text-anchor="end">and ${number(of.further)} more</text>`}</svg>`;
}

function Histogram({ of, name, id, wide }) {
  const low = Math.min(...of.bins.map((b) => b.low)), high = Math.max(...of.bins.map((b) => b.high));
  const most = Math.max(...of.bins.map((b) => b.share)) || 1;
  const W = wide ? 640 : 300, H = wide ? 240 : 130, LEFT = 40, BOTTOM = 20;
  const x = (v) => LEFT + ((W - LEFT - 10) * (v - low)) / (high - low || 1);
  const y = (share) => H - BOTTOM - ((H - BOTTOM - 8) * share) / most;
  const written = shownAs(of.scale);
  const at = ticks(low, high, wide ? 7 : 4).filter((v) => x(v) < W - 28 || of.scale !== 'temporal');
  const marks = of.scale === 'temporal' ? at.slice(0, wide ? 5 : 3) : at;
  const places = [...new Set(of.bins.map((b) => b.low))].map((from) => of.bins.filter((b) => b.low === from));
  return html`<svg class="spread" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`${name}: from ${written(low)} to ${written(high)}`}><${Hatch} id=${id} />
    ${ticks(0, most, 2).map((v) => html`<g><line x1=${LEFT} x2=${W - 10} y1=${y(v)} y2=${y(v)} class="grid" /><text x=${LEFT - 5} y=${y(v) + 4} text-anchor="end">${percent(v)}</text></g>`)}
    ${places.map((bins) => sides(bins, (before, after) => {
      const { low: from, high: to } = bins[0], left = x(from) + 0.5, width = Math.max(1, x(to) - x(from) - 1);
      return html`<g class="bar-row"><title>${`${written(from)} to ${written(to)}: ${figures(before, after)}`}</title><rect x=${left} y="4" width=${width} height=${H - BOTTOM - 4} class="reach" />
        ${after && html`<rect x=${left} y=${y(after.share)} width=${width} height=${H - BOTTOM - y(after.share)} class="after" />`}
        ${after?.coarse && html`<rect x=${left} y=${y(after.share)} width=${width} height=${y(after.share - after.coarse) - y(after.share)} fill=${`url(#${id})`} />`}
        ${before && html`<rect x=${left} y=${y(before.share)} width=${width} height=${H - BOTTOM - y(before.share)} class="before" />`}</g>`;
    }))}
    <line x1=${LEFT} x2=${W - 10} y1=${H - BOTTOM} y2=${H - BOTTOM} class="axis-line" />
    ${marks.map((v) => html`<text x=${x(v)} y=${H - 6} text-anchor="middle">${written(v)}</text>`)}</svg>`;
}

// What became of a column, in two numbers: 72 values, 1 left.
export function Became({ column }) {
  const { original, distinct } = column;
  if (!original || distinct === null) return null;
  return html`<span class=${`became ${distinct <= 1 && original.distinct > 1 ? 'gone' : ''}`}>${number(original.distinct)} ${original.distinct === 1 ? 'value' : 'values'} → ${number(distinct)}</span>`;
}
