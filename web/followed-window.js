/**
 * A window of a feed, or the whole feed, followed by the client; and a report of each change of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { itemKey, sectionKey } from './rows.js';

/**
 * @typedef {'inserted' | 'moved' | 'reconfigured' | 'reloaded'} ChangeKind
 *
 * A highlighted element: the kinds of change, and the JSON text of its data before.
 * @typedef {{ kinds: ChangeKind[], before: string | undefined,
 *   from: { section: string, index: number } | null }} Mark
 * @typedef {Map<string, Mark>} Marks
 *
 * The kind of report: a published changeset, the state at the beginning or of another window (`isOther`), or a fault.
 * @typedef {import('./explain.js').Published & { type: 'changeset' | 'state' | 'fault', epoch: string, revision: number, time: string,
 *   parts: number, note?: string, isAnew?: boolean, isOther?: boolean, scope?: string }} Entry
 *
 * @typedef {import('./client/../types/index.js').Window} FeedWindow
 * @typedef {import('./client/../types/index.js').FeedView} FeedView
 * @typedef {import('./client/../types/index.js').Update} Update
 */

const kinds = { delete: undefined, insert: 'inserted', move: 'moved', reconfigure: 'reconfigured', reload: 'reloaded' };
const utf8 = new TextEncoder();

export class FollowedWindow {
  /** @type {number[]} Further partitions with a feed of the same id. */
  otherPartitions = [];
  /** @type {number | undefined} The feed's partition, once the server has said it. */
  partition;
  /** The newest revision that is known of. */
  revision = 0;
  #feed;
  #onUpdate;
  /** @type {(() => void) | null} */
  #end = null;
  /** Whether the next state is that of another window, and nothing else has changed. */
  #isOther = false;
  #standing;
  /** @type {any} The planner's figures for the next changeset. */
  #plan;
  /** @type {{ entry: Entry, marks: Marks, before: FeedView } | null} The changeset that is arriving. */
  #arriving = null;

  /**
   * @param {import('./client/../types/index.js').Feed} feed
   * @param {(entry: Entry | null, marks: Marks, isStanding: boolean) => void} onUpdate Called after each change of the view, with
   *   the changeset if it is that of one; `isStanding`: the standing is another one.
   */
  constructor(feed, onUpdate) {
    this.#feed = feed;
    this.#onUpdate = onUpdate;
    this.#standing = feed.view.standing;
  }

  get view() { return this.#feed.view; }
  get window() { return this.#feed.window; }

  /** Connects, and continues from where it was closed. */
  open() { this.#end ??= this.#feed.subscribe((update) => this.#take(update)); }

  close() {
    this.#end?.();
    this.#end = null;
  }

  /** Follows another window from now on. @param {FeedWindow} window */
  show(window) {
    if (window === this.window) return;
    this.#isOther = true;
    this.#feed.show(window);
  }

  /**
   * Takes an event of a stream, before the client does.
   * @param {string} name @param {any} value @param {string} text
   */
  receive(name, value, text) {
    this.revision = value.revision ?? this.revision;
    this.partition = value.partition ?? this.partition;
    this.otherPartitions = value.otherPartitions ?? this.otherPartitions;
    if (name === 'message') this.#receiveChangeset(value, utf8.encode(text).length);
    else this.#plan = name === 'plan' ? value : undefined;
  }

  /** @param {any} record @param {number} bytes */
  #receiveChangeset(record, bytes) {
    const { epoch, revision, base, mode, reason, time, part = 0, parts = 1 } = record;
    const before = this.view;
    if (part === 0) {
      const noCounts = { delete: 0, insert: 0, move: 0, reconfigure: 0, reload: 0 };
      // A reload that repeats a published state; otherwise it is not sent.
      const type = mode === 'reload' && base === revision ? 'state' : 'changeset';
      const itemsBefore = itemCount(before);
      const entry = {
        type, epoch, revision, mode, reason, time, parts, bytes: 0, plan: this.#plan, sections: { ...noCounts }, items: { ...noCounts },
        itemsBefore, itemsAfter: 0,
      };
      this.#arriving = { entry, marks: new Map(), before };
      this.#plan = undefined;
    }
    const arriving = this.#arriving;
    if (arriving === null) return;
    arriving.entry.bytes += bytes;
    if (mode !== 'reload') {
      note(record.sections, arriving.entry.sections, arriving.marks, sectionKey, (id) => before.section(id));
      note(record.items, arriving.entry.items, arriving.marks, itemKey, (id) => before.item(id));
    }
    // The client takes it at once, or not at all.
    if (part + 1 === parts) queueMicrotask(() => { if (this.#arriving === arriving) this.#arriving = null; });
  }

  /** @param {Update} update */
  #take({ kind, view }) {
    const isStanding = view.standing !== this.#standing;
    this.#standing = view.standing;
    if (kind === 'standing') {
      const { reason, detail } = view.standing;
      const isFault = isStanding && reason === 'must-refetch';
      this.#onUpdate(isFault ? this.#fault(detail ?? reason) : null, new Map(), isStanding);
      return;
    }
    const { entry, marks, before } = this.#arriving ?? {};
    this.#arriving = null;
    if (kind === 'absent') this.#isOther = false;
    if (entry !== undefined) {
      entry.itemsAfter = itemCount(view);
      if (entry.mode === 'reload') {
        const isOther = this.#isOther;
        this.#isOther = false;
        Object.assign(entry, { isOther, isAnew: before?.exists, comparison: before?.exists ? compared(before, view) : undefined });
      }
    }
    this.#onUpdate(entry ?? null, marks ?? new Map(), isStanding);
  }

  /** @param {string} note @returns {any} */
  #fault(note) {
    const { revision, view } = this;
    return { type: 'fault', revision, note, sections: {}, items: {}, itemsBefore: itemCount(view), itemsAfter: itemCount(view) };
  }
}

/** @param {FeedView} view */
const itemCount = ({ sections }) => sections.reduce((sum, { items }) => sum + items.length, 0);

/**
 * Counts entries of a changeset, and marks what they change. They have not been checked yet.
 * @param {any} lists @param {any} counts @param {Marks} marks @param {(id: string) => string} keyOf
 * @param {(id: string) => { dataText: string } | undefined} find What there was before.
 */
function note(lists, counts, marks, keyOf, find) {
  for (const [name, kind] of Object.entries(kinds)) {
    const entries = Array.isArray(lists?.[name]) ? lists[name] : [];
    counts[name] += entries.length;
    for (const entry of kind === undefined ? [] : entries) {
      const id = entry?.id;
      const mark = marks.get(keyOf(id)) ?? { kinds: [], before: undefined, from: null };
      marks.set(keyOf(id), mark);
      mark.kinds.push(/** @type {ChangeKind} */ (kind));
      if (name === 'move') mark.from = typeof entry.from === 'number' ? { section: id, index: -1 } : entry.from;
      else if (name !== 'insert') mark.before = find(id)?.dataText;
    }
  }
}

/**
 * Compares the items of two states.
 * @param {FeedView} before @param {FeedView} after
 */
function compared(before, after) {
  let [kept, kindsChanged] = [0, 0];
  for (const { id, kind } of before.sections.flatMap(({ items }) => items)) {
    const now = after.item(id);
    if (now === undefined) continue;
    kept += 1;
    if (now.kind !== kind) kindsChanged += 1;
  }
  return { inserted: itemCount(after) - kept, deleted: itemCount(before) - kept, kinds: kindsChanged };
}
