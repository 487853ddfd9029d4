// The lattice of a generalisation: every combination of levels as a cell of a map, coloured by what it loses or leaves at risk.
import { useState } from './vendor/preact-hooks.js';
import { Preview } from './preview.js';
import { html, number, percent, plural, useAnswer } from './parts.js';
import { putAll, useStore } from './state.js';

const BY = { loss: 'loss', average: 'average risk', small: 'records left out' };
const keyOf = (levels) => levels.join();
const sum = (levels) => levels.reduce((a, b) => a + b, 0);

// The steps of a plan that generalise.
export const climbing = (tree) => (tree.steps ?? []).map((s, i) => [s, i]).filter(([s]) => s?.mask === 'generalise').map(([, i]) => i);

export function Lattice({ step }) {
  const { state } = useStore();
  const [around, centre] = useState(null);
  const [by, colour] = useState('loss');
  const [chosen, choose] = useState(null);
  const waits = state.mistakes.length > 0 || state.job !== null;
  const seen = useAnswer(waits ? null : 'lattice', { step, around }, [step, state.text, waits, around && keyOf(around)]);
  if (waits && !seen) return html`<p class="hint">${state.job ? 'Something is under way; the map comes when it has ended.' : 'Mend the mistakes of the plan first.'}</p>`;
  if (!seen) return html`<p class="hint" role="status">Counting the levels …</p>`;
  if (seen.refused) return html`<p class="mistakes">${seen.refused}</p>`;
  const at = (levels) => levels && seen.nodes.find((n) => keyOf(n.levels) === keyOf(levels));
  const node = at(chosen) ?? at(seen.taken) ?? at(around) ?? seen.nodes[0];
  const most = Math.floor(seen.suppression * seen['of records'] * (1 + 1e-12));
  const allowed = (n) => n.small <= most;
  const go = (levels) => {
    choose(levels);
    if (!at(levels)) centre(levels);
  };
  return html`<p class="hint">${plural(seen.of, 'node')}${seen.nodes.length < seen.of ? `, of which the ${number(seen.nodes.length)} nearest to ${around ? 'the chosen one' : 'the present one'} are drawn; go on from any of them` : ''}. Each row has one more level in all than the row below it.${seen.records < seen['of records'] ? ` Counted on ${number(seen.records)} of ${number(seen['of records'])} records, drawn at random.` : ''}</p>
    ${seen.refusal && html`<p class="mistakes">${seen.refusal}</p>`}
    <div class="chips" role="group" aria-label="Coloured by">${Object.entries(BY).map(([key, words]) => html`<button aria-pressed=${by === key} onClick=${() => colour(key)}>${words}</button>`)}</div>
    <div class="lattice-and-node"><${Map} ...${{ seen, by, node, allowed, choose: go }} />
      <${Chosen} ...${{ seen, node, allowed, step, go, most }} /></div>`;
}

function Map({ seen, by, node, allowed, choose }) {
  const rows = [...new Set(seen.nodes.map((n) => sum(n.levels)))].sort((a, b) => b - a);
  const layers = rows.map((r) => seen.nodes.filter((n) => sum(n.levels) === r));
  const widest = Math.max(...layers.map((l) => l.length));
  const W = 640, wide = Math.min(90, (W - 8) / widest), ROW = wide > 40 ? 40 : 26, H = layers.length * ROW + 4;
  const values = seen.nodes.map((n) => n[by]), low = Math.min(...values), high = Math.max(...values);
  const place = new globalThis.Map();
  layers.forEach((layer, r) => layer.forEach((n, i) => place.set(keyOf(n.levels), [W / 2 + (i - layer.length / 2) * wide, r * ROW + 2])));
  const near = (n) => n.levels.flatMap((_, j) => [1, -1].map((d) => n.levels.map((v, i) => (i === j ? v + d : v)))).filter((l) => place.has(keyOf(l)));
  const centre = (levels) => place.get(keyOf(levels)).map((v, i) => v + (i ? (ROW - 6) / 2 : (wide - 4) / 2));
  const title = (n) => `${seen.columns.map((c, j) => `${c.name} ${n.levels[j]}`).join(', ')}: loss ${percent(n.loss)}, average risk ${percent(n.average)}, ${plural(n.small, 'record')} left out`;
  return html`<figure><svg class="lattice" viewBox=${`0 0 ${W} ${H}`} role="img" aria-label=${`The lattice by ${BY[by]}, from ${by === 'small' ? number(low) : percent(low)} to ${by === 'small' ? number(high) : percent(high)}`}>
    ${near(node).map((l) => html`<line x1=${centre(node.levels)[0]} y1=${centre(node.levels)[1]} x2=${centre(l)[0]} y2=${centre(l)[1]} class="edge" />`)}
    ${seen.nodes.map((n) => {
      const [x, y] = place.get(keyOf(n.levels)), same = (l) => l && keyOf(l) === keyOf(n.levels);
      return html`<g key=${keyOf(n.levels)} class="cell-of" onClick=${() => choose(n.levels)}><title>${title(n)}</title>
        <rect x=${x} y=${y} width=${wide - 4} height=${ROW - 6} rx="3" class="trough" /><rect x=${x} y=${y} width=${wide - 4} height=${ROW - 6} rx="3" class=${by === 'loss' ? 'after' : 'before-filled'} fill-opacity=${0.06 + 0.8 * (high > low ? (n[by] - low) / (high - low) : 0)} />
        <rect x=${x} y=${y} width=${wide - 4} height=${ROW - 6} rx="3" class=${`rim ${allowed(n) ? 'allowed' : 'barred'} ${same(seen.taken) ? 'taken' : ''} ${same(node.levels) ? 'chosen' : ''}`} />
        ${wide > 40 && html`<text x=${x + (wide - 4) / 2} y=${y + ROW / 2 + 1} text-anchor="middle">${n.levels.join(' ')}</text>`}</g>`;
    })}</svg>
    <figcaption>${seen.columns.map((c) => c.name).join(', ')} · faint is least, strong is most · dashed: leaves out more records than the step allows · thick: what the step takes now</figcaption></figure>`;
}

function Chosen({ seen, node, allowed, step, go, most }) {
  const { state } = useStore();
  const here = state.tree.steps?.[step] ?? {};
  const taken = seen.taken && keyOf(seen.taken) === keyOf(node.levels);
  const take = () => {
    const levels = Object.fromEntries(seen.columns.map((c, j) => [c.name, [node.levels[j], node.levels[j]]]));
    const changes = [{ place: ['steps', step, 'levels'], value: levels }];
    if (here.recoding === 'local') changes.push({ place: ['steps', step, 'recoding'], value: null });
    if (!allowed(node)) changes.push({ place: ['steps', step, 'suppression'], value: Math.ceil((1e4 * node.small) / seen.records) / 1e4 });
    return putAll(changes, `levels ${node.levels.join(' ')}`);
  };
  return html`<section class="card" aria-live="polite"><h3>Node ${node.levels.join(' ')}</h3>
    <table class="dense"><tbody>${seen.columns.map((c, j) => html`<tr><th scope="row">${c.name}</th><td>level ${node.levels[j]} of ${c.labels.length - 1}, ${plural(c.labels[node.levels[j]], 'label')}</td>
      <td class="steppers">${[[-1, '−', 'finer'], [1, '+', 'coarser']].map(([d, sign, word]) => html`<button aria-label=${`${c.name} ${word}`} aria-disabled=${!c.labels[node.levels[j] + d]} onClick=${() => c.labels[node.levels[j] + d] && go(node.levels.map((v, i) => (i === j ? v + d : v)))}>${sign}</button>`)}</td></tr>`)}</tbody></table>
    <dl class="figures"><dt>loss (${seen.measure})</dt><dd>${percent(node.loss)}</dd><dt>risk: average, highest</dt><dd>${percent(node.average)}, ${percent(node.highest)}</dd>
      <dt>smallest class, of those left</dt><dd>${number(node.smallest)}</dd><dt>left out, in classes below ${seen.k}</dt><dd>${number(node.small)}${allowed(node) ? '' : ` (the step allows ${number(most)})`}</dd></dl>
    ${taken ? html`<p class="hint">The step takes this node.</p>` : html`<button class="strong" onClick=${take}>${allowed(node) ? 'Take this node' : `Take it, leaving out ${percent(node.small / seen.records, 2)}`}</button>`}
    ${here.levels && html` <button onClick=${() => putAll([{ place: ['steps', step, 'levels'], value: null }], 'levels: the best')}>Let the step choose again</button>`}
    ${taken && html`<${Preview} step=${step} />`}</section>`;
}
