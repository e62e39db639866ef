/**
 * A feed, or a window of it, that is followed once for all who show it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Item, keptItem, keptSection, lazyIndex, Section } from './replica/elements.js';
import { ReplicaFault } from './replica/fault.js';
import { parsedWithText } from './replica/json-text.js';
import { PlainReplica } from './replica/plain-replica.js';
import { viewOf } from './view.js';

/**
 * @typedef {import('../types/index.js').Update} Update
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 *
 * A store's services for its feeds: the pending writes of one, and a call for when they may be over.
 * @typedef {{ writesOf: (feed: string) => readonly PendingWrite[], settle: (feed: string) => void,
 *   environment: import('./connection.js').Environment }} Context
 */

/** So many milliseconds of a live feed a write is shown that was taken, if it is published, or if that is not known: it may change nothing here. */
const published = 5000;
const sent = 60_000;

/** @type {typeof import('./draft.js').withWrites | undefined} */
let withWrites;

/** The functions that make sections and items. */
const elements = { Item, keptItem, keptSection, lazyIndex, Section };

/** Whether the module that shows writes is loaded. */
export const hasDraft = () => withWrites !== undefined;

/**
 * Loads the module that shows writes.
 * @returns Whether it was not there.
 */
export async function loadDraft() {
  if (hasDraft()) return false;
  ({ withWrites } = await import('./draft.js'));
  return true;
}

/** A follower of the connection. */
export class FollowedFeed {
  /** @type {Set<import('./feed.js').Feed>} Who shows it, and listens. */
  feeds = new Set();
  /** @type {any} The timer that drops its view after the last listener has left. */
  kept = null;
  #replica;
  /** @type {import('./connection.js').Standing} */
  #standing = { name: 'connecting' };
  /** @type {{ epoch: string, revision: number } | null} The newest version that is known of. */
  #known = null;
  #isAbsent = false;
  #context;
  /** For how many milliseconds it was live before the present standing, and since when it has that. */
  #lived = 0;
  #stoodAt = 0;
  /** @type {WeakMap<PendingWrite, number>} How long it will have been live when writes are over; those that are included already are. */
  #ends = new WeakMap();
  /** @type {any} */
  #timer = null;

  /**
   * @param {string} feed @param {Window | null} window
   * @param {Context} context
   * @param {PlainReplica} [replica] With the state of another window, which is shown until that of this one arrives.
   */
  constructor(feed, window, context, replica = new PlainReplica(feed)) {
    this.feed = feed;
    this.window = window;
    this.#context = context;
    this.#replica = replica;
    this.view = viewOf(replica, this.#standing, null);
  }

  get version() { return this.#replica.version; }

  get key() { return keyOf(this.feed, this.window); }

  /**
   * The present state, for those who begin to listen.
   * @returns {Update | undefined}
   */
  get first() {
    if (this.view.exists || this.view.isPending) return { kind: 'state', view: this.view };
    return this.#isAbsent ? { kind: 'absent', view: this.view } : undefined;
  }

  /**
   * One that follows another window, and shows the state of this one until it has its own.
   * @param {Window | null} window
   */
  copy(window) {
    const copy = new FollowedFeed(this.feed, window, this.#context, this.#replica.copy());
    copy.#standing = this.#standing;
    copy.#show();
    return copy;
  }

  /**
   * Shows a state from before until there is a newer one.
   * @param {string | object} state A reload.
   */
  restore(state) {
    if (this.view.exists) return;
    this.#replica.apply(parsedWithText(typeof state === 'string' ? state : JSON.stringify(state)));
    this.#standing = { name: 'stale', reason: 'disconnected' };
    this.#change('state');
  }

  /** @param {Window | null} window */
  setWindow(window) {
    this.window = window;
    this.#replica.expectReload();
    this.#known = null;
    this.refresh();
  }

  /** @param {import('./connection.js').Standing} standing */
  stand(standing) {
    this.#lived = this.#liveTime;
    this.#stoodAt = this.#context.environment.now();
    this.#standing = standing;
    this.rest();
    this.#change('standing');
  }

  /** @param {string} name @param {any} value @returns {string | undefined} */
  take(name, value) {
    try {
      const misfit = name === 'message' ? this.#apply(value) : undefined;
      if (misfit !== undefined) return this.#expectReload(misfit);
      if (name !== 'message' && value.epoch !== undefined && !this.#replica.isStale) this.#known = { epoch: value.epoch, revision: value.revision };
      switch (name) {
        case 'message': break;
        case 'window':
          if (this.#replica.applyTotals(value)) this.#change(this.view.isPending ? 'pending' : 'standing');
          break;
        case 'must-refetch':
          this.#replica.expectReload();
          break;
        case 'forget':
          this.#isAbsent = false;
          this.#known = null;
          if (this.#replica.remove().type === 'removed') this.#change('state');
          break;
        case 'absent':
          this.#replica.remove();
          if (!this.#isAbsent) this.#beAbsent();
          break;
        default: this.#change('pending');
      }
      return undefined;
    } catch (fault) {
      if (fault instanceof ReplicaFault) return this.#expectReload(fault.message);
      throw fault;
    }
  }

  /** @param {string} misfit */
  #expectReload(misfit) {
    this.#replica.expectReload();
    return misfit;
  }

  /** @param {any} record @returns {string | undefined} */
  #apply(record) {
    const { version } = this;
    if (record.mode === 'reload' && version?.epoch === record.epoch && version?.revision === record.revision && record.checksum !== this.#replica.checksum) {
      return `revision ${record.revision} has another checksum`;
    }
    const outcome = this.#replica.apply(record);
    switch (outcome.type) {
      case 'applied':
        this.#isAbsent = false;
        this.#known = this.version;
        // There is nothing else to say that these are published.
        for (const write of this.#context.writesOf(this.feed)) {
          if (write.written !== null && write.written.offset === undefined) this.#ends.set(write, 0);
        }
        if (outcome.change.mode === 'reload') this.#change('state');
        else this.#change('changed', outcome.change);
        return undefined;
      case 'removed':
        this.#beAbsent();
        return undefined;
      case 'gap': return `a changeset applies to revision ${outcome.base}, and not to ${outcome.revision ?? 'nothing'}`;
      case 'other-epoch': return 'the feed was created again';
      case 'mismatch': return outcome.fault.message;
      default: return undefined;
    }
  }

  #beAbsent() {
    this.#isAbsent = true;
    this.#change('absent');
  }

  /** For how many milliseconds it has been live. */
  get #liveTime() { return this.#lived + (this.#standing.name === 'live' ? this.#context.environment.now() - this.#stoodAt : 0); }

  /** Shows what has become of writes. */
  refresh() { this.#change('pending'); }

  /**
   * Whether a write is still to be shown.
   * @param {PendingWrite} write
   */
  isPending(write) {
    const { written } = write;
    if (written === null) return true;
    const { epoch, through } = this.#replica;
    const { topic, offset, revision, changed } = written;
    const isIncluded = (offset !== undefined && (through?.[topic] ?? -1) >= offset)
      || (revision !== undefined && epoch === written.epoch && this.#known?.epoch === epoch && this.#known.revision >= revision)
      // Published, and there is no feed, or nothing has changed.
      || (write.isPublished && (revision === undefined || changed === false));
    if (isIncluded) this.#ends.set(write, 0);
    else if (write.isDone && !this.#ends.has(write)) this.#ends.set(write, this.#liveTime + (write.isPublished ? published : sent));
    return this.#timeLeft(write) > 0;
  }

  /** @param {PendingWrite} write */
  #timeLeft(write) { return (this.#ends.get(write) ?? Infinity) - this.#liveTime; }

  /** @returns {boolean} Whether a write is shown. */
  #show() {
    const { sections, index } = this.#replica;
    const writes = this.#context.writesOf(this.feed).filter((write) => this.isPending(write));
    const shown = !withWrites || writes.length === 0 || this.#replica.revision === null ? null
      : withWrites(elements, { sections, index }, writes, this.window, this.view);
    this.#wait(Math.min(...writes.map((write) => this.#timeLeft(write))));
    this.view = viewOf(this.#replica, this.#standing, shown);
    return shown !== null;
  }

  /**
   * Looks later what has become of writes.
   * @param {number} left The milliseconds until the first of them is over.
   */
  #wait(left) {
    const { environment, settle } = this.#context;
    this.rest();
    if (left < Infinity && this.#standing.name === 'live') this.#timer = environment.setTimer(() => settle(this.feed), left);
  }

  /** It is not shown any more. */
  rest() {
    this.#context.environment.clearTimer(this.#timer);
    this.#timer = null;
  }

  /** @param {Update['kind']} kind @param {import('../types/replica.js').Change} [change] */
  #change(kind, change) {
    const before = this.view;
    const isPending = this.#show() || before.isPending;
    if (kind === 'pending' && !isPending) {
      this.view = before;
      return;
    }
    /** @type {any} */
    const update = kind === 'changed' && isPending ? { kind: 'pending', view: this.view } : { kind, view: this.view, change };
    for (const feed of [...this.feeds]) feed.emit(update);
  }
}

/**
 * The same for the same window.
 * @param {string} feed @param {Window | null} window
 */
export const keyOf = (feed, window) => JSON.stringify([feed, window?.sections, window?.first, window?.from, window?.count]);
