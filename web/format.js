/**
 * Formats numbers, times, ids and data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { make } from './dom.js';
import { endOfString } from './client/replica/json-text.js';

const whole = new Intl.NumberFormat('en');

/** @param {number} value */
export const count = (value) => whole.format(value);

/** @param {number} value @param {string} one @param {string} [many] */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

/**
 * How many items a section has, how many it keeps, and by what it sorts them.
 * @param {{ order: { by: string, direction?: string }[] | undefined, keep: number | undefined }} section @param {number} items
 */
export function sectionNote({ order, keep }, items) {
  const number = keep === undefined ? counted(items, 'item') : `${count(items)} of ${counted(keep, 'item')}`;
  const keys = (order ?? []).map(({ by, direction }) => `${by === '' ? 'data' : by} ${direction === 'descending' ? '↓' : '↑'}`);
  return keys.length === 0 ? number : `${number}, by ${keys.join(', ')}`;
}

/** @param {number} value Decimal units, as on the command line. */
export function bytes(value) {
  if (value < 1000) return `${value} B`;
  const [unit, size] = value < 1e6 ? ['kB', 1e3] : value < 1e9 ? ['MB', 1e6] : ['GB', 1e9];
  return `${(value / size).toFixed(value / size < 100 ? 1 : 0)} ${unit}`;
}

/** @param {number} fraction */
export function percent(fraction) {
  const value = 100 * fraction;
  return `${value >= 10 || value === 0 ? Math.round(value) : value.toFixed(value < 1 ? 2 : 1)} %`;
}

/** @param {number} value A rate for each second. */
export const rate = (value) => (value >= 10 || value === 0 ? count(Math.round(value)) : value.toFixed(1));

/** @param {string} time RFC 3339. @returns {string} The local time of day. */
export function clock(time) {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  /** @param {number} value @param {number} digits */
  const padded = (value, digits) => String(value).padStart(digits, '0');
  const [hours, minutes, seconds] = [date.getHours(), date.getMinutes(), date.getSeconds()].map((it) => padded(it, 2));
  return `${hours}:${minutes}:${seconds}.${padded(date.getMilliseconds(), 3)}`;
}

/** @param {number} milliseconds */
export function age(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  if (seconds < 2) return 'now';
  if (seconds < 120) return `${seconds} s ago`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ago`;
  return `${count(Math.floor(seconds / 86400))} days ago`;
}

/**
 * An id with visible control characters, including those that change the text direction.
 * @param {string} id
 */
export const visible = (id) => id.replace(
  /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu,
  (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
);

/** @typedef {{ type: 'name' | 'text' | 'value' | 'mark' | 'more', text: string, isChanged: boolean }} Token */

const mostIndentation = 40;

/**
 * The tokens of JSON text, without white space: punctuation, strings, and other scalars, each with its first character.
 * @param {string} json @returns {Generator<{ start: number, end: number, first: string }>}
 */
function* scan(json) {
  const token = /[[\]{}:,"]|[^[\]{}:,"\s]+/g;
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const [first] = found[0];
    if (first === '"') token.lastIndex = endOfString(json, found.index);
    yield { start: found.index, end: token.lastIndex, first };
  }
}

/** Tells members of the same name apart: a name as spelled, and from the second one on its number. */
function memberKeys() {
  /** @type {Map<string, number>} */
  const counts = new Map();
  return (/** @type {string} */ name) => {
    const number = (counts.get(name) ?? 0) + 1;
    counts.set(name, number);
    return number === 1 ? name : `${name}#${number}`;
  };
}

/**
 * The members of an object as they are spelled, by their key.
 * @param {string} json @returns {Map<string, string> | undefined} None if it is not an object.
 */
function membersOf(json) {
  if (json[0] !== '{') return undefined;
  const keyOf = memberKeys();
  /** @type {Map<string, string>} */
  const members = new Map();
  let [depth, name, start, last] = [0, '', 0, 0];
  for (const { start: at, end, first } of scan(json)) {
    if (first === '}' || first === ']') depth -= 1;
    if (depth === (first === '}' ? 0 : 1) && (first === ',' || first === '}') && name !== '') {
      members.set(keyOf(name), json.slice(start, last));
      name = '';
    } else if (depth === 1 && first === ':' && name === '') {
      name = json.slice(start, last);
      start = end;
    } else if (depth === 1 && name === '') {
      start = at;
    }
    if (first === '{' || first === '[') depth += 1;
    last = end;
  }
  return members;
}

/**
 * An item's own data as it is spelled, without its contents, which are the last members.
 * @param {{ dataText: string, refs?: Readonly<Record<string, string>> }} item
 */
export function ownDataOf({ dataText, refs }) {
  if (refs === undefined) return dataText;
  const members = [...(membersOf(dataText) ?? [])].slice(0, -Object.keys(refs).length);
  return `{${members.map(([key, value]) => `${key.replace(/#\d+$/, '')}:${value}`).join(',')}}`;
}

/**
 * A change of data: of a member, of the order of members, or, without a key, of the whole value.
 * @typedef {{ key: string | null, name: string, old: string | undefined, now: string | undefined }} DataChange
 */

/**
 * What differs between two spellings of data. `1.0` and `1` are different data, because a store compares bytes.
 * @param {string | undefined} before @param {string | undefined} after @returns {DataChange[]}
 */
export function changesBetween(before, after) {
  if (before === undefined || after === undefined || before === after) return [];
  const [old, now] = [membersOf(before), membersOf(after)];
  if (old === undefined || now === undefined) return [{ key: null, name: 'data', old: before, now: after }];
  const keys = [...new Set([...old.keys(), ...now.keys()])].filter((key) => old.get(key) !== now.get(key));
  if (keys.length > 0) {
    return keys.map((key) => ({ key, name: key.replace(/^"(.*)"/s, '$1'), old: old.get(key), now: now.get(key) }));
  }
  const [order, orderNow] = [old, now].map((members) => `[${[...members.keys()].join(', ')}]`);
  return [{ key: null, name: 'order', old: order, now: orderNow }];
}

/**
 * JSON as typed pieces of text, as it is spelled. The cost depends on the shown length, not on the size of the data.
 *
 * @param {string} json
 * @param {{ limit: number, isPretty?: boolean, changed?: readonly DataChange[] }} options The maximum
 * number of characters; whether to use several lines; what to mark of the outermost object.
 * @returns {Token[]}
 */
export function tokensOf(json, { limit, isPretty = false, changed = [] }) {
  /** @type {Token[]} */
  const tokens = [];
  const changedKeys = new Set(changed.map(({ key }) => key));
  const keyOf = memberKeys();
  let left = limit;
  let depth = 0;
  let isName = false;
  let isChanged = changed[0]?.name === 'data' && !/^[[{]/.test(json);
  /** @param {Token['type']} type @param {string} text */
  const add = (type, text) => {
    if (left <= 0 || text === '') return;
    const shown = text.slice(0, left);
    left -= shown.length;
    tokens.push({ type, text: shown, isChanged });
    if (left <= 0) tokens.push({ type: 'more', text: ' …', isChanged: false });
  };
  const line = () => (isPretty ? `\n${' '.repeat(Math.min(2 * depth, mostIndentation))}` : '');
  /** The brackets of the open lists and objects. */
  const open = [];
  for (const { start, end, first } of scan(json)) {
    if (left <= 0) break;
    const text = json.slice(start, Math.min(end, start + left + 2));
    if (first === '}' || first === ']') {
      open.pop();
      depth -= 1;
      if (depth === 0) isChanged = false;
      const isEmpty = /[[{]$/.test(tokens[tokens.length - 1].text);
      add('mark', (isEmpty ? '' : line()) + first);
      continue;
    }
    // The first element of a list or an object, which is not empty.
    if (/[[{]$/.test(tokens[tokens.length - 1]?.text ?? '')) add('mark', line());
    if (first === '{' || first === '[') {
      add('mark', first);
      open.push(first);
      depth += 1;
      isName = first === '{';
    } else if (first === ',') {
      if (depth === 1) isChanged = false;
      add('mark', isPretty ? ',' : ', ');
      add('mark', line());
      isName = open[open.length - 1] === '{';
    } else if (first === ':') {
      add('mark', ': ');
      isName = false;
    } else if (isName) {
      if (depth === 1) isChanged = changedKeys.has(keyOf(json.slice(start, end)));
      add('name', isPretty ? text : text.slice(1, text.endsWith('"') ? -1 : undefined));
    } else {
      add(first === '"' ? 'text' : 'value', text);
    }
  }
  return tokens;
}

/** @param {Token[]} tokens @returns {Node[]} */
export const tokenNodes = (tokens) => tokens.map(({ type, text, isChanged }) => {
  if (type === 'mark' && !isChanged) return document.createTextNode(text);
  return make('span', { class: `json-${type}${isChanged ? ' json-changed' : ''}` }, text);
});
