/**
 * Follows feeds over as few streams as possible, at one instance or several, through interruptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { FeedStream, mostFeeds } from './feed-stream.js';

/**
 * @typedef {import('../types/index.js').Standing} Standing
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {import('./feed-stream.js').Place} Place
 *
 * What a program is made of; replaced in tests.
 * @typedef {object} Environment
 * @property {(url: string, request: RequestInit) => Promise<Response>} fetch
 * @property {() => number} random
 * @property {(run: () => void, milliseconds: number) => any} setTimer
 * @property {(timer: any) => void} clearTimer
 * @property {() => number} now
 * @property {(follower: Follower, name: string, value: any, text: string) => void} [onMessage] Sees each message before it is taken.
 * @property {any} page What `globalThis` has in a page.
 *
 * What is told about a feed, or a window of it.
 * @typedef {object} Follower
 * @property {string} feed
 * @property {Window | null} window
 * @property {string} key The same for the same window of the same feed.
 * @property {{ epoch: string, revision: number } | null} version What it has of the window.
 * @property {(name: string, value: any, text: string) => string | undefined} take Takes an event of a stream. Returns why it does not
 *   fit; then the state is sent again.
 * @property {(standing: Standing) => void} stand
 */

/** How often states were wanted so far. */
let rounds = 0;

export class Connection {
  /** @type {Map<Follower, Following>} */
  #followings = new Map();
  /** @type {Set<Follower>} */
  #leaving = new Set();
  /** @type {FeedStream[]} */
  #streams = [];
  #isFlushing = false;
  #ask;

  /**
   * @param {readonly string[]} urls @param {() => any} [token] @param {Partial<Environment>} [environment]
   */
  constructor(urls, token, environment) {
    this.urls = urls;
    /** @type {Environment} */
    this.environment = {
      fetch: (url, request) => globalThis.fetch(url, request),
      random: Math.random,
      setTimer: (run, milliseconds) => setTimeout(run, milliseconds),
      clearTimer: (timer) => clearTimeout(timer),
      now: Date.now,
      page: globalThis,
      ...environment,
    };
    this.#ask = token;
  }

  /** @type {Promise<import('./tokens.js').Tokens> | undefined} */
  #tokens;

  /** The tokens, if the program has some; their code is loaded only then. */
  get tokens() {
    return this.#ask && (this.#tokens ??= import('./tokens.js').then(({ Tokens }) => (
      new Tokens(this.#ask, this.environment, () => { for (const stream of this.#streams) stream.renew(); })
    )).catch((error) => {
      // It is loaded again with the next request.
      this.#tokens = undefined;
      throw error;
    }));
  }

  /**
   * A request with a token.
   * @param {string} url @param {RequestInit} request @param {boolean} [isNew] Whether to ask for another token.
   */
  async request(url, request, isNew) {
    const tokens = await this.tokens;
    return tokens === undefined ? this.environment.fetch(url, request) : tokens.request(url, request, isNew);
  }

  /** @param {Follower} follower */
  follow(follower) {
    this.#leaving.delete(follower);
    if (!this.#followings.has(follower)) this.#followings.set(follower, new Following(follower, this));
    this.flushLater();
  }

  /** @param {Follower} follower */
  unfollow(follower) {
    this.#leaving.add(follower);
    this.flushLater();
  }

  /**
   * The window of a follower is another one.
   * @param {Follower} follower
   */
  change(follower) {
    const following = this.#followings.get(follower);
    if (following) following.fault = null;
    following?.askNow();
    following?.tell();
  }

  /**
   * Has the state sent again; at once, and if that does not help, less and less often.
   * @param {Follower} follower
   */
  refetch(follower) { this.#followings.get(follower)?.ask(); }

  /**
   * Has the state sent now, because somebody else needs it.
   * @param {Follower} follower
   */
  refetchNow(follower) { this.#followings.get(follower)?.askNow(); }

  /**
   * The instance that has a feed, as far as is known.
   * @param {string} feed
   */
  urlOf(feed) {
    const there = [...this.#followings.values()].find(({ follower, home }) => follower.feed === feed && home);
    return (there?.home?.stream ?? this.#streams.find(({ isOpen }) => isOpen))?.url ?? this.urls[0];
  }

  close() {
    for (const following of this.#followings.values()) following.leave();
    this.#followings.clear();
    for (const stream of this.#streams) stream.close();
    this.#streams = [];
    this.#rest();
  }

  /** Renews no token until one is needed again. */
  #rest() { this.#tokens?.then((tokens) => tokens.rest(), () => {}); }

  /** Several calls in one turn of the event loop lead to one request. */
  flushLater() {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    // Not with a timer, which is slow in a tab that is not visible. Those who begin to listen get the present state first.
    queueMicrotask(() => queueMicrotask(() => this.#flush()));
  }

  #flush() {
    this.#isFlushing = false;
    for (const follower of this.#leaving) {
      this.#followings.get(follower)?.leave();
      this.#followings.delete(follower);
    }
    this.#leaving.clear();
    for (const following of this.#followings.values()) following.spread();
    for (const stream of this.#streams) stream.flush();
    this.#streams = this.#streams.filter(({ places }) => places.size > 0);
    if (this.#streams.length === 0) this.#rest();
  }

  /**
   * A stream at an instance with room for a feed.
   * @param {string} url @param {string} feed
   */
  streamAt(url, feed) {
    let stream = this.#streams.find((it) => it.url === url && it.places.size < mostFeeds && !it.places.has(feed));
    if (stream === undefined) this.#streams.push(stream = new FeedStream(url, this));
    return stream;
  }

  /**
   * A stream has broken, so other instances may have its feeds.
   * @param {FeedStream} stream
   */
  lost(stream) {
    for (const { following } of stream.places.values()) following.lose(stream);
  }
}

/** A feed that is followed: at the instance that has it, or as long as that is not known, at all of them. */
export class Following {
  /** @type {Map<string, Place>} By URL. */
  #places = new Map();
  /** @type {Place | null} Where the feed is. */
  home = null;
  /** @type {Set<string>} Instances that others have named. */
  #named = new Set();
  /** @type {number | undefined} The one that is followed, if several have feeds of this id. */
  partition;
  /** @type {string | undefined} */
  #note;
  /** @type {string | null} Why the request for it is not valid. */
  fault = null;
  /** @type {string | null} Why its state is needed again. */
  #misfit = null;
  /** How often it was asked for since a change fitted. */
  #refetches = 0;
  /** @type {any} */
  #timer = null;
  /** @type {any} */
  #moving = null;
  /** Whether there is no such feed. */
  #isAbsent = false;
  /** Whether there was a state since it is followed. */
  #wasHere = false;
  #standing = '';
  #connection;

  /** @param {Follower} follower @param {Connection} connection */
  constructor(follower, connection) {
    this.follower = follower;
    this.#connection = connection;
  }

  /** Asks the instances that may have it. */
  spread() {
    const urls = this.home === null ? [...this.#connection.urls, ...this.#named] : [this.home.stream.url];
    for (const [url, place] of this.#places) if (!urls.includes(url)) this.#remove(place);
    for (const url of urls) {
      if (this.#places.has(url)) continue;
      const stream = this.#connection.streamAt(url, this.follower.feed);
      const place = { following: this, stream, told: null, round: ++rounds, changes: 0, isUpToDate: false };
      this.#places.set(url, place);
      stream.places.set(this.follower.feed, place);
    }
    this.tell();
  }

  leave() {
    const { environment } = this.#connection;
    environment.clearTimer(this.#timer);
    environment.clearTimer(this.#moving);
    for (const place of this.#places.values()) this.#remove(place);
    this.follower.stand({ name: 'stale', reason: 'disconnected' });
  }

  /** @param {Place} place */
  #remove(place) {
    this.#places.delete(place.stream.url);
    place.stream.places.delete(this.follower.feed);
  }

  /** @param {string} detail */
  refuse(detail) {
    this.fault = detail;
    this.tell();
  }

  /** @param {import('./feed-stream.js').FeedStream} stream */
  lose(stream) {
    if (this.home?.stream !== stream) return;
    const { urls } = this.#connection;
    if (urls.length === 1 && urls[0] === stream.url) return;
    this.home = null;
    this.#connection.flushLater();
  }

  ask() {
    const { environment } = this.#connection;
    // What comes until then does not fit either.
    if (this.#timer !== null) return;
    const run = () => {
      this.#timer = null;
      this.askNow();
    };
    if (this.#refetches === 0) run();
    else this.#timer = environment.setTimer(run, Math.min(1000 * 2 ** (this.#refetches - 1), 30_000) * (1 + environment.random() / 4));
    this.#refetches += 1;
  }

  askNow() {
    for (const place of this.#places.values()) place.round = ++rounds;
    this.#connection.flushLater();
  }

  /** @param {Place} place @param {string} name @param {any} value @param {string} text */
  take(place, name, value, text) {
    if ((this.home ?? place) === place) this.#takeEvent(place, name, value, text);
    this.tell();
  }

  /** @param {Place} place @param {string} name @param {any} value @param {string} text */
  #takeEvent(place, name, value, text) {
    const { follower } = this;
    if (name === 'message' || name === 'up-to-date' || name === 'window') {
      this.#settle(place);
      if (name === 'up-to-date' && this.#misfit === null) place.isUpToDate = true;
      const misfit = follower.take(name, value, text);
      if (misfit !== undefined) {
        this.#misfit = misfit;
        this.ask();
      } else if (value.mode === 'reload') this.#fit();
      else if (name === 'message') this.#refetches = 0;
    } else if (name === 'must-refetch') {
      this.#misfit = value.reason ?? name;
      place.isUpToDate = false;
      follower.take(name, value, text);
    } else if (name === 'absent' || name === 'moved') {
      place.told = name;
      place.isUpToDate = false;
      this.home = null;
      if (value.url) this.#named.add(String(value.url).replace(/\/+$/, ''));
      this.#connection.flushLater();
      this.#beAbsent();
    } else if (name === 'forbidden') {
      place.told = name;
      place.isUpToDate = false;
    } else if (name === 'other-partitions') {
      this.partition = value.partition;
      const all = [value.partition, ...(value.otherPartitions ?? [])].sort((a, b) => a - b);
      this.#note = `partitions ${all.join(', ')} have feeds of this id; that of ${value.partition} is followed`;
    }
  }

  #fit() {
    this.#misfit = null;
    this.#connection.environment.clearTimer(this.#timer);
    this.#timer = null;
  }

  /**
   * The feed is here.
   * @param {Place} place
   */
  #settle(place) {
    place.told = null;
    this.#wasHere = true;
    this.#isAbsent = false;
    if (this.home === place) return;
    this.home = place;
    this.#named.clear();
    this.tell();
    if (this.#places.size > 1) this.#connection.flushLater();
  }

  /** Whether all instances have said that they do not have the feed. */
  get #isNowhere() {
    return this.#connection.urls.every((url) => this.#places.has(url)) && this.#isTold('absent')
      && [...this.#places.values()].every(({ told }) => told === 'absent' || told === 'moved');
  }

  /** @param {Place['told']} word Whether an instance has said this. */
  #isTold(word) { return [...this.#places.values()].some(({ told }) => told === word); }

  /** There is no such feed, unless it is just moving: the instance that gets it says for a while that there is none. */
  #beAbsent() {
    const { environment } = this.#connection;
    if (!this.#isNowhere || this.#isAbsent) return;
    const take = () => {
      if (!this.#isNowhere) return;
      this.#isAbsent = true;
      this.#fit();
      this.follower.take('absent', {}, '{}');
      this.tell();
    };
    environment.clearTimer(this.#moving);
    if (this.#isTold('moved')) this.#moving = environment.setTimer(take, 30_000);
    else take();
  }

  /** Tells the standing, if it is another one. */
  tell() {
    const text = JSON.stringify(this.#found());
    if (text === this.#standing) return;
    this.#standing = text;
    this.follower.stand(JSON.parse(text));
  }

  /** @returns {Standing} */
  #found() {
    const places = [...this.#places.values()];
    if (this.fault !== null) return { name: 'stale', reason: 'bad-request', detail: this.fault };
    const { home } = this;
    if (home !== null && home.stream.isOpen && home.told === null && home.stream.trouble === null) {
      if (this.#misfit !== null) return { name: 'stale', reason: 'must-refetch', detail: this.#misfit };
      return { name: home.isUpToDate && home.changes === 0 ? 'live' : 'catching-up', ...(this.#note && { detail: this.#note }) };
    }
    if (this.#isAbsent && this.#isNowhere) return { name: 'live' };
    if (this.#isTold('moved')) return { name: 'stale', reason: 'moved', detail: [...this.#named].join(' ') || undefined };
    if (this.#isTold('forbidden')) return { name: 'stale', reason: 'forbidden', detail: 'the token does not allow to read this feed' };
    const trouble = places.find(({ stream }) => stream.trouble !== null)?.stream.trouble;
    if (trouble) return { name: 'stale', ...trouble };
    const isOpen = places.some(({ stream }) => stream.isOpen);
    if (this.#wasHere ? home?.stream.isOpen !== true : !isOpen && this.follower.version !== null) return { name: 'stale', reason: 'disconnected' };
    return { name: isOpen ? 'catching-up' : 'connecting' };
  }
}
