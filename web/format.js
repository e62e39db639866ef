/**
 * Formats numbers, times, ids and data.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { make } from './dom.js';

const whole = new Intl.NumberFormat('en');

/** @param {number} value */
export const count = (value) => whole.format(value);

/** @param {number} value @param {string} one @param {string} [many] */
export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

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

const maxDepth = 60;

/**
 * JSON as typed pieces of text. The cost depends on the shown length, not on the size of the data.
 *
 * @param {unknown} data
 * @param {{ limit: number, isPretty?: boolean, changed?: { has: (name: string) => boolean } }} options The maximum
 * number of characters; whether to use several lines; the members of the outermost object to mark.
 * @returns {Token[]}
 */
export function tokensOf(data, { limit, isPretty = false, changed = new Set() }) {
  /** @type {Token[]} */
  const tokens = [];
  let left = limit;
  let isChanged = false;
  /** @param {Token['type']} type @param {string} text */
  const add = (type, text) => {
    if (left <= 0) return;
    const shown = text.length > left ? text.slice(0, left) : text;
    left -= shown.length;
    tokens.push({ type, text: shown, isChanged });
    if (left <= 0) tokens.push({ type: 'more', text: ' …', isChanged: false });
  };
  /** @param {number} depth */
  const line = (depth) => (isPretty ? `\n${'  '.repeat(depth)}` : '');
  /** @param {unknown} value @param {number} depth */
  const addValue = (value, depth) => {
    if (left <= 0) return;
    if (typeof value === 'string') {
      // Escaping makes a text at most six times as long.
      add('text', JSON.stringify(value.length > left ? value.slice(0, left) : value));
      return;
    }
    if (typeof value !== 'object' || value === null) {
      add('value', String(JSON.stringify(value)));
      return;
    }
    const [start, end] = Array.isArray(value) ? '[]' : '{}';
    const names = Array.isArray(value) ? null : Object.keys(value);
    const size = names?.length ?? /** @type {unknown[]} */ (value).length;
    if (size === 0 || depth >= maxDepth) {
      add('mark', size === 0 ? start + end : `${start} … ${end}`);
      return;
    }
    add('mark', start);
    for (let at = 0; at < size && left > 0; at++) {
      if (depth === 0) isChanged = false;
      if (at > 0) add('mark', isPretty ? ',' : ', ');
      add('mark', line(depth + 1));
      if (names !== null) {
        if (depth === 0) isChanged = changed.has(names[at]);
        add('name', isPretty ? JSON.stringify(names[at]) : names[at]);
        add('mark', ': ');
      }
      addValue(/** @type {any} */ (value)[names?.[at] ?? at], depth + 1);
    }
    if (depth === 0) isChanged = false;
    add('mark', line(depth) + end);
  };
  addValue(data, 0);
  return tokens.filter(({ text }) => text !== '');
}

/** @param {Token[]} tokens @returns {Node[]} */
export const tokenNodes = (tokens) => tokens.map(({ type, text, isChanged }) => {
  if (type === 'mark' && !isChanged) return document.createTextNode(text);
  return make('span', { class: `json-${type}${isChanged ? ' json-changed' : ''}` }, text);
});
