/** Changesets as received, and their entries. SPDX-License-Identifier: Apache-2.0 */

import { invalid, quoted, ReplicaFault } from './fault.js';
import { parsedWithText, textOfData } from './json-text.js';

/**
 * @typedef {import('./elements.js').Content} Content
 * @typedef {import('./elements.js').Settings} Settings
 * @typedef {import('../../types/replica.js').Mode} Mode
 */

/**
 * A changeset with a validated head. Its entries are validated when they are applied.
 *
 * @typedef {{ feed: string, epoch: string, revision: number, base: number, part: number, parts: number, mode: Mode,
 *   reason?: string, time: string, through: Record<string, number>, checksum: string, sections?: any,
 *   items?: any, window?: any }} Changeset
 *
 * @typedef {{ delete: any[], insert: any[], move: any[], reconfigure: any[], reload: any[] }} EntryLists
 */

/**
 * Which items of each section a window has, by section; null without a window.
 * @typedef {Map<string, { from: number, of: number }> | null} Totals
 */

/** The maximum number in a key. */
export const greatestKeyNumber = 1_000_000;

const utf8 = new TextEncoder();
export const maxIdBytes = 255;

/** @param {unknown} value @returns {value is number} */
const isCount = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && !Object.is(value, -0);
/** @param {unknown} value */
const isString = (value) => typeof value === 'string';
/** @param {unknown} value */
const isText = (value) => typeof value === 'string' && value !== '';
/** @param {unknown} value */
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

const mostTopics = 200;
const topicName = /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$/;

/** @type {Record<string, (value: any) => boolean>} */
const headFields = {
  feed: isText,
  epoch: isString,
  revision: isCount,
  base: isCount,
  part: isCount,
  parts: (value) => isCount(value) && value <= greatestKeyNumber + 1,
  mode: (value) => ['reconfigure', 'diff', 'reload', 'delete'].includes(value),
  reason: (value) => value === undefined || isString(value),
  time: isString,
  through: (value) => isObject(value) && Object.keys(value).length <= mostTopics
    && Object.entries(value).every(([topic, offset]) => topicName.test(topic) && isCount(offset)),
  checksum: (value) => typeof value === 'string' && /^[0-9a-f]{8}$/.test(value),
};

/**
 * The window of a changeset or an event.
 * @param {any} record @returns {Totals}
 */
export function totalsOf({ window }) {
  if (window === undefined) return null;
  /** @type {(total: any) => boolean} */
  const isTotal = ({ section, from, of }) => isText(section) && isCount(from) && isCount(of);
  const totals = entriesOf(window);
  if (!totals.every(isTotal)) throw invalid('window', window);
  return new Map(totals.map(({ section, from, of }) => [section, { from, of }]));
}

/** @param {unknown} changeset @returns {Changeset} */
export function checked(changeset) {
  const value = typeof changeset === 'string' ? parsedWithText(changeset) : /** @type {any} */ (changeset);
  if (!isObject(value)) throw invalid('changeset', value);
  const record = { part: 0, parts: 1, ...value };
  for (const [name, isValid] of Object.entries(headFields)) {
    if (!isValid(record[name])) throw invalid(name, record[name]);
  }
  if (record.part >= record.parts) throw invalid('part', record.part);
  return record;
}

/** @type {EntryLists} */
export const noEntries = { delete: [], insert: [], move: [], reconfigure: [], reload: [] };

/**
 * @param {EntryLists} lists @param {(entries: any[], name: string) => any[]} change @returns {any}
 */
const mapped = (lists, change) => Object.fromEntries(Object.entries(lists).map(([name, entries]) => [name, change(entries, name)]));

/**
 * The lists of several parts, joined.
 * @param {any[]} parts @returns {EntryLists}
 */
export function joined(parts) {
  for (const part of parts) if (part !== undefined && !isObject(part)) throw invalid('lists', part);
  return mapped(noEntries, (_, name) => parts.flatMap((part) => entriesOf(part?.[name])));
}

/** @param {any} list @returns {any[]} */
export function entriesOf(list) {
  if (list === undefined) return [];
  if (!Array.isArray(list) || !list.every(isObject)) throw invalid('list', list);
  return list;
}

/**
 * The entries without their content.
 * @param {EntryLists} lists @returns {any}
 */
export function placesOf(lists) {
  /** @param {any[]} entries */
  const places = (entries) => entries.map(({ kind: _kind, data: _data, order: _order, keep: _keep, ttl: _ttl, expires: _end, refs: _refs, [textOfData]: _text, ...place }) => place);
  return mapped(lists, places);
}

/** @param {any} entry @param {{ has: (id: string) => boolean }} taken @returns {string} */
export function newId({ id }, taken) {
  if (!isText(id) || !isShort(id)) throw invalid('id', id);
  if (taken.has(id)) throw new ReplicaFault('unknown-element', `${quoted(id)} exists already`);
  return id;
}

/** @param {any} entry @returns {string} */
export function kindOf({ id, kind }) {
  if (typeof kind !== 'string' || !isShort(kind)) throw invalid(`kind of ${quoted(id)}`, kind);
  return kind;
}

/** @param {any} entry @returns {Content} */
export function contentOf({ id, data, expires, refs, [textOfData]: dataText }) {
  if (data === undefined) throw invalid(`data of ${quoted(id)}`, data);
  // One of another form is none.
  return { data, dataText, expires: typeof expires === 'string' ? expires : undefined, refs: isObject(refs) ? refs : undefined };
}

/** @param {any} entry @returns {Content & Settings} */
export function sectionContentOf(entry) { return { ...contentOf(entry), order: entry.order, keep: entry.keep }; }

/**
 * Whether a text is within the limit of ids and kinds in bytes.
 * @param {string} text
 */
const isShort = (text) => 3 * text.length <= maxIdBytes || utf8.encode(text).length <= maxIdBytes;

/** @template {{ id: string }} E @param {readonly E[]} list @param {any} id @param {any} index @returns {E} */
export function elementAt(list, id, index) {
  const found = isCount(index) ? list[index] : undefined;
  if (found === undefined || found.id !== id) {
    throw new ReplicaFault('position', `${quoted(id)} is not at ${quoted(index)}; there is ${found ? quoted(found.id) : 'nothing'}`);
  }
  return found;
}
