/**
 * The feeds of a daemon, or of several instances.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { Connection } from './connection.js';
import { Feed } from './feed.js';
import { FollowedFeed, keyOf } from './followed-feed.js';
import { parsedWithText } from './replica.js';
import { WriteFailed, WriteRejected } from './writes.js';

/**
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('../types/index.js').Written} Written
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 */

/** Most writes of a feed that are pending. */
const mostWrites = 1000;
/** So many seconds after the wait for the outcome of a write, there will be none. */
const writeSeconds = 30;

/** @type {readonly PendingWrite[]} */
const none = [];

export class FeedStore {
  /** @type {Map<string, FollowedFeed>} What somebody listens to, by feed and window. */
  #followed = new Map();
  /** @type {Map<string, readonly PendingWrite[]>} By feed, in their order. */
  #writes = new Map();
  /** @type {Map<string, Promise<unknown>>} The write of each feed that was sent last. */
  #sent = new Map();
  /** @type {Map<string, any>} When windows of a feed are asked for, because they do not tell what has become of writes. */
  #timers = new Map();
  #connection;
  /** @type {Connection | import('./shared-connection.js').SharedConnection | null} What follows: the connection, or that of all tabs, once it is loaded. */
  #link = null;
  #isClosed = false;
  /** @type {Set<AbortController>} The requests in progress. */
  #requests = new Set();

  /**
   * @param {string | readonly string[]} urls
   * @param {import('../types/index.js').FeedStoreOptions & Partial<import('./connection.js').Environment>} [options]
   */
  constructor(urls, options) {
    const { token, share, ...environment } = options ?? {};
    const list = [urls].flat().map((url) => checkedUrl(url));
    if (list.length === 0) throw new TypeError('FeedStore needs the URL of a daemon, such as http://127.0.0.1:8321');
    const connection = this.#connection = new Connection([...new Set(list)], token, environment);
    const { page } = connection.environment;
    if (share === false || !page.document || !page.navigator?.locks || !page.BroadcastChannel) this.#link = connection;
    else import('./shared-connection.js').then((module) => new module.SharedConnection(connection, parsedWithText, share), () => connection).then((link) => this.#start(link));
  }

  /** @param {Connection | import('./shared-connection.js').SharedConnection} link */
  #start(link) {
    if (this.#isClosed) return link.close();
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
    this.#isClosed = true;
    for (const request of this.#requests) request.abort();
    for (const timer of this.#timers.values()) this.#connection.environment.clearTimer(timer);
    this.#link?.close();
    for (const { feeds } of this.#followed.values()) for (const feed of [...feeds]) feed.end();
    this.#followed.clear();
  }

  /** @param {string} id @param {Window | null} window */
  #made(id, window) { return new FollowedFeed(id, window, (feed) => this.#writes.get(feed) ?? none); }

  // What is followed. `Feed` calls these.

  /**
   * Somebody listens to a feed.
   * @param {Feed} feed @param {FollowedFeed} followed What the feed has shown. @returns {FollowedFeed} What it shows.
   */
  joined(feed, followed) {
    if (this.#isClosed) throw new Error('the FeedStore is closed');
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
    const body = JSON.stringify(events);
    if (/^\.\.?$/.test(feed)) throw new WriteRejected('invalid-target', `fetch cannot address a feed whose id is ${feed}; nothing was written`);
    const writes = this.#writes.get(feed) ?? none;
    if (writes.length >= mostWrites) {
      throw new WriteFailed('too-many-writes', `${mostWrites} writes of feed ${JSON.stringify(feed)} are pending; nothing was written. Wait for them`);
    }
    /** @type {PendingWrite} */
    const write = { events: [JSON.parse(body)].flat(), written: null, isPublished: false };
    this.#writes.set(feed, [...writes, write]);
    this.#refresh(feed);
    try {
      // One after the other, because requests at the same time would be applied in any order.
      const sent = (this.#sent.get(feed) ?? Promise.resolve()).then(() => this.#send(feed, body, wait));
      this.#sent.set(feed, sent.catch(() => {}));
      const { written, isPublished } = await sent;
      Object.assign(write, { written, isPublished });
      return written;
    } catch (error) {
      this.#writes.set(feed, (this.#writes.get(feed) ?? none).filter((other) => other !== write));
      throw error;
    } finally {
      this.#refresh(feed);
      this.#settle(feed);
      this.#ask(feed, 2000);
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
    const writes = this.#writes.get(feed)?.filter((write) => write.written === null || followed.some((it) => it.isPending(write))) ?? none;
    if (writes.length > 0) this.#writes.set(feed, writes);
    else this.#writes.delete(feed);
  }

  /**
   * A window is not told of changes outside of it. If it still shows a write some time after the answer, its state is asked for.
   * @param {string} feed @param {number} milliseconds
   */
  #ask(feed, milliseconds) {
    const answered = () => this.#writes.get(feed)?.filter(({ written }) => written !== null) ?? [];
    const waiting = () => this.#followedOf(feed).filter((it) => it.window !== null && answered().some((write) => it.isPending(write)));
    if (this.#isClosed || this.#timers.has(feed) || waiting().length === 0) return;
    this.#timers.set(feed, this.#connection.environment.setTimer(() => {
      this.#timers.delete(feed);
      for (const followed of waiting()) this.#link?.refetch(followed);
      this.#settle(feed);
      this.#ask(feed, Math.min(2 * milliseconds, 60_000));
    }, milliseconds));
  }

  /**
   * @param {string} feed @param {string} body @param {number} wait Seconds.
   * @returns {Promise<{ written: Written, isPublished: boolean }>}
   */
  async #send(feed, body, wait) {
    if (this.#isClosed) throw new WriteFailed(null, 'the FeedStore is closed; nothing was written');
    const { environment, tokens } = this.#connection;
    const url = `${(this.#link ?? this.#connection).urlOf(feed)}/v1/feeds/${encodeURIComponent(feed)}/events`;
    const controller = new AbortController();
    this.#requests.add(controller);
    const timer = environment.setTimer(() => controller.abort(), 1000 * (wait + writeSeconds));
    const post = async () => {
      /** @type {Record<string, string>} */
      const headers = { 'Content-Type': 'application/json', ...(wait > 0 && { Prefer: `wait=${wait}` }), ...await tokens.get() };
      return environment.fetch(url, { method: 'POST', headers, body, cache: 'no-store', signal: controller.signal });
    };
    try {
      let response = await post();
      if (response.status === 401 && await tokens.replace()) response = await post();
      const answer = await response.json();
      if (response.ok) return { written: answer, isPublished: response.status === 200 };
      const [code, detail] = [answer?.code ?? String(response.status), answer?.detail ?? `the daemon answered ${response.status}`];
      throw response.status < 500 ? new WriteRejected(code, detail) : new WriteFailed(code, `${detail}. ${advice}`);
    } catch (error) {
      if (error instanceof WriteRejected || error instanceof WriteFailed) throw error;
      throw new WriteFailed(null, `${url} has not answered: ${error instanceof Error ? error.message : error}. ${advice}`);
    } finally {
      environment.clearTimer(timer);
      this.#requests.delete(controller);
    }
  }
}

const advice = 'The write may be published nevertheless. Whether it is safe to send it again: section 10.2 of the protocol';

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
