// Charts: shares in bins, and the frontier; drawn as SVG so that they need no style of their own and can be reached by keys.
import { html, number, percent, ticks } from './parts.js';

const day = (ms) => new Date(ms).toISOString().slice(0, 10);

// How records spread over a column, small, beside its name.
export function Thumb({ of, name, labels = {} }) {
  if (!of) return html`<span class="hint"></span>`;
  const nominal = of.scale === 'nominal';
  const most = Math.max(...of.bins.map((b) => b.share)) || 1;
  const names = nominal ? [...new Set(of.bins.map((b) => b.category))] : [];
  const low = nominal ? 0 : Math.min(...of.bins.map((b) => b.low));
  const high = nominal ? names.length : Math.max(...of.bins.map((b) => b.high));
  const x = (value) => (100 * (value - low)) / (high - low || 1);
  const ends = (b) => (nominal ? [names.indexOf(b.category), names.indexOf(b.category) + 1] : [b.low, b.high]);
  const called = (value) => (Object.hasOwn(labels, value) ? `${value} ${labels[value]}` : value);
  const text = nominal ? `the most frequent value ${called(of.bins.find((b) => b.share === most)?.category ?? '')} ${percent(most)}`
    : `from ${of.scale === 'temporal' ? day(low) : number(low)} to ${of.scale === 'temporal' ? day(high) : number(high)}`;
  return html`<svg class="thumb" viewBox="0 0 100 40" preserveAspectRatio="none" role="img" aria-label=${`${name}: ${text}`}>${of.bins.map((b) => {
    const [from, to] = ends(b).map(x), height = (40 * b.share) / most;
    return html`<rect x=${from + 0.4} y=${40 - height} width=${Math.max(0.8, to - from - 0.8)} height=${height} class="after"><title>${`${nominal ? called(b.category) : of.scale === 'temporal' ? `${day(b.low)} to ${day(b.high)}` : `${number(b.low)} to ${number(b.high)}`}: ${percent(b.share)}`}</title></rect>`;
  })}</svg>`;
}

const W = 640, H = 390, LEFT = 56, BOTTOM = 48, TOP = 36;

// Beside each of some marks its name, where it covers no mark and no name before it, nor the line if there is such a place.
const BESIDE = [[15, 4], [-15, 4], [15, 19], [-15, 19], [15, -11], [-15, -11], [15, 32], [-15, 32], [15, -24], [-15, -24]];
const LETTER = 7.2, LINE = 13, MARK = 11, STEP = 6;
function named(marks, line) {
  const taken = marks.map(({ x, y }) => [x - MARK, x + MARK, y - MARK, y + MARK]);
  const along = line.slice(1).flatMap((to, i) => {
    const from = line[i], steps = Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / STEP);
    return Array.from({ length: steps }, (_, k) => [from.x + ((to.x - from.x) * k) / steps, from.y + ((to.y - from.y) * k) / steps]);
  }).map(([x, y]) => [x - 1, x + 1, y - 1, y + 1]);
  const names = new Map();
  for (const { name, x, y } of marks.filter((mark) => mark.name)) {
    const places = BESIDE.map(([dx, dy]) => {
      const long = name.length * LETTER, from = dx > 0 ? x + dx : x + dx - long;
      return { dx, dy, box: [from, from + long, y + dy - LINE + 2, y + dy + 2] };
    }).filter(({ box }) => box[0] >= LEFT && box[1] <= W && box[2] >= TOP - LINE && box[3] <= H - BOTTOM);
    const free = (of) => ({ box }) => of.every((t) => box[1] < t[0] || box[0] > t[1] || box[3] < t[2] || box[2] > t[3]);
    const place = places.find(free([...taken, ...along])) ?? places.find(free(taken)) ?? places[0];
    if (!place) continue;
    taken.push(place.box);
    names.set(name, place);
  }
  return names;
}

// Risk against loss of every candidate, by number. The same points stand in the table beside it, with buttons.
export function FrontierChart({ frontier, titles, wide, onTake }) {
  const every = frontier.points.filter((p) => p.risk !== null && p.utility !== null);
  const near = every.filter((p) => p.holds);
  const points = wide || !near.length ? every : near;
  const bare = wide && frontier.unprotected?.risk !== null && frontier.unprotected?.utility !== null ? frontier.unprotected : null;
  if (!points.length) return html`<p>No candidate has both figures; the table says why.</p>`;
  const ends = (values) => {
    const low = Math.min(...values), high = Math.max(...values), margin = (high - low || Math.abs(high) || 1) * 0.09;
    return [low - margin, high + margin];
  };
  const drawn = bare ? [...points, bare] : points;
  const [x0, x1] = ends(drawn.map((p) => p.risk)), [y0, y1] = ends(drawn.map((p) => p.utility));
  const x = (v) => LEFT + ((W - LEFT - 16) * (v - x0)) / (x1 - x0);
  const y = (v) => H - BOTTOM - ((H - BOTTOM - TOP) * (v - y0)) / (y1 - y0);
  const on = frontier.pareto.map((name) => points.find((p) => p.name === name)).filter(Boolean);
  const kind = (p) => (p.name === frontier.recommended ? 'recommended' : frontier.pareto.includes(p.name) ? 'best' : p.holds ? 'beaten' : 'refused');
  const mark = (p) => ({ x: x(p.risk), y: y(p.utility), name: !wide && on.includes(p) ? p.name : '' });
  const names = named(points.map(mark), on.map(mark));
  return html`<svg class="frontier" viewBox=${`0 0 ${W} ${H}`} role="group" aria-label="Risk and loss of every candidate">
    ${ticks(x0, x1).map((v) => html`<g><line x1=${x(v)} x2=${x(v)} y1=${TOP} y2=${H - BOTTOM} class="grid" /><text x=${x(v)} y=${H - BOTTOM + 18} text-anchor="middle">${number(v)}</text></g>`)}
    ${ticks(y0, y1).map((v) => html`<g><line x1=${LEFT} x2=${W - 8} y1=${y(v)} y2=${y(v)} class="grid" /><text x=${LEFT - 8} y=${y(v) + 4} text-anchor="end">${number(v)}</text></g>`)}
    <text x=${W - 8} y=${H - 8} text-anchor="end" class="axis">Risk: ${titles.risk} →</text>
    <text x="0" y="16" class="axis">↑ ${titles.utility}</text>
    ${bare && html`<g><circle cx=${x(bare.risk)} cy=${y(bare.utility)} r="6" class="landmark" /><text x=${x(bare.risk) - 10} y=${y(bare.utility) + 4} text-anchor="end">unprotected</text></g>`}
    <polyline points=${on.map((p) => `${x(p.risk)},${y(p.utility)}`).join(' ')} class="front" />
    ${points.map((p) => html`<g key=${p.name} class="point" transform=${`translate(${x(p.risk)} ${y(p.utility)})`} onClick=${() => onTake(p.name)}>
      <title>${`${p.name}: risk ${number(p.risk)}, ${titles.utility} ${number(p.utility)}`}</title><circle r="14" class="reach" />
      ${kind(p) === 'refused' ? html`<path d="M-5,-5L5,5M-5,5L5,-5" class="refused" />` : html`<circle r=${kind(p) === 'recommended' ? 11 : 9} class=${kind(p)} />`}
      <text y=${kind(p) === 'refused' ? -8 : 4} text-anchor="middle" class=${`mark-number ${kind(p)}`}>${frontier.numbers[p.name]}</text>
      ${names.has(p.name) && html`<text x=${names.get(p.name).dx} y=${names.get(p.name).dy} text-anchor=${names.get(p.name).dx > 0 ? 'start' : 'end'} class="mark-name">${p.name}</text>`}</g>`)}
  </svg>`;
}
