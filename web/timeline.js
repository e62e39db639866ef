/**
 * The changesets of a feed, newest first: their content, their size, and why they were published that way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { byId, make, onceAFrame } from './dom.js';
import { explain, weightOf } from './explain.js';
import { changeKinds } from './feed-grid.js';
import { bytes, clock, count, counted } from './format.js';

/** The maximum number of entries. */
const limit = 200;
/** The maximum number of marks kept for an entry, to show them again. */
const maxMarks = 1000;

const kindsOfEntries = /** @type {const} */ ([
  ['insert', 'inserted'], ['move', 'moved'], ['reconfigure', 'reconfigured'], ['reload', 'reloaded'],
  ['delete', 'deleted'],
]);

/**
 * @typedef {import('./followed-window.js').Entry} Entry
 * @typedef {import('./followed-window.js').Mark} Mark
 */

export class Timeline {
  #list = byId('changesets');
  #empty = byId('no-changesets');
  /** @type {{ entry: Entry, marks: Map<string, Mark> }[]} Entries to be shown in the next frame, oldest first. */
  #waiting = [];
  #thresholds;
  #onReveal;
  #draw;

  /**
   * @param {{ thresholds: () => import('./explain.js').Thresholds | undefined,
   *   onReveal: (marks: Map<string, Mark>) => void }} options
   */
  constructor({ thresholds, onReveal }) {
    this.#thresholds = thresholds;
    this.#onReveal = onReveal;
    this.#draw = onceAFrame(() => this.#drawNow());
  }

  clear() {
    this.#waiting = [];
    this.#list.replaceChildren();
    this.#empty.hidden = false;
  }

  /** @param {Entry} entry @param {Map<string, Mark>} marks */
  add(entry, marks) {
    this.#waiting.push({ entry, marks });
    if (this.#waiting.length > limit) this.#waiting.shift();
    this.#draw();
  }

  #drawNow() {
    for (const { entry, marks } of this.#waiting) this.#list.prepend(this.#makeEntry(entry, marks));
    this.#waiting = [];
    while (this.#list.childElementCount > limit) this.#list.lastElementChild.remove();
    this.#empty.hidden = this.#list.childElementCount > 0;
  }

  /** @param {Entry} entry @param {Map<string, Mark>} marks */
  #makeEntry(entry, marks) {
    const { type, revision, mode, reason, time, parts } = entry;
    const title = titleOf(entry);
    const canShow = marks.size > 0 && marks.size <= maxMarks;
    return make(
      'li',
      {
        class: 'entry', 'data-testid': 'changeset', 'data-type': type, 'data-mode': type === 'fault' ? null : mode,
        'data-reason': reason, 'data-revision': type === 'fault' ? null : revision,
      },
      make(
        'div', { class: 'entry-head' },
        make('span', { class: 'mode' }, title),
        type === 'fault' ? null : make('span', { class: 'revision' }, `rev ${count(revision)}`),
        time === undefined ? null : make('time', { datetime: time, title: time }, clock(time)),
      ),
      type === 'fault' ? null : make(
        'div', { class: 'entry-facts' },
        ...countNodes(entry),
        make('span', { class: 'bytes' }, bytes(entry.bytes) + (parts > 1 ? ` in ${parts} parts` : '')),
        canShow ? make(
          'button', { type: 'button', class: 'link', click: () => this.#onReveal(marks) }, 'show again',
        ) : null,
      ),
      barOf(entry),
      make('p', { class: 'why' }, whyOf(entry, this.#thresholds())),
    );
  }
}

/** @param {Entry} entry */
const entriesOf = (entry) => weightOf(entry) + entry.sections.reconfigure + entry.items.reconfigure;

/** What is above the rows after a reload. @param {Entry} entry */
export function noticeOf(entry) {
  const title = entry.type === 'state' ? 'Feed loaded again' : entry.reason === 'initial' ? 'Feed created'
    : `Whole feed reloaded (${entry.reason})`;
  return `${title}: revision ${count(entry.revision)}`;
}

/** @param {Entry} entry */
export function titleOf({ type, mode, reason, isAnew }) {
  if (type === 'fault') return 'missed changes';
  if (type === 'state') return isAnew ? 'resynchronised' : 'state';
  return mode === 'reload' ? `reload: ${reason}` : mode;
}

/** @param {Entry} entry @param {import('./explain.js').Thresholds | undefined} thresholds */
export function whyOf(entry, thresholds) {
  if (entry.type === 'fault') return `Changes were missed, so the feed is fetched again: ${entry.note}.`;
  if (entry.type === 'state') {
    const what = counted(entry.itemsAfter, 'item');
    const followed = entry.scope === undefined ? '' : ` This page follows ${entry.scope}.`;
    return (entry.isAnew ? `The current feed, ${what}. This page missed the changes in between.`
      : `The feed when this page began to follow it: ${what}.`) + followed;
  }
  if (entry.scope !== undefined && entry.mode !== 'delete') return `${counted(entriesOf(entry), 'change')} in ${entry.scope}.`;
  return explain(entry, thresholds);
}

/** @param {Entry} entry */
function countNodes(entry) {
  const nodes = [];
  for (const [name, kind] of kindsOfEntries) {
    const [sections, items] = [entry.sections[name], entry.items[name]];
    if (sections + items === 0) continue;
    const parts = [items > 0 ? counted(items, 'item') : '', sections > 0 ? counted(sections, 'section') : ''];
    const { sign, word } = changeKinds[kind];
    const title = `${parts.filter(Boolean).join(' and ')} ${word}`;
    nodes.push(make(
      'span', { class: 'count', 'data-mark': kind, 'data-count': sections + items, title },
      make('span', { 'aria-hidden': 'true' }, `${sign}${count(sections + items)}`),
      make('span', { class: 'hidden-text' }, `${title}, `),
    ));
  }
  if (nodes.length === 0 && entry.mode !== 'delete') nodes.push(make('span', {}, counted(entry.itemsAfter, 'item')));
  return nodes;
}

/**
 * A bar whose length shows the number of changes relative to the feed, in the colours of their kinds.
 * @param {Entry} entry
 */
function barOf(entry) {
  if (entry.type !== 'changeset' || entry.mode === 'delete') return null;
  const bar = make('div', { class: 'bar', 'aria-hidden': 'true' });
  if (entry.mode === 'reload') {
    bar.append(make('span', { 'data-mark': 'whole' }));
    return bar;
  }
  const whole = Math.max(entriesOf(entry), entry.itemsBefore, entry.itemsAfter, 1);
  for (const [name, kind] of kindsOfEntries) {
    const share = (entry.sections[name] + entry.items[name]) / whole;
    if (share === 0) continue;
    const part = make('span', { 'data-mark': kind });
    part.style.width = `max(3px, ${100 * share}%)`;
    bar.append(part);
  }
  return bar;
}
