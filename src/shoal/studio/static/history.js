// Everything that was done to the plan, from the first text to the last, and a way back to each.
import { useState } from './vendor/preact-hooks.js';
import { document_of, html, useId } from './parts.js';
import { act, save, useStore } from './state.js';

export function History() {
  const { state } = useStore();
  const [name, write] = useState('');
  const id = useId('point');
  const keep = async (e) => {
    e.preventDefault();
    if (name.trim() && (await act('name', { name: name.trim() }))) write('');
  };
  const points = state.history.map((point, at) => ({ ...point, at })).reverse();
  return html`<details class="history"><summary>What was done (${state.history.length})</summary>
    <p class="hint">The newest first. Going back loses nothing: go forward again as long as you change nothing.</p>
    ${state.unsaved && html`<p class="mistakes">${state.unsaved}</p>`}
    <ol class="points">${points.map((p) => html`<li key=${p.at} class=${p.at > state.at ? 'undone' : ''} aria-current=${p.at === state.at ? 'step' : null}><span>${p.name && html`<strong>${p.name}</strong> `}${p.note}${p.at > state.at ? ' (undone)' : ''}</span>
      ${p.at === state.at ? html`<span class="hint">here</span>` : html`<button onClick=${() => act('go', { at: p.at })} aria-label=${`Go to ${p.at + 1}: ${p.name || p.note}`}>Go</button>`}</li>`)}</ol>
    <form class="field" onSubmit=${keep}><label for=${id}>Name this point</label><div class="row"><input id=${id} value=${name} onInput=${(e) => write(e.target.value)} /><button>Name</button></div></form>
    <p class="buttons"><button onClick=${() => document_of('work', 0, save)}>Save the plan with its history</button></p></details>`;
}
