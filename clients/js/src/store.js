/**
 * The feeds of a daemon, or of several instances.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Connection } from './connection.js';
import { Feed } from './feed.js';
import { FollowedFeed, hasDraft, keyOf, loadDraft } from './followed-feed.js';
import { WriteFailed, WriteRejected } from './writes.js';

/**
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('../types/index.js').Written} Written
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 */

/** Most writes of a feed that are pending. */
const mostWrites = 1000;

/** @type {readonly PendingWrite[]} */
const none = [];

export class FeedStore {
  /** @type {Map<string, FollowedFeed>} What somebody listens to, by feed and window. */
  #followed = new Map();
  /** @type {Map<string, readonly PendingWrite[]>} By feed, in their order. */
  #writes = new Map();
  /** @type {Promise<import('./write-request.js').Writer> | undefined} */
  #writer;
  #connection;
  /** @type {import('./followed-feed.js').Context} */
  #context;
  #keep;
  /** @type {Promise<import('./persist.js').PersistedViews> | undefined} */
  #persisted;
  #isClosed = false;
  /** Ends when the store is closed, or another user's. */
  #session = new AbortController();

  /**
   * @param {string | readonly string[]} urls
   * @param {import('../types/index.js').FeedStoreOptions & Partial<import('./connection.js').Environment>} [options]
   */
  constructor(urls, options) {
    const list = [urls].flat().map((url) => checkedUrl(url));
    if (list.length === 0) checkedUrl('');
    const connection = this.#connection = new Connection([...new Set(list)], options, () => this.#forget());
    this.#context = {
      environment: connection.environment,
      writesOf: (feed) => this.#writes.get(feed) ?? none,
      settle: (feed) => {
        this.#refresh(feed);
        this.#settle(feed);
      },
    };
    const { keep = 30_000, share, persist } = options ?? {};
    this.#keep = keep;
    if (persist && connection.environment.page.indexedDB) {
      this.#persisted = import('./persist.js').then((module) => new module.PersistedViews({ ...(share && { user: share }), ...persist }, connection));
    }
  }

  /** @param {string} id @param {Window | null} [window] @param {import('../types/index.js').FeedOptions<any>} [options] */
  feed(id, window = null, options) {
    if (typeof id !== 'string' || id === '') throw new TypeError(`a feed's id is a string, not ${JSON.stringify(id)}`);
    return new Feed(this, this.#followed.get(keyOf(id, window)) ?? this.#made(id, window), options);
  }

  /** @param {string | null} token */
  setToken(token) { return this.#connection.setToken(token); }

  reconnect() { this.#connection.reconnect(); }

  get standing() { return this.#connection.standing; }

  /** @param {() => void} listener */
  subscribe(listener) {
    const { listeners } = this.#connection;
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }

  /** Drops the views and writes of the former user. */
  #forget() {
    this.#session.abort();
    this.#session = new AbortController();
    this.#writes.clear();
    for (const followed of this.#followed.values()) followed.take('forget', {});
  }

  close() {
    this.#isClosed = true;
    this.#persisted?.then((views) => views.close(), () => {});
    this.#session.abort();
    this.#connection.close();
    for (const followed of this.#followed.values()) {
      followed.rest();
      for (const feed of [...followed.feeds]) feed.end();
      this.#context.environment.clearTimer(followed.kept);
    }
    this.#followed.clear();
  }

  /** @param {string} id @param {Window | null} window */
  #made(id, window) { return new FollowedFeed(id, window, this.#context); }

  // What is followed. `Feed` calls these.

  /**
   * Somebody listens to a feed.
   * @param {Feed} feed @param {FollowedFeed} followed What the feed has shown. @returns {FollowedFeed} What it shows.
   */
  joined(feed, followed) {
    if (this.#isClosed) throw new Error('the FeedStore is closed');
    const shown = this.#followed.get(followed.key) ?? followed;
    this.#followed.set(shown.key, shown);
    const isFirst = shown.feeds.size === 0;
    shown.feeds.add(feed);
    if (isFirst) this.#follow(shown);
    return shown;
  }

  /**
   * The last listener has left.
   * @param {Feed} feed @param {FollowedFeed} followed
   */
  left(feed, followed) {
    followed.feeds.delete(feed);
    if (followed.feeds.size > 0) return;
    followed.rest();
    this.#connection.unfollow(followed);
    const drop = () => {
      this.#followed.delete(followed.key);
      this.#settle(followed.feed);
    };
    if (this.#keep === 0) drop();
    else followed.kept = this.#context.environment.setTimer(drop, this.#keep);
    followed.kept?.unref?.();
  }

  /** @param {FollowedFeed} followed */
  #follow(followed) {
    this.#context.environment.clearTimer(followed.kept);
    const follow = () => { if (followed.feeds.size > 0) this.#connection.follow(followed); };
    if (hasDraft() && !this.#persisted) return follow();
    // With the draft, a write is shown at once from the first state on.
    const restored = this.#persisted?.then((views) => views.restore(followed));
    return Promise.allSettled([loadDraft(), restored]).then(follow);
  }

  /**
   * A feed shows another window.
   * @param {Feed} feed @param {FollowedFeed} followed @param {Window | null} window @returns {FollowedFeed} What it shows.
   */
  changed(feed, followed, window) {
    const key = keyOf(followed.feed, window);
    if (key === followed.key) return followed;
    const there = this.#followed.get(key);
    const isFollowed = followed.feeds.has(feed);
    if (there === undefined && isFollowed && followed.feeds.size === 1) {
      this.#followed.delete(followed.key);
      followed.setWindow(window);
      this.#followed.set(key, followed);
      this.#connection.change(followed);
      return followed;
    }
    const shown = there ?? followed.copy(window);
    if (!isFollowed) return shown;
    this.left(feed, followed);
    return this.joined(feed, shown);
  }

  // Writes.

  /**
   * @param {string} feed @param {any} events Or their JSON text. @param {import('../types/index.js').WriteOptions} [options] @returns {Promise<Written>}
   */
  async write(feed, events, options) {
    const { wait = 10, coalesce, if: condition } = options ?? {};
    const writes = this.#context.writesOf(feed);
    let content;
    try {
      const body = typeof events === 'string' ? events : JSON.stringify(events);
      content = { wait, body, events: [JSON.parse(body)].flat() };
      if (condition !== undefined) {
        content.events[0] = { ...content.events[0], if: condition };
        content.body = JSON.stringify(content.events);
      }
    } catch (error) {
      throw new WriteRejected('invalid-content', `JSON cannot spell the events, nothing was written: ${/** @type {Error} */ (error).message}`);
    }
    let write = writes.find((it) => coalesce !== undefined && it.coalesce === coalesce && !it.isSent);
    if (write === undefined) {
      if (writes.length >= mostWrites) {
        throw new WriteFailed('too-many-writes', `${mostWrites} writes of ${JSON.stringify(feed)} are pending; nothing was written. Wait for them`);
      }
      write = { coalesce, isSent: false, isDone: false, written: null, isPublished: false, ...content };
      this.#writes.set(feed, [...writes, write]);
      write.outcome = this.#send(feed, write);
    }
    Object.assign(write, content);
    this.#refresh(feed);
    loadDraft().then((isNew) => isNew && this.#refresh(feed), () => {});
    return /** @type {Promise<Written>} */ (write.outcome);
  }

  /** @param {string} feed @param {PendingWrite} write @returns {Promise<Written>} */
  async #send(feed, write) {
    const { signal } = this.#session;
    this.#writer ??= import('./write-request.js').then(({ Writer }) => new Writer(this.#connection, { WriteFailed, WriteRejected }));
    try {
      const writer = await this.#writer.catch((error) => {
        this.#writer = undefined;
        throw new WriteFailed(null, `nothing was written: ${error.message}`);
      });
      const written = await writer.send(feed, write, signal, () => this.#context.settle(feed));
      write.isDone = true;
      return written;
    } catch (error) {
      this.#writes.set(feed, this.#context.writesOf(feed).filter((other) => other !== write));
      throw error;
    } finally {
      this.#context.settle(feed);
    }
  }

  /** @param {string} feed */
  #refresh(feed) { for (const followed of this.#followedOf(feed)) followed.refresh(); }

  /** @param {string} feed */
  #followedOf(feed) { return [...this.#followed.values()].filter((followed) => followed.feed === feed); }

  /**
   * Forgets writes that all who show the feed have.
   * @param {string} feed
   */
  #settle(feed) {
    const followed = this.#followedOf(feed);
    const writes = this.#context.writesOf(feed).filter((write) => !write.isDone || followed.some((it) => it.isPending(write)));
    if (writes.length > 0) this.#writes.set(feed, writes);
    else this.#writes.delete(feed);
  }
}

/** @param {unknown} url */
function checkedUrl(url) {
  try {
    const { protocol, username, href } = new URL(String(url), globalThis.location?.href);
    if (/^https?:$/.test(protocol) && username === '') return href.replace(/\/+$/, '');
  } catch {
    // Said below.
  }
  throw new TypeError(`${JSON.stringify(url)} is not the URL of a daemon, such as http://127.0.0.1:8321`);
}
