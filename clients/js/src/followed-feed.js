/**
 * A feed, or a window of it, that is followed once for all who show it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Replica, ReplicaFault } from './replica.js';
import { FeedView } from './view.js';
import { withWrites } from './writes.js';

/**
 * @typedef {import('../types/index.js').Update} Update
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 */

/** A follower of the connection. */
export class FollowedFeed {
  /** @type {Set<import('./feed.js').Feed>} Who shows it, and listens. */
  feeds = new Set();
  #replica;
  /** @type {import('./connection.js').Standing} */
  #standing = { name: 'connecting' };
  /** @type {{ epoch: string, revision: number } | null} The newest version that is known of. */
  #known = null;
  /** @type {WeakSet<PendingWrite>} Writes that what is shown includes. */
  #included = new WeakSet();
  #isAbsent = false;
  #writesOf;

  /**
   * @param {string} feed @param {Window | null} window
   * @param {(feed: string) => readonly PendingWrite[]} writesOf
   * @param {Replica} [replica] With the state of another window, which is shown until that of this one arrives.
   */
  constructor(feed, window, writesOf, replica = new Replica(feed)) {
    this.feed = feed;
    this.window = window;
    this.#writesOf = writesOf;
    this.#replica = replica;
    this.view = new FeedView(replica, this.#standing, null);
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
    const copy = new FollowedFeed(this.feed, window, this.#writesOf, this.#replica.copy());
    copy.#standing = this.#standing;
    copy.#show();
    return copy;
  }

  /** @param {Window | null} window */
  setWindow(window) {
    this.window = window;
    this.#replica.expectReload();
    this.#known = null;
  }

  /** @param {import('./connection.js').Standing} standing */
  stand(standing) {
    this.#standing = standing;
    this.#change('standing');
  }

  /** @param {string} name @param {any} value @returns {string | undefined} */
  take(name, value) {
    if (value?.epoch !== undefined) this.#known = { epoch: value.epoch, revision: value.revision };
    try {
      switch (name) {
        case 'message': return this.#apply(value);
        case 'window':
          if (this.#replica.applyTotals(value)) this.#change('standing');
          break;
        case 'must-refetch':
          this.#replica.expectReload();
          break;
        case 'absent':
          this.#replica.remove();
          if (!this.#isAbsent) this.#beAbsent();
          break;
        default: this.#change('pending');
      }
      return undefined;
    } catch (fault) {
      if (fault instanceof ReplicaFault) return fault.message;
      throw fault;
    }
  }

  /** @param {any} record @returns {string | undefined} */
  #apply(record) {
    const outcome = this.#replica.apply(record);
    switch (outcome.type) {
      case 'applied':
        this.#isAbsent = false;
        // There is nothing else to say that these are published.
        for (const write of this.#writesOf(this.feed)) {
          if (write.written !== null && write.written.offset === undefined) this.#included.add(write);
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
    const { topic, offset, revision } = written;
    const isIncluded = (offset !== undefined && (through?.[topic] ?? -1) >= offset)
      || (revision !== undefined && epoch === written.epoch && this.#known?.epoch === epoch && this.#known.revision >= revision)
      // Published, and there is no feed.
      || (write.isPublished && revision === undefined);
    if (isIncluded) this.#included.add(write);
    return !this.#included.has(write);
  }

  /** @returns {boolean} Whether a write is shown. */
  #show() {
    const { sections, index } = this.#replica;
    const writes = this.#writesOf(this.feed).filter((write) => this.isPending(write));
    const { shown, effective } = writes.length === 0 ? { shown: null, effective: undefined }
      : withWrites({ sections, index }, writes, this.window, this.view);
    // What is published, and shows nothing here, will not show anything later.
    for (const write of writes) if (write.isPublished && !effective?.has(write)) this.#included.add(write);
    this.view = new FeedView(this.#replica, this.#standing, shown);
    return shown !== null;
  }

  /** @param {Update['kind']} kind @param {import('./replica.js').Change} [change] */
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
