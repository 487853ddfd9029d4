// What the studio's server says, kept for all screens, and how it is asked.
import { useEffect, useState } from './vendor/preact-hooks.js';

const KEY = 'shoal-studio-key';
const SOON = 150, SELDOM = 2500; // milliseconds between two looks, while something runs and otherwise

// `table` is the one of several linked tables that is looked at; empty for a table that is alone.
export const store = { state: null, facts: null, methods: null, unreachable: '', said: '', awaits: false, table: '', tour: null };
const listeners = new Set();
let sending = 0;
let begun = 0; // actions so far
let key = null;
let next = null; // the timer of the next look

function tell() {
  for (const listen of listeners) listen({});
}

// Draw a component again whenever anything changes.
export function useStore() {
  const [, again] = useState({});
  useEffect(() => {
    listeners.add(again);
    return () => listeners.delete(again);
  }, []);
  return store;
}

// The table that is looked at: its part of the plan, and its facts.
export function useTable() {
  const { state, facts, methods, table } = useStore();
  const tree = table ? state.tree.tables?.[table] ?? {} : state.tree;
  return { methods, table, state: { ...state, tree, happens: state.happens[table] ?? {} }, facts: table ? facts?.tables?.[table] : facts };
}

export function lookAt(table) {
  store.table = table;
  tell();
}

// A place of the plan of the table that is looked at.
export const inTable = (place) => (store.table ? ['tables', store.table, ...place] : place);

// Questions that are about the table that is looked at.
const OF_TABLE = ['rows', 'pairs', 'column', 'categories', 'extremes', 'together', 'levels', 'build-hierarchy', 'read-hierarchies', 'risks', 'attribute-sets', 'identifiers'];

export class Refusal extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

// A question with its answer; a refusal is thrown with its sentence.
export async function ask(name, given = {}, more = {}) {
  const raw = given instanceof Blob;
  const asked = OF_TABLE.includes(name) ? { of: store.table, ...given } : given;
  const headers = { authorization: `Bearer ${key ?? ''}`, ...more };
  if (!raw) headers['content-type'] = 'application/json';
  let response;
  try {
    response = await fetch(`/api/${name}`, { method: 'POST', headers, body: raw ? given : JSON.stringify(asked) });
  } catch {
    throw new Refusal(0, 'The studio has ended. Start it again in its terminal; what was written is safe.');
  }
  const answer = await response.json();
  if (!response.ok) throw new Refusal(response.status, answer.error);
  return answer;
}

async function take(state) {
  if (state.text === undefined) return; // nothing new
  const opened = state.source !== null && (store.state === null || store.state.source !== state.source
    || (state.rows !== null && store.facts === null) || JSON.stringify(store.state.prepared) !== JSON.stringify(state.prepared) || store.openings !== state.history.length && state.at === 0);
  store.state = state;
  if (state.source === null) store.facts = null;
  if (state.source === null && !state.job) store.tour = null;
  if (!state.tables.length) store.table = '';
  if (opened) {
    store.facts = await ask('facts');
    store.openings = state.history.length;
    if (!state.tables.includes(store.table)) store.table = state.tables[0] ?? '';
  }
  tell();
}

let before = Promise.resolve();

// Actions go one after another, each decided on the text that the one before it left.
export function act(name, given = {}) {
  before = before.then(() => send(name, given));
  return before;
}

// One action; while its answer is awaited no look at the state overwrites what the person types.
async function send(name, given = {}) {
  sending += 1;
  begun += 1;
  store.said = '';
  try {
    await take(await ask('do', { do: name, with: given, edition: store.state?.edition ?? 0 }));
    return true;
  } catch (refusal) {
    store.said = refusal.message;
    if (refusal.status === 409) await take(await ask('state'));
    tell();
    return false;
  } finally {
    sending -= 1;
    lookIn(SOON);
  }
}

export const isSending = () => sending > 0;

// Set one value of the plan, or several at once.
export const put = (place, value, note) => act('put', { changes: [{ place, value }], note });
export const putAll = (changes, note) => act('put', { changes, note });

const about = (file, how) => ({ 'x-file-name': encodeURIComponent(file.name), 'x-reading': encodeURIComponent(JSON.stringify(how)) });

// Several files that belong together go one after another, and are put aside.
export async function putAside(files, how) {
  for (const [i, file] of files.entries()) await ask('upload', file, { ...about(file, how), 'x-part': String(i) });
}

// Open a file, or several as linked tables.
export async function upload(files, how = {}) {
  store.said = '';
  try {
    if (files.length === 1) await take(await ask('upload', files[0], about(files[0], how)));
    else {
      await putAside(files, how);
      await send('open_aside');
      return;
    }
  } catch (refusal) {
    store.said = refusal.message;
    tell();
  }
  lookIn(SOON);
}

// What a table would be, or several; of files that were dropped, or of paths.
export async function lookInto(files, how) {
  try {
    if (typeof files[0] === 'string') return await ask('look', { how, path: files.length === 1 ? files[0] : files });
    if (files.length === 1) return await ask('upload', files[0], { ...about(files[0], how), 'x-look': '1' });
    await putAside(files, how);
    return await ask('look', { how, aside: true });
  } catch (refusal) {
    return { refused: refusal.message };
  }
}

export function say(sentence) {
  store.said = sentence;
  tell();
}

// A state asked for before an action began says nothing of it, and is left.
async function look() {
  const asked = begun;
  try {
    if (!isSending()) {
      const state = await ask('state', { since: store.state?.version });
      if (begun === asked) await take(state);
    }
    if (store.unreachable) {
      store.unreachable = '';
      tell();
    }
  } catch (refusal) {
    if (store.unreachable !== refusal.message) {
      store.unreachable = refusal.message;
      tell();
    }
  }
  lookIn(store.state?.job || begun > asked ? SOON : SELDOM);
}

function lookIn(pause) {
  clearTimeout(next);
  next = setTimeout(look, pause);
}

// The token behind the # is used once for a key, which this tab alone keeps.
export async function enter() {
  const token = location.hash.slice(1);
  if (token.length > 20 && !token.startsWith('/')) {
    history.replaceState(null, '', '/#/columns');
    key = (await ask('enter', { token })).key;
    sessionStorage.setItem(KEY, key);
  } else {
    key = sessionStorage.getItem(KEY);
  }
  await take(await ask('state'));
  lookIn(SOON);
  store.methods = await ask('methods');
  tell();
}

// Save a text as a file of the browser's.
export function save(name, text) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const beginsWith = (place, start) => start.every((key, i) => String(place[i]) === String(key));

// The mistakes at a place of the plan, or below it.
export const mistakesAt = (place) =>
  (store.state?.mistakes ?? []).filter((m) => m.place.length >= place.length && beginsWith(m.place, place));

export const at = (tree, place) => place.reduce((value, key) => value?.[key], tree);
