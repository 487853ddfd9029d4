// A release under the eyes of a second person: made by somebody else, looked at here, commented, and approved or rejected.
import { useState } from './vendor/preact-hooks.js';
import { document_of, html, number, plural, useId } from './parts.js';
import { Measures, Proofs } from './results.js';
import { Spread } from './spread.js';
import { act, ask, save, say, useStore } from './state.js';

const day = (when) => when.replace('T', ' ').replace(/\+00:00$/, ' UTC');

export function Review() {
  const { state, methods } = useStore();
  const { review } = state;
  const { evidence } = review;
  if (!methods) return html`<p class="hint">Reading what methods there are …</p>`;
  const seen = { ...evidence, ...(review.private ?? {}) };
  const kind = (m) => methods.methods.find((one) => one.name === m.measure && ['risk', 'utility'].includes(one.kind));
  const of = (wanted) => seen.measures.filter((m) => m.kind === wanted);
  return html`<main id="screen" class="review" tabindex="-1"><h1>${evidence.release.title ?? 'A release'} under review</h1>
    <p class="lead">Handed over by ${review.by}: ${plural(evidence.records, 'record')} and ${plural(evidence.columns.length, 'column')}${evidence.tables ? ` in ${plural(evidence.tables.length, 'table')}` : ''}. It cannot be changed here, and no record of it is in the file.</p>
    ${review.private ? html`<p class="note">Private: the figures below are those of the original as they are. Keep this file as you would keep the table.</p>` : html`<p class="note">Only what is public was handed over: figures of the original stand in bands, or not at all.</p>`}
    <${Approving} review=${review} />
    <section><h2>What was proved</h2><${Proofs} of=${seen.requirements} /></section>
    <${Measures} title="Risk" lead="How well people can still be found, or what can be learnt about them." of=${of('risk')} kind=${kind} before=${review.private !== null} />
    <${Measures} title="What was lost" lead="How far the released table differs from the original." of=${of('utility')} kind=${kind} />
    ${evidence.tables && html`<section><h2>The tables</h2><ul class="roles">${evidence.tables.map((t) => html`<li><strong>${t.name}</strong> <span class="hint">${plural(t.records, 'row')}${t.persons === null ? '' : ` of ${plural(t.persons, 'person')}`}</span></li>`)}</ul></section>`}
    <section><h2>The released columns</h2><ul class="roles">${evidence.columns.map((c) => html`<li><strong>${c.name}</strong> ${c.label && html`<span>${c.label}</span> `}<span class="hint">${c.role}</span></li>`)}</ul>
      <div class="spreads">${evidence.columns.filter((c) => c.distribution).map((c) => html`<article key=${c.name}><header><h3>${c.name}</h3></header><${Spread} of=${c.distribution} labels=${c.values} name=${c.name} /></article>`)}</div></section>
    ${evidence.steps.length > 0 && html`<section><h2>What was done</h2>${evidence.steps.map((s) => html`<details><summary>${s.step}${s.columns.length ? `: ${s.columns.join(', ')}` : ''}</summary><dl>${Object.entries(s.facts).map(([k, v]) => html`<dt>${k}</dt><dd>${v}</dd>`)}</dl></details>`)}</section>`}
    <section><h2>The plan</h2><pre class="difference" tabindex="0">${seen.plan}</pre></section></main>`;
}

function Approving({ review }) {
  const [by, name] = useState('');
  const [words, write] = useState('');
  const ids = { by: useId('by'), words: useId('words') };
  const named = by.trim() !== '';
  const says = named && words.trim() !== '';
  const decided = review.approval || review.rejection;
  const comment = async (rejects = false) => says && (await act('comment', { by, text: words, rejects })) && write('');
  return html`<section class="card"><h2>Your review</h2>
    ${review.approval ? html`<p class="verdict holds" role="status"><strong>Approved by ${review.approval.by}</strong><br />${day(review.approval.when)}. Save the file and give it back: whoever publishes needs it.</p>` : review.rejection ? html`<p class="verdict fails" role="status"><strong>Rejected by ${review.rejection.by}</strong><br />${day(review.rejection.when)}. Save the file and give it back with your reason.</p>` : html`<p class="empty">Neither approved nor rejected yet.</p>`}
    ${review.comments.length > 0 && html`<ol class="comments">${review.comments.map((c) => html`<li><strong>${c.by}</strong> <span class="hint">${day(c.when)}</span><p>${c.text}</p></li>`)}</ol>`}
    <div class="field"><label for=${ids.by}>Your name</label><input id=${ids.by} value=${by} autocomplete="name" onInput=${(e) => name(e.target.value)} /></div>
    <div class="field"><label for=${ids.words}>Comment</label><textarea id=${ids.words} rows="3" value=${words} onInput=${(e) => write(e.target.value)}></textarea></div>
    <div class="buttons"><button aria-disabled=${!says} onClick=${() => comment()}>Add the comment</button><button aria-disabled=${!says} onClick=${() => comment(true)}>Reject, for the reason above</button><button class=${decided ? '' : 'strong'} aria-disabled=${!named} onClick=${() => named && act('approve', { by })}>Approve this release</button>
      <button class=${decided ? 'strong' : ''} onClick=${() => document_of('reviewed', 0, save)}>Save the file</button><button class="plain" onClick=${() => act('leave')}>Leave the review</button></div>
    <p class="hint">What is approved is named by SHA-256 <code class="hash">${review.sha256}</code>: the released cells and all that is public of them. An approval is a note, not a signature.</p></section>`;
}

// On the export screen: a run for a second person, and the file that comes back.
export function Handing({ run, approval, take }) {
  const [by, name] = useState('');
  const [figures, include] = useState(true);
  const id = useId('maker');
  const hand = async () => {
    try {
      const made = await ask('document', { what: 'review', run, by, private: figures });
      save(made.name, made.text);
    } catch (refusal) {
      say(refusal.message);
    }
  };
  const opened = async (event) => {
    const [file] = event.target.files;
    if (!file) return;
    const text = await file.text();
    event.target.value = '';
    try {
      take({ ...(await ask('approval', { run, review: text })), text });
    } catch (refusal) {
      take(null);
      say(refusal.message);
    }
  };
  return html`<section class="card"><h2>A second person, if you want one</h2>
    <p>Before you write the release, give a colleague one file without data: the plan, the evidence, and apart from them the private figures. They open it in their own studio, comment, approve it under their name and give it back.</p>
    <div class="field"><label for=${id}>Your name</label><input id=${id} value=${by} autocomplete="name" onInput=${(e) => name(e.target.value)} /></div>
    <label class="check"><input type="checkbox" checked=${figures} onChange=${(e) => include(e.target.checked)} /> with the private figures</label>
    <div class="buttons"><button aria-disabled=${by.trim() === ''} onClick=${() => by.trim() && hand()}>Save the file for review</button><label class="file">Take the reviewed file <input type="file" accept=".json" onChange=${opened} /></label></div>
    <div role="status">${approval && html`<p class="verdict holds"><strong>Approved by ${approval.by}</strong><br />${day(approval.when)}, with ${plural(approval.comments.length, 'comment')}. The release will say so.</p>
      ${approval.comments.length > 0 && html`<ol class="comments">${approval.comments.map((c) => html`<li><strong>${c.by}</strong> <span class="hint">${day(c.when)}</span><p>${c.text}</p></li>`)}</ol>`}`}</div></section>`;
}
