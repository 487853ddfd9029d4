// The text of the plan, in CodeMirror; what is typed becomes the plan, and what forms change is shown here.
// It is loaded when the plan is first shown: three quarters of all scripts of the page are the editor's.
import { defaultKeymap } from './vendor/codemirror-commands.js';
import { yaml } from './vendor/codemirror-lang-yaml.js';
import { syntaxHighlighting } from './vendor/codemirror-language.js';
import { Annotation, StateEffect, StateField } from './vendor/codemirror-state.js';
import { Decoration, EditorView, drawSelection, keymap, lineNumbers } from './vendor/codemirror-view.js';
import { classHighlighter } from './vendor/lezer-highlight.js';
import { useEffect, useRef } from './vendor/preact-hooks.js';
import { html } from './parts.js';
import { act, isSending, useStore } from './state.js';

const PAUSE = 450; // milliseconds without a key, after which what was typed is sent
const fromServer = Annotation.define();

// Lines with a mistake are marked, with its sentence on hover; the list below the text says all of them.
const wrong = StateEffect.define();
const marked = StateField.define({
  create: () => Decoration.none,
  update: (marks, change) => change.effects.find((e) => e.is(wrong))?.value ?? marks.map(change.changes),
  provide: (field) => EditorView.decorations.from(field),
});
const mark = (from, sentence) => Decoration.line({ class: 'wrong-line', attributes: { title: sentence } }).range(from);

// The least change that makes one text of the other, so that the cursor and the view stay.
function difference(before, after) {
  let from = 0;
  while (from < before.length && from < after.length && before[from] === after[from]) from += 1;
  let end = 0;
  while (end < before.length - from && end < after.length - from && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  return { from, to: before.length - end, insert: after.slice(from, after.length - end) };
}

// `view` holds the editor, for who would go to a line of it.
export function Editor({ view }) {
  const { state } = useStore();
  const place = useRef(null);
  const timer = useRef(0);

  const send = async () => {
    timer.current = 0;
    await act('edit', { text: view.current.state.doc.toString(), note: 'edit the text', joined: true });
  };
  const history = (name) => () => {
    act(name);
    return true;
  };
  useEffect(() => {
    const typed = EditorView.updateListener.of((update) => {
      if (!update.docChanged || update.transactions.some((t) => t.annotation(fromServer))) return;
      clearTimeout(timer.current);
      timer.current = setTimeout(send, PAUSE);
    });
    view.current = new EditorView({
      parent: place.current,
      doc: state.text,
      extensions: [
        EditorView.cspNonce.of(document.querySelector('meta[name=nonce]').content),
        lineNumbers(), matchMedia('(max-width: 68rem)').matches ? EditorView.lineWrapping : [], drawSelection(), marked, yaml(), syntaxHighlighting(classHighlighter),
        EditorView.contentAttributes.of({ 'aria-label': 'Text of the plan', tabindex: '0' }),
        keymap.of([{ key: 'Mod-z', run: history('undo') }, { key: 'Mod-y', run: history('redo') }, { key: 'Mod-Shift-z', run: history('redo') }, ...defaultKeymap]),
        typed,
      ],
    });
    return () => view.current.destroy();
  }, []);
  useEffect(() => {
    if (!view.current || timer.current || isSending()) return;
    const before = view.current.state.doc.toString();
    if (before !== state.text) view.current.dispatch({ changes: difference(before, state.text), annotations: fromServer.of(true) });
    const { doc } = view.current.state;
    const lines = new Map(state.mistakes.filter((m) => m.line && m.line <= doc.lines).map((m) => [doc.line(m.line).from, m.sentence]));
    view.current.dispatch({ effects: wrong.of(Decoration.set([...lines].map(([from, sentence]) => mark(from, sentence)), true)) });
  });
  return html`<div class="editor" ref=${place}></div>`;
}

export function goTo(view, line) {
  const { doc } = view.state;
  view.dispatch({ selection: { anchor: doc.line(Math.min(line, doc.lines)).from }, scrollIntoView: true });
  view.focus();
}
