// The plan beside the screens: its text, what is wrong with it, and what was done to it.
import { useEffect, useRef, useState } from './vendor/preact-hooks.js';
import { History } from './history.js';
import { html } from './parts.js';
import { act, save, say, useStore } from './state.js';

export function Plan({ shown }) {
  const { state } = useStore();
  const view = useRef(null);
  const [editor, load] = useState(null);
  useEffect(() => {
    if (shown && !editor) import('./editor.js').then(load, () => say('The editor could not be loaded: the studio has ended. Start it again in its terminal.'));
  }, [shown]);
  const opened = async (event) => {
    const [file] = event.target.files;
    if (file?.name.endsWith('.json')) await act('resume', { text: await file.text() });
    else if (file) await act('edit', { text: await file.text(), note: `open ${file.name}` });
    event.target.value = '';
  };
  return html`<section class="plan" id="plan" aria-label="The plan" hidden=${!shown}>
    <h2>The plan <span class="hint">${state.mistakes.length ? '' : 'no mistakes'}</span></h2>
    <p class="hint">Forms change this text, and this text changes forms. It is what runs.</p>
    <p class="buttons"><button onClick=${() => save('plan.yaml', state.text)}>Save this plan</button>
      <label class="file">Open a plan <input type="file" accept=".yaml,.yml,.json" onChange=${opened} /></label></p>
    ${editor ? html`<${editor.Editor} view=${view} />` : html`<p class="hint">Loading the editor …</p>`}
    ${state.mistakes.length > 0 && html`<div><h3>What is wrong</h3><ul class="mistakes">
      ${state.mistakes.map((m) => html`<li>${m.line && html`<button class="plain" onClick=${() => view.current && editor.goTo(view.current, m.line)}>line ${m.line}</button> `}${m.sentence}</li>`)}</ul></div>`}
    <${History} />
  </section>`;
}
