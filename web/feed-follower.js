/**
 * Follows one feed, or a window of it: an event stream, the replica that it is applied to, and a report of each change.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { EventStream } from './client/event-stream.js';
import { parsedWithText, Replica, ReplicaFault } from './client/replica.js';
import { itemKey, sectionKey } from './rows.js';

/**
 * The state of following:
 * - `waiting`: other pages use the connections that the browser allows;
 * - `connecting`, and `reconnecting` after the first connection;
 * - `live`: everything published has been received;
 * - `behind`: more is arriving;
 * - `must-refetch`: something was missed; the shown state is outdated until the next reload;
 * - `moved`: another instance serves the feed;
 * - `unknown`: this instance has no such feed;
 * - `unavailable`: the server asks to retry later;
 * - `token-needed`.
 *
 * @typedef {'waiting' | 'connecting' | 'reconnecting' | 'live' | 'behind' | 'must-refetch' | 'moved' | 'unknown' | 'unavailable'
 *   | 'token-needed'} Standing
 *
 * @typedef {'inserted' | 'moved' | 'reconfigured' | 'reloaded'} ChangeKind
 *
 * A highlighted element: the kinds of change, and the JSON text of its data before.
 * @typedef {{ kinds: ChangeKind[], before: string | undefined,
 *   from: { section: string, index: number } | null }} Mark
 *
 * The kind of report: a published changeset, the state at the beginning of a stream or of another window (`isOther`), a
 * keyframe that the replica does not need, or a fault.
 * @typedef {'changeset' | 'state' | 'keyframe' | 'fault'} EntryType
 *
 * @typedef {import('./explain.js').Published & { type: EntryType, epoch: string, revision: number, time: string,
 *   parts: number, note?: string, isAnew?: boolean, isOther?: boolean }} Entry
 *
 * What of the feed is followed; all of it by default (docs/http.md).
 * @typedef {{ sections?: string[], first?: number, from?: number, count?: number }} FeedWindow
 *
 * Which items of a section the replica has, and how many there are.
 * @typedef {{ section: string, from: number, shown: number, of: number }} Total
 */

const noCounts = { delete: 0, insert: 0, move: 0, reconfigure: 0, reload: 0 };

/**
 * @typedef {object} FollowerOptions
 * @property {number | null} [partition] By default the lowest that has the feed.
 * @property {FeedWindow} [window]
 * @property {(standing: Standing, detail: { until?: number, text?: string, url?: string }) => void} onStanding
 * @property {(entry: Entry, marks: Map<string, Mark>) => void} onEntry The replica has already applied it.
 * @property {() => void} [onTotals] Nothing has changed of the window but the totals.
 * @property {Pick<import('./api.js').Api, 'headers' | 'patch' | 'refused'>} api
 * @property {(url: string, options: import('./client/event-stream.js').EventStreamOptions) => EventStream} [makeStream]
 */

export class FeedFollower {
  /** @type {number[]} Further partitions with a feed of the same id. */
  otherPartitions = [];
  /** The newest state, kept while a new one is loading. */
  replica;
  /** @type {number | undefined} The feed's partition, once the server has told it. */
  partition;
  /** The newest revision that is known of. */
  revision = 0;
  /** @type {Map<string, Total> | null} By section; null if the replica has the whole feed. */
  totals = null;
  /** @type {FeedWindow | null} The window that the replica has. */
  shown = null;
  /** The window that the server was asked for last. */
  #asked;
  /** Whether the server is to begin again with another window. */
  #isAsking = false;
  /** Whether the next state is that of another window, and nothing else has changed. */
  #isOther = false;
  /** @type {string | null} The id of the open stream. */
  #id = null;
  /** Whether something was missed, so that any next state is accepted. */
  #isStale = false;
  #wasOpen = false;
  /** How often a state was requested since the stream was last up to date. */
  #refetches = 0;
  /** Whether no message has arrived on this connection yet. */
  #isBeginning = true;
  #incoming;
  /** The size of the parts received so far. */
  #bytes = 0;
  /** @type {Map<string, string | undefined>} The text of the old data, by key. */
  #before = new Map();
  /** @type {any} */
  #movedTo = null;
  /** @type {any} The planner's figures for the next changeset. */
  #plan;
  #stream;
  #options;

  /** @param {string} feed @param {FollowerOptions} options */
  constructor(feed, options) {
    this.feed = feed;
    this.#options = options;
    this.replica = this.#incoming = new Replica(feed);
    /** The window that is wanted. */
    this.window = this.#asked = options.window ?? {};
    const makeStream = options.makeStream ?? ((url, streamOptions) => new EventStream(url, streamOptions));
    this.#stream = makeStream('/v1/streams', {
      headers: () => options.api.headers(),
      body: () => this.#body(),
      onEvent: (event) => this.#take(event),
      onState: (state) => this.#takeState(state),
    });
  }

  /** Connects, and continues from where it was closed. */
  open() { this.#stream.open(); }

  close() {
    this.#id = null;
    this.#stream.close();
  }

  /** Follows another window from now on. @param {FeedWindow} window */
  show(window) {
    this.window = window;
    this.#ask();
  }

  /** Asks for the window that is wanted, once the state of the one before has arrived. */
  async #ask() {
    const id = this.#id;
    if (id === null || this.#isAsking || this.window === this.#asked) return;
    this.#isAsking = true;
    this.#asked = this.window;
    const isAccepted = await this.#options.api.patch(`/v1/streams/${id}`, { add: [this.#request()] });
    if (!isAccepted && id === this.#id) this.#stream.restart({ isPatient: true });
  }

  #request() { return { feed: this.feed, partition: this.#options.partition ?? undefined, ...this.window }; }

  /** Asks for the feed, from the state that there is. */
  #body() {
    this.#id = null;
    this.#isAsking = false;
    this.#asked = this.window;
    if (this.#incoming.revision !== null && this.shown !== this.window) this.#beginOther();
    const { epoch, revision } = this.#incoming;
    return JSON.stringify({ feeds: [{ ...this.#request(), ...(revision !== null && { epoch, revision }) }] });
  }

  #beginOther() {
    this.#isStale = this.#isOther = true;
    this.#before.clear();
    this.#incoming = new Replica(this.feed);
  }

  /** @param {import('./client/event-stream.js').StreamEvent} event */
  #take({ name, data }) {
    if (name === 'message') {
      this.#takeMessage(data);
      return;
    }
    const value = parsed(data);
    if (name === 'plan') {
      this.#plan = value ?? undefined;
      return;
    }
    this.#plan = undefined;
    if (name === 'stream') {
      this.#id = value?.stream ?? null;
      this.#ask();
    } else if (name === 'up-to-date') {
      this.partition = value?.partition ?? this.partition;
      this.#isBeginning = false;
      if (this.#isStale || this.#isAsking) return;
      this.#refetches = 0;
      this.#options.onStanding('live', {});
    } else if (name === 'other-partitions') {
      this.otherPartitions = value?.otherPartitions ?? [];
      this.partition = value?.partition ?? this.partition;
    } else if (name === 'must-refetch') {
      if (this.#isAsking) this.#beginOther();
      else this.#becomeStale(`the server began again: ${value?.reason ?? 'it gave no reason'}`);
    } else if (name === 'window' && value) {
      this.#note(value);
      this.#options.onTotals?.();
    } else if (name === 'absent' || name === 'moved') {
      // The next state is that of the feed when it comes back, whatever its revision.
      this.#incoming = new Replica(this.feed);
      this.#movedTo = name === 'moved' ? value ?? {} : null;
      this.#options.onStanding(name === 'moved' ? 'moved' : 'unknown', { url: value?.url });
    } else if (name === 'forbidden') {
      this.#options.onStanding('unavailable', { text: 'the token does not allow to read this feed' });
    }
  }

  /** @param {string} text */
  #takeMessage(text) {
    const record = parsed(text, parsedWithText);
    this.#bytes = record?.part > 0 ? this.#bytes + byteCount(text) : byteCount(text);
    this.#keepDataBefore(record);
    const replica = this.#incoming;
    // While a new state is loading, the previous state is the old replica's.
    const { sections: sectionsBefore, itemCount: itemsBefore, revision } = this.replica;
    let outcome;
    try {
      outcome = replica.apply(record ?? text);
    } catch (error) {
      if (!(error instanceof ReplicaFault)) throw error;
      this.#refetch(error.message, record);
      return;
    }
    if (['applied', 'removed', 'skipped'].includes(outcome.type)) this.#note(record);
    switch (outcome.type) {
      case 'applied':
        this.#takeChange(outcome.change, { record, sectionsBefore, itemsBefore, isAnew: revision !== null });
        break;
      case 'removed':
        this.#finish({ ...entryOf(record, this.#bytes), itemsBefore, itemsAfter: 0 }, new Map());
        break;
      case 'skipped':
        if (record.mode === 'delete') this.#finish({ ...entryOf(record, this.#bytes), type: 'state' }, new Map());
        else if (record.mode === 'reload' && !this.#isBeginning) {
          const items = replica.itemCount;
          const entry = { ...entryOf(record, this.#bytes), itemsBefore: items, itemsAfter: items };
          this.#finish({ ...entry, type: 'keyframe' }, new Map());
        }
        break;
      case 'waiting':
            break;
      case 'gap':
        this.#refetch(
          `a changeset applies to revision ${outcome.base}, but the replica has ${outcome.revision ?? 'none'}`, record,
        );
        break;
      case 'other-epoch':
        this.#refetch(`the feed was re-created: ${record.epoch}`, record);
        break;
      default:
        this.#refetch(outcome.fault.message, record);
    }
  }

  /**
   * @param {import('./client/../types/replica.js').Change} change
   * @param {{ record: any, sectionsBefore: FeedFollower['replica']['sections'], itemsBefore: number,
   *   isAnew: boolean }} before `isAnew`: whether a state existed before.
   */
  #takeChange(change, { record, sectionsBefore, itemsBefore, isAnew }) {
    const replica = this.#incoming;
    const plan = this.#plan;
    this.#plan = undefined;
    const entry = {
      ...entryOf(record, this.#bytes), plan, sections: countsOf(change.sections), items: countsOf(change.items),
      itemsBefore, itemsAfter: replica.itemCount,
    };
    if (change.mode !== 'reload') {
      this.#finish(entry, this.#marksOf(change));
      return;
    }
    // A reload that repeats a published state; otherwise the replica would have it.
    const isState = change.base === change.revision;
    this.#finish({
      ...entry,
      type: isState ? 'state' : 'changeset',
      isAnew,
      comparison: itemsBefore > 0 ? compared(sectionsBefore, replica) : undefined,
    }, new Map());
  }

  /** @param {Entry} entry @param {Map<string, Mark>} marks */
  #finish(entry, marks) {
    this.#before.clear();
    this.#isStale = false;
    this.#movedTo = null;
    this.replica = this.#incoming;
    const isOther = this.#isOther;
    if (entry.mode === 'reload' && (isOther || !this.#isAsking)) {
      this.#isAsking = this.#isOther = false;
      this.shown = this.#asked;
    }
    this.#options.onEntry({ ...entry, isOther }, marks);
    this.#ask();
    // Usually the server reports up to date immediately afterwards, so this state is never visible.
    this.#options.onStanding('behind', {});
  }

  /** @param {any} record A changeset, or an event that says as much about the window. */
  #note(record) {
    this.revision = record.revision;
    this.totals = Array.isArray(record.window)
      ? new Map(record.window.map((/** @type {Total} */ total) => [total.section, total])) : null;
  }

  /**
   * Keeps data that a changeset is about to change.
   * @param {any} record
   */
  #keepDataBefore(record) {
    if (record === undefined || record.mode === 'reload' || !(record.part > 0)) this.#before.clear();
    if (record === undefined || record.mode === 'reload') return;
    for (const [lists, keyOf, find] of /** @type {[any, (id: string) => string, (id: string) => any][]} */ ([
      [record.sections, sectionKey, (/** @type {string} */ id) => this.#incoming.section(id)],
      [record.items, itemKey, (/** @type {string} */ id) => this.#incoming.item(id)],
    ])) {
      for (const list of [lists?.reconfigure, lists?.reload]) {
        if (!Array.isArray(list)) continue;
        for (const entry of list) this.#before.set(keyOf(entry?.id), find(entry?.id)?.dataText);
      }
    }
  }

  /** @param {import('./client/../types/replica.js').Change} change */
  #marksOf({ sections, items }) {
    /** @type {Map<string, Mark>} */
    const marks = new Map();
    /** @param {string} key @param {ChangeKind} kind */
    const mark = (key, kind) => {
      /** @type {Mark} */
      const made = marks.get(key) ?? { kinds: [], before: undefined, from: null };
      made.kinds.push(kind);
      marks.set(key, made);
      return made;
    };
    for (const [changes, keyOf] of /** @type {[any, (id: string) => string][]} */ ([
      [sections, sectionKey], [items, itemKey],
    ])) {
      for (const { id } of changes.insert) mark(keyOf(id), 'inserted');
      for (const { id, from } of changes.move) {
        mark(keyOf(id), 'moved').from = typeof from === 'number' ? { section: id, index: -1 } : from;
      }
      for (const [list, kind] of /** @type {const} */ ([
        [changes.reconfigure, 'reconfigured'], [changes.reload, 'reloaded'],
      ])) {
        for (const { id } of list) mark(keyOf(id), kind).before = this.#before.get(keyOf(id));
      }
    }
    return marks;
  }

  /**
   * Requests a new state, because the received message cannot be applied.
   * @param {string} why @param {any} record
   */
  #refetch(why, record) {
    this.#becomeStale(why, record);
    // Immediately the first time, then with delays, because the error may persist.
    this.#stream.restart({ isPatient: this.#refetches > 0 });
    this.#refetches += 1;
  }

  /** @param {string} why @param {any} [record] */
  #becomeStale(why, record) {
    this.#beginOther();
    this.#isOther = false;
    this.#options.onEntry({
      ...entryOf(record ?? {}, this.#bytes), type: 'fault', note: why,
      revision: this.replica.revision ?? 0, itemsBefore: this.replica.itemCount, itemsAfter: this.replica.itemCount,
    }, new Map());
    this.#options.onStanding('must-refetch', { text: why });
  }

  /** @param {import('./client/event-stream.js').StreamState} state */
  #takeState(state) {
    const { onStanding } = this.#options;
    if (state.state === 'open') {
      this.#wasOpen = true;
      this.#isBeginning = true;
      this.#movedTo = null;
      return;
    }
    if (state.state === 'refused') {
      onStanding('token-needed', {});
      this.#options.api.refused();
    } else if (state.state === 'connecting') {
      if (this.#movedTo === null && !this.#isStale) onStanding(this.#wasOpen ? 'reconnecting' : 'connecting', {});
    } else if (state.state === 'waiting') {
      const { until, status, problem } = state;
      if (status !== undefined) {
        onStanding('unavailable', { until, text: problem?.detail ?? `the server answered ${status}` });
      } else if (this.#movedTo !== null) {
        onStanding('moved', { until, url: this.#movedTo.url });
      } else {
        onStanding(this.#wasOpen ? 'reconnecting' : 'connecting', { until });
      }
    }
  }
}

/** @param {string} text @param {(text: string) => any} parse @returns {any} */
function parsed(text, parse = JSON.parse) {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

const utf8 = new TextEncoder();

/** @param {string} text */
const byteCount = (text) => utf8.encode(text).length;

/** @param {any} record @param {number} bytes @returns {Entry} */
const entryOf = ({ epoch, revision, mode, reason, time, parts = 1 }, bytes) => ({
  type: 'changeset', epoch, revision, mode, reason, time, parts, bytes, sections: noCounts, items: noCounts,
  itemsBefore: 0, itemsAfter: 0,
});

/** @param {import('./client/../types/replica.js').Change['sections'] | import('./client/../types/replica.js').Change['items']} changes */
const countsOf = (changes) => ({
  delete: changes.delete.length, insert: changes.insert.length, move: changes.move.length,
  reconfigure: changes.reconfigure.length, reload: changes.reload.length,
});

/**
 * Compares the items of a new state with those of the old one.
 * @param {FeedFollower['replica']['sections']} sectionsBefore @param {Replica} replica
 */
function compared(sectionsBefore, replica) {
  let [kept, kinds, before] = [0, 0, 0];
  for (const section of sectionsBefore) {
    before += section.items.length;
    for (const item of section.items) {
      const now = replica.item(item.id);
      if (now === undefined) continue;
      kept += 1;
      if (now.kind !== item.kind) kinds += 1;
    }
  }
  return { inserted: replica.itemCount - kept, deleted: before - kept, kinds };
}
