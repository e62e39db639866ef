/**
 * The feeds of a daemon, or of several instances.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Connection } from './connection.js';
import { Feed } from './feed.js';
import { FollowedFeed, keyOf } from './followed-feed.js';
import { parsedWithText } from './replica/json-text.js';
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
  /** @type {Map<string, Promise<unknown>>} The write of each feed that was sent last. */
  #sent = new Map();
  #connection;
  /** @type {Connection | import('./shared-connection.js').SharedConnection | null} What follows: the connection, or that of all tabs, once it is loaded. */
  #link = null;
  /** @type {import('./followed-feed.js').Context} */
  #context;
  #closing = new AbortController();

  /**
   * @param {string | readonly string[]} urls
   * @param {import('../types/index.js').FeedStoreOptions & Partial<import('./connection.js').Environment>} [options]
   */
  constructor(urls, options) {
    const { token, share, ...given } = options ?? {};
    const list = [urls].flat().map((url) => checkedUrl(url));
    if (list.length === 0) checkedUrl('');
    const connection = this.#connection = new Connection([...new Set(list)], token, given);
    const { environment, environment: { page } } = connection;
    this.#context = {
      environment,
      writesOf: (feed) => this.#writes.get(feed) ?? none,
      refetch: (followed) => this.#link?.refetch(followed),
      settle: (feed) => {
        this.#refresh(feed);
        this.#settle(feed);
      },
    };
    if (share === false || !page.document || !page.navigator?.locks || !page.BroadcastChannel) this.#link = connection;
    else import('./shared-connection.js').then((module) => new module.SharedConnection(connection, parsedWithText, share), () => connection).then((link) => this.#start(link));
  }

  /** @param {Connection | import('./shared-connection.js').SharedConnection} link */
  #start(link) {
    if (this.#closing.signal.aborted) return link.close();
    this.#link = link;
    for (const followed of this.#followed.values()) link.follow(followed);
    return undefined;
  }

  /** @param {string} id @param {Window | null} [window] */
  feed(id, window = null) {
    if (typeof id !== 'string' || id === '') throw new TypeError(`a feed's id is a string, not ${JSON.stringify(id)}`);
    return new Feed(this, this.#followed.get(keyOf(id, window)) ?? this.#made(id, window));
  }

  close() {
    this.#closing.abort();
    this.#link?.close();
    for (const followed of this.#followed.values()) {
      followed.rest();
      for (const feed of [...followed.feeds]) feed.end();
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
    if (this.#closing.signal.aborted) throw new Error('the FeedStore is closed');
    const shown = this.#followed.get(followed.key) ?? followed;
    this.#followed.set(shown.key, shown);
    if (shown.feeds.size === 0) this.#link?.follow(shown);
    shown.feeds.add(feed);
    return shown;
  }

  /**
   * Nobody listens to it any more.
   * @param {Feed} feed @param {FollowedFeed} followed
   */
  left(feed, followed) {
    followed.feeds.delete(feed);
    if (followed.feeds.size > 0) return;
    followed.rest();
    this.#followed.delete(followed.key);
    this.#link?.unfollow(followed);
    this.#settle(followed.feed);
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
      this.#link?.change(followed);
      return followed;
    }
    const shown = there ?? followed.copy(window);
    if (!isFollowed) return shown;
    this.left(feed, followed);
    return this.joined(feed, shown);
  }

  // Writes.

  /**
   * @param {string} feed @param {any} events @param {import('../types/index.js').WriteOptions} [options] @returns {Promise<Written>}
   */
  async write(feed, events, options) {
    const wait = options?.wait ?? 10;
    // The inspector has its text.
    const body = typeof events === 'string' ? events : JSON.stringify(events);
    const writes = this.#context.writesOf(feed);
    if (writes.length >= mostWrites) {
      throw new WriteFailed('too-many-writes', `${mostWrites} writes of ${JSON.stringify(feed)} are pending; nothing was written. Wait for them`);
    }
    /** @type {PendingWrite} */
    const write = { events: [JSON.parse(body)].flat(), written: null, isPublished: false };
    this.#writes.set(feed, [...writes, write]);
    this.#refresh(feed);
    try {
      // One after the other, because requests at the same time would be applied in any order.
      const sent = (this.#sent.get(feed) ?? Promise.resolve()).then(async () => {
        const { sendWrite } = await import('./write-request.js').catch((error) => {
          throw new WriteFailed(null, `nothing was written: ${error.message}`);
        });
        const link = this.#link ?? this.#connection;
        return sendWrite(this.#connection, link.urlOf(feed), { feed, body, wait, closing: this.#closing.signal }, { WriteFailed, WriteRejected });
      });
      this.#sent.set(feed, sent.catch(() => {}));
      const { written, isPublished } = await sent;
      Object.assign(write, { written, isPublished });
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
    const writes = this.#context.writesOf(feed).filter((write) => write.written === null || followed.some((it) => it.isPending(write)));
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
