/**
 * Follows feeds over as few streams as possible, at one instance or several, through interruptions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { FeedStream, headersOf, mostFeeds } from './feed-stream.js';

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
 * @property {any} page What `globalThis` has in a page.
 * @property {(follower: any, name: string, value: any, data: string) => void} [onMessage] Called with each message of a view.
 *
 * What is told about a feed, or a window of it.
 * @typedef {object} Follower
 * @property {string} feed
 * @property {Window | null} window
 * @property {{ epoch: string, revision: number } | null} version What it has of the window; null while only a state fits.
 * @property {(name: string, value: any) => string | undefined} take Takes an event of a stream. Returns why it does not fit; then
 *   the state is sent again.
 * @property {(standing: Standing) => void} stand
 *
 * @typedef {{ status: number, value: any, headers: Headers, token?: Token, isEarly?: boolean }} Answer
 * @typedef {string | null | undefined} Token
 */

/** @type {Standing['name'][]} From the best to the worst. */
const ranks = ['live', 'catching-up', 'connecting', 'stale'];

/** The events of a page after which a connection may exist again. */
const wakeUps = ['online', 'visibilitychange', 'pageshow'];

export class Connection {
  /** @type {Map<Follower, Following>} */
  #followings = new Map();
  /** @type {Set<Follower>} */
  #leaving = new Set();
  /** @type {FeedStream[]} */
  #streams = [];
  #isFlushing = false;
  /** @type {Standing} */
  #standing = { name: 'live' };
  #told = this.#standing;
  /** @type {Set<() => void>} Who listens to the standing. */
  listeners = new Set();
  /** How many views were named. */
  views = 0;
  /** @type {Token} The present one, if there are tokens. */
  token;
  /** @type {import('./shared-connection.js').SharedConnection | undefined} What tabs have in common, once it is loaded. */
  shared;
  #ask;

  /**
   * @param {readonly string[]} urls
   * @param {Pick<import('../types/index.js').FeedStoreOptions, 'token' | 'share' | 'transport'> & Partial<Environment>} [options]
   * @param {() => void} [onUser] Called when the tokens are another user's.
   */
  constructor(urls, options, onUser = () => {}) {
    const { token, share, transport = 'stream', ...environment } = options ?? {};
    if (transport !== 'stream' && transport !== 'poll') throw new TypeError(`transport is 'stream' or 'poll', not ${JSON.stringify(transport)}`);
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
    this.onUser = onUser;
    const { page, fetch: own } = this.environment;
    let polls = /** @type {any} */ (null);
    if (transport === 'poll') {
      this.environment.fetch = async (url, request) => {
        if (!/\/v1\/streams\b/.test(url)) return own(url, request);
        const { pollingFetch } = await import('./poll.js');
        return (polls ??= pollingFetch(this.environment, own))(url, request);
      };
    }
    const { fetch } = this.environment;
    if (!page.document) return;
    for (const name of wakeUps) page.addEventListener?.(name, this.#wake);
    if (share === false || !page.navigator?.locks || !page.BroadcastChannel) return;
    /** @type {Promise<any> | undefined} */
    let loading;
    this.environment.fetch = async (url, request) => {
      if (!/\/v1\/streams\b/.test(url)) return fetch(url, request);
      await (loading ??= import('./shared-connection.js').then((it) => { this.shared = new it.SharedConnection(this, fetch, share); }, () => {}));
      return (this.shared ?? { fetch }).fetch(url, request);
    };
  }

  /** @type {Promise<import('./tokens.js').Tokens> | undefined} */
  #tokens;

  /** The tokens, if the program has some; their code is loaded only then. */
  get tokens() { return this.#ask || this.#tokens ? this.#loadTokens() : undefined; }

  #loadTokens() {
    return this.#tokens ??= import('./tokens.js').then(({ Tokens }) => new Tokens(this.#ask, this)).catch((error) => {
      // It is loaded again with the next request.
      this.#tokens = undefined;
      throw error;
    });
  }

  /** @param {string | null} token One that is not the callback's; null to ask it with the next request. */
  async setToken(token) {
    if ((await this.#loadTokens()).set(token)) for (const stream of this.#streams) stream.retry(true);
    this.flushLater();
  }

  /**
   * Opens the streams again at an instance, or all.
   * @param {string} [url]
   */
  restart(url) { for (const stream of this.#streams) if (!url || stream.url === url) stream.end(); }

  /** Another user has taken over: drops the views and writes of the former one. */
  forget() {
    this.onUser();
    for (const following of this.#followings.values()) following.forget();
    for (const stream of this.#streams) stream.forget();
  }

  /** Tries waiting streams at once, and opens streams again that may have ended unnoticed. */
  reconnect() { for (const stream of this.#streams) stream.retry(); }

  #wake = (/** @type {Event} */ { type }) => {
    if (type === 'online' || this.environment.page.document.visibilityState !== 'hidden') this.reconnect();
  };

  /** The worst of the followed feeds. */
  get standing() {
    const all = [...this.#followings.values()].map(({ standing }) => standing);
    const worst = all.reduce((one, other) => (ranks.indexOf(other.name) > ranks.indexOf(one.name) ? other : one), /** @type {Standing} */ ({ name: 'live' }));
    return this.#standing = isSame(worst, this.#standing) ? this.#standing : worst;
  }

  /** Calls those who listen to the standing, if it is another one. */
  tellLater() {
    queueMicrotask(() => {
      if (this.#told === this.standing) return;
      this.#told = this.standing;
      for (const listener of [...this.listeners]) listener();
    });
  }

  get isOpen() { return this.#streams.some(({ phase }) => phase === 'open'); }

  /**
   * A request with a token, and its answer.
   * @param {string} url @param {RequestInit} request @param {number} milliseconds The time for the answer. @param {AbortSignal} [session] Ends it.
   * @param {() => boolean} [isWanted] For requests of a stream, which are not sent again by themselves if a token is not valid yet.
   * @returns {Promise<Answer>}
   */
  exchange(url, request, milliseconds, session, isWanted) {
    const { fetch, setTimer, clearTimer } = this.environment;
    /** @type {AbortController | null} Of the request on its way. */
    let controller = null;
    const send = async (/** @type {Token} */ token) => {
      session?.throwIfAborted();
      const { signal } = controller = new AbortController();
      const timer = setTimer(() => controller?.abort(), milliseconds);
      try {
        const response = await fetch(url, { cache: 'no-store', ...request, headers: headersOf(token, request.headers), signal });
        return { status: response.status, value: await response.json().catch(() => undefined), headers: response.headers, token };
      } finally {
        clearTimer(timer);
        controller = null;
      }
    };
    return new Promise((resolve, reject) => {
      // While a request waits for a token, none is on its way.
      const abort = () => (controller ? controller.abort() : reject({ end: 'the FeedStore is closed or another user\'s' }));
      if (session?.aborted) return abort();
      session?.addEventListener('abort', abort);
      const sent = async () => (await this.tokens)?.request(send, isWanted) ?? send(null);
      return sent().finally(() => session?.removeEventListener('abort', abort)).then(resolve, reject);
    });
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
  change(follower) { this.#followings.get(follower)?.change(); }

  /**
   * The instance that has a feed, as far as is known.
   * @param {string} feed
   */
  urlOf(feed) {
    const there = [...this.#followings.values()].find(({ follower, home }) => follower.feed === feed && home);
    return (there?.home?.stream ?? this.#streams.find(({ phase }) => phase === 'open'))?.url ?? this.urls[0];
  }

  close() {
    for (const following of this.#followings.values()) following.leave();
    this.#followings.clear();
    this.#flush();
    for (const name of wakeUps) this.environment.page.removeEventListener?.(name, this.#wake);
    this.shared?.close();
  }

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
    // Renews no token until one is needed again.
    if (this.#streams.length === 0) this.#tokens?.then((tokens) => tokens.rest(), () => {});
    for (const following of this.#followings.values()) following.tell();
    this.tellLater();
  }

  /**
   * A stream at an instance with room for a view.
   * @param {string} url
   */
  streamAt(url) {
    let stream = this.#streams.find((it) => it.url === url && it.places.size < mostFeeds);
    if (stream === undefined) this.#streams.push(stream = new FeedStream(url, this));
    return stream;
  }
}

/** @param {any} one @param {any} other */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** A view of a feed that is followed: at the instance that has it, or as long as that is not known, at all of them. */
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
  /** Another number when the state is wanted again. */
  #round = 0;
  /** @type {any} */
  #timer = null;
  /** @type {any} */
  #moving = null;
  /** Whether there is no such feed. */
  #isAbsent = false;
  /** @type {Standing} */
  standing = { name: 'connecting' };
  #connection;

  /** @param {Follower} follower @param {Connection} connection */
  constructor(follower, connection) {
    this.follower = follower;
    this.#connection = connection;
    /** Its name on streams. */
    this.view = String(++connection.views);
  }

  /** The wanted window and round, as text. */
  get key() { return JSON.stringify([{ ...this.follower.window }, this.#round]); }

  /** Asks the instances that may have it. */
  spread() {
    const urls = this.home === null ? [...this.#connection.urls, ...this.#named] : [this.home.stream.url];
    for (const [url, place] of this.#places) if (!urls.includes(url)) this.#remove(place);
    for (const url of urls) {
      if (this.#places.has(url)) continue;
      const place = { following: this, stream: this.#connection.streamAt(url), asked: null, told: null, changes: 0, isUpToDate: false };
      this.#places.set(url, place);
      place.stream.places.set(this.view, place);
    }
  }

  leave() {
    this.begin();
    this.#connection.environment.clearTimer(this.#moving);
    for (const place of this.#places.values()) this.#remove(place);
    this.follower.stand({ name: 'stale', reason: 'disconnected' });
  }

  /** @param {Place} place */
  #remove(place) {
    this.#places.delete(place.stream.url);
    place.stream.places.delete(this.view);
  }

  change() {
    this.fault = null;
    this.#misfit = null;
    // There and back, in one turn: the state is gone.
    if (this.home?.asked === this.key && this.home.changes === 0) this.#round += 1;
    this.#connection.flushLater();
    this.tell();
  }

  forget() {
    this.begin();
    this.home = null;
    this.#named.clear();
    this.#isAbsent = false;
  }

  /** A state is asked for, or there. */
  begin() {
    this.#misfit = null;
    this.#connection.environment.clearTimer(this.#timer);
    this.#timer = null;
  }

  /**
   * Its stream has ended, so other instances may have it.
   * @param {Place} place
   */
  lose(place) {
    if (this.home !== place || (this.#connection.urls.length === 1 && this.#connection.urls[0] === place.stream.url)) return;
    this.home = null;
    this.#connection.flushLater();
  }

  /**
   * Has the state sent again; at once, and if that does not help, less and less often.
   * @param {string} misfit
   */
  #ask(misfit) {
    const { environment } = this.#connection;
    this.#misfit = misfit;
    if (this.#timer !== null) return;
    this.#timer = environment.setTimer(() => {
      this.#timer = null;
      this.#round += 1;
      this.#connection.flushLater();
    }, this.#refetches && Math.min(1000 * 2 ** (this.#refetches - 1), 30_000) * (1 + environment.random() / 4));
    this.#refetches += 1;
  }

  /** @param {Place} place @param {string} name @param {any} value */
  take(place, name, value) {
    if ((this.home ?? place) === place) this.#takeEvent(place, name, value);
    this.tell();
  }

  /** @param {Place} place @param {string} name @param {any} value */
  #takeEvent(place, name, value) {
    const { follower } = this;
    const isReload = value.mode === 'reload';
    if (name === 'message' || name === 'up-to-date' || name === 'window') {
      // Without a state, changes are of one that is not there. A deleted feed has no partition.
      if (follower.version === null && !isReload && value.mode !== 'delete' && (name !== 'up-to-date' || 'partition' in value)) return;
      if (this.#isAbsent && value.mode === 'delete') return;
      this.home = place;
      this.#named.clear();
      place.told = null;
      if (this.#places.size > 1) this.#connection.flushLater();
      if (name === 'up-to-date') place.isUpToDate = true;
      const misfit = follower.take(name, value);
      if (misfit !== undefined) this.#ask(misfit);
      else if (value.mode === 'delete') this.#beAbsent();
      else if (isReload) this.begin();
      else if (name === 'message') this.#refetches = 0;
      if (isReload && misfit === undefined) this.#isAbsent = false;
    } else if (name === 'must-refetch') {
      place.isUpToDate = false;
      // Another instance may have been asked with the version.
      if (this.home !== place) return;
      this.#misfit = value.reason ?? name;
      follower.take(name, value);
    } else if (name === 'absent' || name === 'moved') {
      place.told = name;
      place.isUpToDate = false;
      if (this.home === place) follower.take('must-refetch', value);
      this.home = null;
      this.#misfit = null;
      if (value.url) this.#named.add(String(value.url).replace(/\/+$/, ''));
      this.#connection.flushLater();
      this.#lookElsewhere();
    } else if (name === 'other-partitions') {
      this.partition = value.partition;
      const all = [value.partition, ...(value.otherPartitions ?? [])].sort((a, b) => a - b);
      this.#note = `partitions ${all.join(', ')} have feeds of this id; that of ${value.partition} is followed`;
    }
  }

  /** Whether all instances have said that they do not have the feed. */
  get #isNowhere() {
    return this.#connection.urls.every((url) => this.#places.has(url)) && this.#isTold('absent')
      && [...this.#places.values()].every(({ told }) => told === 'absent' || told === 'moved');
  }

  /** @param {Place['told']} word Whether an instance has said this. */
  #isTold(word) { return [...this.#places.values()].some(({ told }) => told === word); }

  /** There is no such feed, unless it is just moving: the instance that gets it says for a while that there is none. */
  #lookElsewhere() {
    const { environment } = this.#connection;
    if (!this.#isNowhere) return;
    environment.clearTimer(this.#moving);
    if (this.#isTold('moved')) {
      this.#moving = environment.setTimer(() => {
        if (this.#isNowhere) this.#beAbsent();
        this.tell();
      }, 30_000);
    } else this.#beAbsent();
  }

  #beAbsent() {
    this.begin();
    this.#isAbsent = true;
    this.follower.take('absent', {});
  }

  /** Tells the standing, if it is another one. */
  tell() {
    const standing = this.#found();
    if (isSame(standing, this.standing)) return;
    this.standing = standing;
    this.follower.stand(standing);
    this.#connection.tellLater();
  }

  /** @returns {Standing} */
  #found() {
    const places = [...this.#places.values()];
    if (this.fault !== null) return { name: 'stale', reason: 'bad-request', detail: this.fault };
    const { home } = this;
    if (home?.stream.phase === 'open' && home.told === null) {
      if (this.#misfit !== null) return { name: 'stale', reason: 'must-refetch', detail: this.#misfit };
      const isLive = home.isUpToDate && home.changes === 0 && home.asked === this.key;
      return { name: isLive ? 'live' : 'catching-up', ...(this.#note && { detail: this.#note }) };
    }
    if (this.#isAbsent && this.#isNowhere) return { name: 'live' };
    if (places.some(({ stream: { phase }, told }) => phase === 'open' && told === null)) return { name: 'catching-up' };
    if (this.#isTold('moved')) return { name: 'stale', reason: 'moved', detail: [...this.#named].join(' ') || undefined };
    if (this.#isTold('forbidden')) return { name: 'stale', reason: 'forbidden', detail: 'the token does not allow reading this feed' };
    const trouble = places.find(({ stream }) => stream.trouble !== null)?.stream.trouble;
    return trouble ? { name: 'stale', ...trouble } : { name: 'connecting' };
  }
}
