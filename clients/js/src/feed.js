/**
 * A feed as one part of a program shows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { checkedView } from './view.js';

/**
 * @typedef {import('../types/index.js').Update} Update
 * @typedef {import('../types/index.js').Window} Window
 */

/** An iteration that has more updates to take gets the newest state in place of all of them. */
const mostUpdates = 100;

/** What `FeedStore.feed` returns. */
export class Feed {
  /** @type {Set<{ listener: (update: Update) => void, end?: () => void }>} */
  #listeners = new Set();
  #followed;
  #store;
  #parse;

  /**
   * @param {import('./store.js').FeedStore} store @param {import('./followed-feed.js').FollowedFeed} followed
   * @param {import('../types/index.js').FeedOptions<any>} [options]
   */
  constructor(store, followed, options) {
    this.#store = store;
    this.#followed = followed;
    this.#parse = options?.parse;
    if (options?.initial) followed.restore(options.initial);
  }

  get id() { return this.#followed.feed; }
  get window() { return this.#followed.window; }
  get view() { return this.#checked(this.#followed.view); }

  /** @param {any} view */
  #checked(view) { return this.#parse ? checkedView(this.#parse, view) : view; }

  /** @param {Window | null} [window] */
  show(window = null) {
    const former = this.#followed;
    const { first, view } = this.#followed = this.#store.changed(this, former, window);
    if (former !== this.#followed && former.view.sections !== view.sections && first) this.emit(first);
  }

  /** @param {(update: Update) => void} listener */
  subscribe(listener) { return this.#subscribe({ listener }); }

  /** @param {{ listener: (update: Update) => void, end?: () => void }} entry */
  #subscribe(entry) {
    this.#followed = this.#store.joined(this, this.#followed);
    this.#listeners.add(entry);
    queueMicrotask(() => {
      const { first } = this.#followed;
      if (first !== undefined && this.#listeners.has(entry)) this.#pass(entry, first);
    });
    return () => {
      if (this.#listeners.delete(entry) && this.#listeners.size === 0) this.#store.left(this, this.#followed);
    };
  }

  /** @param {any} entry @param {any} update */
  #pass(entry, update) { entry.listener({ ...update, view: this.#checked(update.view) }); }

  /** @param {any} update */
  emit(update) {
    for (const entry of [...this.#listeners]) {
      if (!this.#listeners.has(entry)) continue;
      try {
        this.#pass(entry, update);
      } catch (error) {
        // It is the program's, and must not keep others from the update.
        queueMicrotask(() => { throw error; });
      }
    }
  }

  /** The store is closed. */
  end() {
    for (const { end } of this.#listeners) end?.();
    this.#listeners.clear();
  }

  /** @param {any} events @param {import('../types/index.js').WriteOptions} [options] */
  write(events, options) { return this.#store.write(this.id, events, options); }

  /** @param {any} sections @param {import('../types/index.js').WriteOptions} [options] */
  async apply(sections, options) {
    const { eventsTo } = await import('./apply.js');
    const events = eventsTo(sections, this.window, this.#followed.view, this.view);
    return events.length > 0 ? this.write(events, options) : null;
  }

  /** @returns {AsyncIterableIterator<Update>} */
  [Symbol.asyncIterator]() {
    /** @type {Update[]} */
    let updates = [];
    /** @type {((result: any) => void)[]} */
    const waiting = [];
    /** @type {(() => void) | undefined} */
    let unsubscribe;
    let isDone = false;
    const pass = () => {
      while (waiting.length > 0 && (isDone || updates.length > 0)) waiting.shift()?.({ done: isDone, value: updates.shift() });
    };
    const end = () => {
      isDone = true;
      unsubscribe?.();
      updates = [];
      pass();
    };
    const listener = (/** @type {Update} */ update) => {
      updates.push(update);
      if (updates.length > mostUpdates) updates = [{ kind: 'state', view: update.view }];
      pass();
    };
    return {
      next: () => new Promise((resolve) => {
        if (!isDone) unsubscribe ??= this.#subscribe({ listener, end });
        waiting.push(resolve);
        pass();
      }),
      return: async (value) => {
        end();
        return { done: true, value };
      },
      [Symbol.asyncIterator]() { return this; },
    };
  }
}
