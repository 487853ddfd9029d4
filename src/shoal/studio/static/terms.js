// The glossary on every screen: a term in running text says what it means where it is pointed at or has the focus.
import { h } from './vendor/preact.js';
import { store } from './state.js';

const PROSE = ['p', 'dd']; // never headings, buttons or cells: names of columns stand there, and names of controls

let pattern = null;

// The expression of all terms, each a group of its own; none before the glossary is here.
function terms() {
  const all = store.methods?.terms;
  if (all && !pattern) pattern = new RegExp(`(?<![\\w-])(?:${all.map((t) => `(${t.spelled})`).join('|')})(?![\\w-])`, 'gi');
  return pattern;
}

// A text in which the terms are marked, each once.
export function marked(text) {
  if (typeof text !== 'string' || !terms()) return text;
  const parts = [], seen = new Set();
  let from = 0;
  for (const match of text.matchAll(pattern)) {
    const at = match.slice(1).findIndex((group) => group !== undefined);
    if (seen.has(at)) continue;
    seen.add(at);
    parts.push(text.slice(from, match.index), h('abbr', { class: 'term', 'data-term': at, tabindex: -1 }, match[0]));
    from = match.index + match[0].length;
  }
  return parts.length ? [...parts, text.slice(from)] : text;
}

// An element of which running text has its terms marked.
export const element = (type, props, ...children) => h(type, props, ...(PROSE.includes(type) ? children.map(marked) : children));

const bubble = document.createElement('div');
bubble.id = 'meaning';
bubble.setAttribute('role', 'tooltip');
bubble.hidden = true;
document.body.append(bubble);
let shown = null, leaving = 0;

function show(term) {
  clearTimeout(leaving);
  if (shown === term) return;
  hide();
  const { name, meaning } = store.methods.terms[term.dataset.term];
  term.closest('dialog, main, aside, header, body').append(bubble); // a dialog lies above all else
  bubble.replaceChildren(Object.assign(document.createElement('strong'), { textContent: name }), ` ${meaning}`);
  bubble.hidden = false;
  term.setAttribute('aria-describedby', bubble.id);
  shown = term;
  const of = term.getClientRects()[0] ?? term.getBoundingClientRect(), { width, height } = bubble.getBoundingClientRect();
  const below = of.bottom + height + 8 < innerHeight;
  bubble.style.left = `${Math.max(8, Math.min(of.left, innerWidth - width - 8))}px`;
  bubble.style.top = `${below ? of.bottom + 6 : of.top - height - 6}px`;
}

function hide() {
  clearTimeout(leaving);
  shown?.removeAttribute('aria-describedby');
  shown = null;
  bubble.hidden = true;
}

const termOf = (e) => e.target.closest?.('.term');

// The pointer may go from the term to its meaning; Esc, leaving both, and scrolling close it.
addEventListener('mouseover', (e) => {
  if (termOf(e)) show(termOf(e));
  else if (e.target.closest?.('#meaning')) clearTimeout(leaving);
  else if (shown && shown !== document.activeElement) {
    clearTimeout(leaving);
    leaving = setTimeout(hide, 200);
  }
});
addEventListener('focusin', (e) => (termOf(e) ? show(termOf(e)) : hide()));
addEventListener('focusout', (e) => termOf(e) === shown && hide());
addEventListener('scroll', hide, { capture: true, passive: true });
addEventListener('keydown', (e) => {
  if (e.key !== 'Escape' || !shown) return;
  e.preventDefault(); // a dialog around it stays open
  e.stopPropagation();
  hide();
}, true);

// Of each term the first that can be seen on the screen is reached by Tab, so that a page of text is no row of stops.
let waiting = false;
function stops() {
  waiting = false;
  const seen = new Set();
  for (const term of document.querySelectorAll('.term')) {
    const first = !seen.has(term.dataset.term) && !term.closest('.standing') && term.checkVisibility();
    if (first) seen.add(term.dataset.term);
    if (term.tabIndex !== (first ? 0 : -1)) term.tabIndex = first ? 0 : -1;
  }
  if (shown && !shown.isConnected) hide();
}
const soon = () => {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(stops);
};
new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
addEventListener('toggle', soon, true);
