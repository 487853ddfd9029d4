// Anything by its name, from the keyboard: screens, columns with their roles, and what the bars have buttons for.
import { useEffect, useLayoutEffect, useRef, useState } from './vendor/preact-hooks.js';
import { html, useId } from './parts.js';
import { act, lookAt, putAll, useTable } from './state.js';
import { change } from './columns.js';

const MOST = 12;
const matches = (text, words) => words.every((word) => text.toLowerCase().includes(word));

// All there is to do, as a text and what it does.
function entries({ state, facts, methods, screens, open, run, tour }) {
  const idle = state.job === null;
  const list = screens.map(([name, title]) => [`Go to ${title}`, () => toScreen(name, open)]);
  list.push(['Run the plan', () => idle && run()]);
  if (state.undo !== null) list.push([`Undo: ${state.undo}`, () => act('undo')]);
  if (state.redo !== null) list.push([`Redo: ${state.redo}`, () => act('redo')]);
  list.push(['Go to the text of the plan', toPlan], ['Take the tour of two minutes', tour]);
  for (const name of state.tables) list.push([`Table ${name}`, () => lookAt(name)]);
  for (const { name, label } of facts?.columns ?? []) {
    const called = label ? `${name}, ${label}` : name;
    list.push([`${called}: its row`, () => focusOn(name, open)]);
    for (const role of methods?.roles ?? []) list.push([`${called}: role ${role}`, () => putAll([change(state.tree, name, 'role', role)], `${name}: role ${role}`)]);
  }
  return list;
}

// A screen, with the focus at its beginning: what stands above it was passed already.
function toScreen(name, open) {
  open(name);
  document.querySelector('#screen')?.focus({ preventScroll: true });
}

// Its text, once the editor is loaded.
function toText(tries) {
  const text = document.querySelector('.cm-content');
  if (text) text.focus();
  else if (tries) setTimeout(() => toText(tries - 1), 50);
}

function toPlan() {
  const button = document.querySelector('.plan-button[aria-expanded=false]');
  button?.click();
  toText(40);
}

// Columns, with the focus on the role of one of them.
function focusOn(name, open) {
  open('columns');
  setTimeout(() => {
    const role = [...document.querySelectorAll('.column select')].find((s) => s.ariaLabel === `Role of ${name}`);
    role?.scrollIntoView({ block: 'center' });
    role?.focus();
  }, 50);
}

export function Palette({ screens, open, run, tour }) {
  const { state, facts, methods } = useTable();
  const dialog = useRef(null);
  const [shown, show] = useState(false);
  const [text, type] = useState('');
  const [at, move] = useState(0);
  const id = useId('palette');
  useEffect(() => {
    const pressed = (e) => {
      if (e.defaultPrevented || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return;
      if (e.key.toLowerCase() === 'k') {
        e.preventDefault();
        if (shown) dialog.current.close();
        else show(true);
      } else if (e.key === 'Enter') {
        e.preventDefault();
        run();
      }
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  });
  useLayoutEffect(() => { // before anything more is typed
    if (shown) {
      dialog.current.showModal();
    } else {
      type('');
      move(0);
    }
  }, [shown]);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const all = shown ? entries({ state, facts, methods, screens, open, run, tour }) : [];
  const begins = (entry) => (words.length && entry[0].toLowerCase().startsWith(words[0]) ? 0 : 1);
  const matching = all.filter(([name]) => matches(name, words)).sort((a, b) => begins(a) - begins(b)).slice(0, MOST);
  const choose = (entry) => {
    dialog.current.close();
    setTimeout(entry[1]); // once the dialog has given the focus back
  };
  const keys = (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    if (step) {
      e.preventDefault();
      move((at + step + matching.length) % Math.max(matching.length, 1));
    } else if (e.key === 'Enter' && !e.ctrlKey && !e.metaKey && matching[at]) {
      e.preventDefault();
      choose(matching[at]);
    }
  };
  return html`<button class="plain" onClick=${() => show(true)} aria-haspopup="dialog"><span>Find</span> <kbd>Ctrl K</kbd></button>
    ${shown && html`<dialog ref=${dialog} class="palette" aria-label="Find anything" onClose=${() => show(false)}><label for=${id}>Screens, columns and their roles, actions</label>
      <input id=${id} role="combobox" aria-expanded="true" aria-autocomplete="list" aria-controls=${`${id}-list`} aria-activedescendant=${matching[at] ? `${id}-${at}` : null} autocomplete="off" placeholder="as in: age conf" value=${text}
        onInput=${(e) => { type(e.target.value); move(0); }} onKeyDown=${keys} />
      <ul role="listbox" id=${`${id}-list`} aria-label="Found">${matching.map((entry, i) => html`<li role="option" id=${`${id}-${i}`} aria-selected=${i === at} onClick=${() => choose(entry)}>${entry[0]}</li>`)}</ul>
      ${!matching.length && html`<p class="empty">Nothing is called so.</p>`}
      <p class="hint"><kbd>↑</kbd> <kbd>↓</kbd> choose · <kbd>Enter</kbd> do it · <kbd>Esc</kbd> close · anywhere: <kbd>Ctrl K</kbd> find, <kbd>Ctrl Enter</kbd> run</p></dialog>`}`;
}
