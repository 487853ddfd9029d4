// A tour of two minutes: real controls one after another, with what to do there in a sentence. It may be left at any point.
import { useEffect, useRef } from './vendor/preact-hooks.js';
import { html, useId } from './parts.js';
import { act, say, store, useStore } from './state.js';

// Where (a selector, or several of which the first that is there counts), on which screen, and what to do; `done` says
// that the person did it, `does` does it for who presses Next.
const STOPS = [
  { on: 'columns', at: ['.exposure', '.links'], says: 'This is how exposed people are if nothing is done: so many are unique by what others may know of them.' },
  { on: 'columns', at: ["[aria-label='Role of diagnosis']", '.column select'], says: 'Every column has a role. Who outside knows a diagnosis? Make it confidential, and watch the figure above move.', done: (now, then) => now.at !== then.at },
  { at: ['nav [data-title=Steps]'], says: 'Open Steps, to see what will be done to the table.', done: (now) => now.screen === 'steps', does: ({ open }) => open('steps') },
  { on: 'steps', at: ['.cards .card input', '.section'], says: 'People are put into groups of at least k, and only their average leaves. A larger k is safer and coarser. Change it, or go on.', done: (now, then) => now.at !== then.at },
  { at: ['.top .strong'], says: 'Run carries the plan out, and proves on the finished table what it requires.', done: (now, then) => now.runs > then.runs, does: ({ run }) => run() },
  { on: 'result', at: ['.verdict'], says: 'The verdict says whether the table may leave, and what is left for you to decide.' },
  { on: 'result', at: ['.before-after', '.verdict'], says: 'Each column before and after. What was lost can be seen here, and closely where you press Look closer.' },
  { at: ['nav [data-title=Export]'], says: 'Open Export, to hand the table over.', done: (now) => now.screen === 'export', does: ({ open }) => open('export') },
  { on: 'export', at: ['#screen .card', '#screen'], says: 'Two folders are written: release/ may leave the building, private/ may not. That is all. Words with dots below them say what they mean, and Ctrl K finds everything.' },
];

const seen = (state, screen) => ({ screen, at: `${state.history.length} ${state.at}`, runs: state.runs.at(-1)?.number ?? 0 });

// Begin; from then on the tour is not shown again unless it is asked for.
export function beginTour() {
  store.tour = { stop: 0, then: null };
  if (!store.state.toured) act('tour');
  else say('');
}

function toStop(stop) {
  store.tour = stop < STOPS.length ? { stop, then: null } : null;
  say('');
  if (!store.tour) document.querySelector('#screen')?.focus({ preventScroll: true });
}

export function Tour({ screen, open, run }) {
  const { state, tour } = useStore();
  const card = useRef(null);
  const id = useId('tour');
  const { stop } = tour;
  const { on, at, says, done, does } = STOPS[stop];
  const target = () => at.map((one) => document.querySelector(one)).find(Boolean);
  useEffect(() => {
    store.tour.then = seen(state, screen);
    if (on && on !== screen) open(on);
    if (!card.current.contains(document.activeElement)) card.current.focus({ preventScroll: true });
    let pointed = null;
    const point = () => {
      const now = target();
      if (now === pointed) return;
      pointed?.removeAttribute('data-pointed');
      pointed = now;
      pointed?.setAttribute('data-pointed', '');
      pointed?.scrollIntoView({ block: 'center' });
    };
    point();
    const looking = setInterval(point, 200); // a screen may still be reading what it shows
    return () => {
      clearInterval(looking);
      pointed?.removeAttribute('data-pointed');
    };
  }, [stop]);
  useEffect(() => {
    if (tour.then && done?.(seen(state, screen), tour.then)) toStop(stop + 1);
  });
  useEffect(() => {
    const leave = (e) => e.key === 'Escape' && !document.querySelector('dialog[open]') && toStop(STOPS.length);
    addEventListener('keydown', leave);
    return () => removeEventListener('keydown', leave);
  }, []);
  const there = () => {
    const control = target();
    (control?.matches('button, input, select') ? control : control?.querySelector('button, input, select, summary'))?.focus();
  };
  const last = stop === STOPS.length - 1;
  return html`<aside class="tour" ref=${card} tabindex="-1" aria-labelledby=${id}><h2 id=${id}>Tour <span class="hint">${stop + 1} of ${STOPS.length}</span></h2><p role="status">${says}</p>
    <p class="buttons"><button class="strong" onClick=${() => (does ? does({ open, run }) : toStop(stop + 1))}>${last ? 'Done' : 'Next'}</button>${!last && html`<button onClick=${there}>Go there</button><button class="plain" onClick=${() => toStop(STOPS.length)}>Leave the tour <kbd>Esc</kbd></button>`}</p></aside>`;
}
