/**
 * One stream of many views, kept in agreement with what is to be followed. It is opened again whenever it ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { EventStreamParser } from './event-stream.js';
import { parsedWithText } from './replica/json-text.js';

/**
 * A view on a stream.
 * - `asked`: what the instance was asked for, as text.
 * - `told`: what the instance said instead of the feed's content.
 * - `changes`: so many states are still to be announced; what comes before belongs to something that is no longer wanted.
 *
 * @typedef {object} Place
 * @property {import('./connection.js').Following} following
 * @property {FeedStream} stream
 * @property {string | null} asked
 * @property {null | 'absent' | 'moved' | 'forbidden'} told
 * @property {number} changes
 * @property {boolean} isUpToDate
 *
 * @typedef {{ reason: NonNullable<import('./connection.js').Standing['reason']>, detail?: string, until?: number }} Trouble
 */

export const mostFeeds = 256;
/** After so many milliseconds without a response, the standing says so; without a byte, the stream has ended. */
const patience = 10_000;
const silence = 60_000;
/** After so many milliseconds without a byte, `reconnect` does not trust a stream. */
const doubt = 20_000;
/** A stream that had events for so many milliseconds is opened again at once, after a random part of `atOnce`. */
const steady = 5000;
const atOnce = 50;
const longestWait = 30_000;
/** The longest `Retry-After` in seconds, and the least spread above it in milliseconds. */
const mostAfter = 300;
const leastSpread = 1500;
const answerTime = 30_000;

const most = '; a browser opens at most six connections to a server over HTTP/1.1, for all its tabs';
const noStreams = 'this fetch has no streams; give one that has, such as that of expo/fetch: new FeedStore(url, { fetch })';

export class FeedStream {
  /** @type {Map<string, Place>} What is to be followed, by the names of the views. */
  places = new Map();
  /** @type {'idle' | 'asking' | 'connecting' | 'open' | 'waiting'} */
  phase = 'idle';
  /** @type {Trouble | null} Why it is not open. */
  trouble = null;
  /** @type {Map<string, string>} The feeds that the instance follows, as far as it was asked, by the names of the views. */
  #sent = new Map();
  /** @type {AbortController | null} Of this attempt. */
  #controller = null;
  /** @type {string | null} The stream's name, while it is open. */
  #name = null;
  /** @type {import('./connection.js').Token} The one that it has. */
  #token = null;
  #isPatching = false;
  /** The wait before a new connection that the server asks for. */
  #retry = 3000;
  #failures = 0;
  /** When the first event of this attempt arrived, and the newest byte. */
  #since = Infinity;
  #heard = 0;
  /** @type {any} Until a response is late. */
  #late = null;
  /** @type {any} Of a wait, or of silence. */
  #timer = null;
  #connection;

  /** @param {string} url @param {import('./connection.js').Connection} connection */
  constructor(url, connection) {
    this.url = url;
    this.#connection = connection;
  }

  /** Makes the instance follow what is to be followed. */
  flush() {
    if (this.#wanted.length === 0) this.#close();
    else if (this.phase === 'idle') this.#connect();
    else this.#patch();
  }

  /**
   * Tries at once if it waits, or if nothing has arrived for a while.
   * @param {boolean} [isTrusted] Not then.
   */
  retry(isTrusted = false) {
    if (this.phase === 'waiting') {
      if (!isTrusted) this.#failures = 0;
      this.#connect();
    } else if (!isTrusted && this.phase === 'open' && this.#connection.environment.now() - this.#heard >= doubt) this.end();
  }

  /** Opens it again at once. */
  end() { if (this.phase !== 'idle') this.#fail({ reason: 'disconnected' }, 0, true); }

  /** Its content belongs to a former user. */
  forget() {
    if (this.phase === 'asking') return;
    this.end();
    this.#setTrouble(null);
  }

  #close() {
    const { clearTimer } = this.#connection.environment;
    const controller = this.#controller;
    this.#controller = null;
    this.phase = 'idle';
    this.#name = null;
    this.#since = Infinity;
    this.#isPatching = false;
    this.#sent.clear();
    clearTimer(this.#late);
    clearTimer(this.#timer);
    for (const place of this.places.values()) Object.assign(place, { asked: null, told: null, changes: 0, isUpToDate: false });
    controller?.abort();
  }

  async #connect() {
    const connection = this.#connection;
    const { url } = this;
    const { fetch, setTimer, page } = connection.environment;
    this.#close();
    const { signal } = this.#controller = new AbortController();
    this.phase = 'asking';
    this.#late = setTimer(() => this.#setTrouble(this.phase === 'asking'
      ? { reason: 'token-needed', detail: 'the token\'s callback has not answered for 10 s' }
      : { reason: 'disconnected', detail: `${url} has not answered for 10 s${page.document ? most : ''}` }), patience);
    this.#listen();
    const send = (/** @type {import('./connection.js').Token} */ token) => {
      signal.throwIfAborted();
      this.phase = 'connecting';
      this.#token = token;
      const wanted = this.#wanted;
      for (const { following } of wanted) following.begin();
      const body = JSON.stringify({ feeds: wanted.map((place) => this.#entryOf(place)) });
      this.#asked = wanted;
      const headers = headersOf(token, { Accept: 'text/event-stream', 'Content-Type': 'application/json' });
      return fetch(`${url}/v1/streams`, { method: 'POST', body, headers, cache: 'no-store', signal });
    };
    /** @type {Trouble} */
    let trouble = { reason: 'disconnected' };
    let after = 0;
    try {
      const response = await ((await connection.tokens)?.open(send, this.#failures === 0, () => !signal.aborted) ?? send(null));
      if (signal.aborted) return;
      if (response.ok && /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')) {
        const reader = response.body?.getReader?.();
        if (reader) await this.#read(reader, signal);
        else trouble = { reason: 'unavailable', detail: noStreams };
      } else {
        const problem = await response.json().catch(() => undefined);
        if (signal.aborted) return;
        if (response.status === 400 && this.#refuse(problem, this.#asked)) {
          this.#close();
          connection.flushLater();
          return;
        }
        [trouble, after] = [troubleOf(response.status, problem), afterOf(response)];
      }
    } catch (error) {
      // A network error, whose details browsers report only on their console, or no token.
      const { end } = /** @type {any} */ (error);
      if (end) trouble = { reason: 'token-needed', detail: end };
      else if (/** @type {string} */ (this.phase) !== 'open') trouble.detail = this.#unreachable;
    }
    if (!signal.aborted) this.#fail(trouble, after);
  }

  /** @type {Place[]} The request's. */
  #asked = [];

  /** @param {ReadableStreamDefaultReader<Uint8Array>} reader @param {AbortSignal} signal */
  async #read(reader, signal) {
    this.phase = 'open';
    this.#connection.environment.clearTimer(this.#late);
    this.#setTrouble(null);
    const parser = new EventStreamParser({
      onEvent: ({ name, data }) => { if (!signal.aborted) this.#take(name, data); },
      onRetry: (milliseconds) => { this.#retry = milliseconds; },
    });
    while (!signal.aborted) {
      this.#listen();
      this.#connection.shared?.beat(this);
      const { done, value } = await reader.read();
      if (done || signal.aborted) return;
      parser.push(value);
    }
  }

  #listen() {
    const { clearTimer, setTimer, now } = this.#connection.environment;
    this.#heard = now();
    clearTimer(this.#timer);
    this.#timer = setTimer(() => this.#fail({ reason: 'disconnected' }), silence);
  }

  /**
   * It has ended, or did not begin: it is opened again, at once if it lasted. Every wait has a random part, so that clients do not all come
   * back at once after a restart of the server.
   * @param {Trouble} trouble @param {number} [after] The least wait. @param {boolean} [isSteady]
   */
  #fail(trouble, after = 0, isSteady = this.#connection.environment.now() - this.#since >= steady) {
    const { now, random, setTimer } = this.#connection.environment;
    this.#close();
    let [delay, spread] = [after, atOnce];
    if (!isSteady) delay = Math.max(Math.min(this.#retry * 2 ** this.#failures++, longestWait), after);
    if (delay > 0) spread = Math.max(delay / 4, after > 0 ? leastSpread : 0);
    const milliseconds = delay + random() * spread;
    this.phase = 'waiting';
    this.#timer = setTimer(() => this.#connect(), milliseconds);
    for (const place of this.places.values()) place.following.lose(place);
    this.#setTrouble({ ...trouble, until: now() + milliseconds });
  }

  /** @param {Trouble | null} trouble */
  #setTrouble(trouble) {
    this.trouble = trouble;
    for (const { following } of this.places.values()) following.tell();
  }

  /** Why there may be no response at all. */
  get #unreachable() {
    const { url } = this;
    const { location } = this.#connection.environment.page;
    const isOther = location && !`${url}/`.startsWith(`${location.origin}/`);
    return `${url} cannot be reached${isOther ? `; if the daemon runs, list ${location.origin} in its http.allowedOrigins` : ''}`;
  }

  // What it is asked for.

  get #wanted() { return [...this.places.values()].filter(({ following }) => following.fault === null); }

  /** @param {Place} place @returns {any} */
  #entryOf(place) {
    const { follower: { feed, window, version }, partition, view, key } = place.following;
    place.asked = key;
    this.#sent.set(view, feed);
    return { feed, view, partition, ...window, ...version };
  }

  async #patch() {
    const [name, connection, controller] = [this.#name, this.#connection, this.#controller];
    if (name === null || this.#isPatching) return;
    const added = this.#wanted.filter(({ asked, following: { key } }) => asked !== key);
    const removed = [...this.#sent].filter(([view]) => this.places.get(view)?.following.fault !== null);
    // Every open stream gets the newest token.
    if (added.length === 0 && removed.length === 0 && (!connection.token || connection.token === this.#token)) return;
    this.#isPatching = true;
    const sent = new Map(this.#sent);
    const before = added.map(({ asked }) => asked);
    // Messages of the former window arrive before `must-refetch`.
    const changed = added.filter(({ asked, told }) => asked !== null && told !== 'forbidden');
    for (const place of changed) place.changes += 1;
    for (const [view] of removed) this.#sent.delete(view);
    const body = JSON.stringify({
      add: added.length > 0 ? added.map((place) => this.#entryOf(place)) : undefined,
      remove: removed.length > 0 ? removed.map(([view, feed]) => ({ feed, view })) : undefined,
    });
    const isCurrent = () => this.#controller === controller;
    const request = { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body };
    const answer = await connection.exchange(`${this.url}/v1/streams/${name}`, request, answerTime, controller?.signal, isCurrent).catch(() => null);
    if (!isCurrent()) return;
    this.#isPatching = false;
    if (answer?.status === 200) {
      this.#token = answer.token;
      connection.flushLater();
      return;
    }
    this.#sent = sent;
    added.forEach((place, at) => { place.asked = before[at]; });
    for (const place of changed) place.changes = Math.max(0, place.changes - 1);
    // Then the stream goes on with the token before.
    if (answer?.isEarly) return;
    if (answer?.status === 400 && this.#refuse(answer.value, added)) connection.flushLater();
    // A stream that the daemon does not know has ended.
    else if (answer === null || answer.status === 404) this.#fail({ reason: 'disconnected' });
    else this.#fail(troubleOf(answer.status, answer.value), afterOf(answer));
  }

  /**
   * Leaves out the view that made a request invalid, so that all others are followed.
   * @param {any} problem @param {Place[]} places @returns {boolean} Whether there is such a view.
   */
  #refuse(problem, places) {
    const place = places[Number(/^\w+\[(\d+)/.exec(problem?.member)?.[1])];
    if (place === undefined) return false;
    place.following.fault = problem.detail;
    place.following.tell();
    return true;
  }

  // What it says.

  /** @param {string} name @param {string} data */
  #take(name, data) {
    const { shared, environment } = this.#connection;
    if (shared?.take(this, name, data)) return;
    let value;
    try {
      value = name === 'message' ? parsedWithText(data) : JSON.parse(data);
    } catch {
      // It cannot be told which view that is.
      return this.#fail({ reason: 'disconnected' });
    }
    this.#failures = 0;
    this.#since = Math.min(this.#since, environment.now());
    if (name === 'stream') {
      this.#name = value.stream;
      return this.#connection.flushLater();
    }
    const place = this.places.get(value.view);
    if (!place?.asked) return;
    const { following } = place;
    if (name === 'forbidden' || (name === 'must-refetch' && place.changes > 0)) {
      place.isUpToDate = false;
      place.told = name === 'forbidden' ? name : null;
      place.changes = name === 'forbidden' ? 0 : place.changes - 1;
      if (value.reason === 'token-expired') this.#connection.tokens?.then((tokens) => tokens.refuse(this.#token, {}), () => {});
      following.tell();
    // Otherwise it is of something that is no longer wanted.
    } else if (place.changes === 0 && place.asked === following.key) {
      environment.onMessage?.(following.follower, name, value, data);
      following.take(place, name, value);
    }
  }
}

/** @param {import('./connection.js').Token} token @param {any} [others] @returns {Record<string, string>} */
export const headersOf = (token, others) => ({ ...others, ...(token && { Authorization: `Bearer ${token}` }) });

/**
 * The milliseconds of `Retry-After`.
 * @param {{ headers: Headers }} response
 */
const afterOf = ({ headers }) => 1000 * Math.min(Number(headers.get('retry-after')), mostAfter) || 0;

/** @param {number} status @param {any} problem @returns {Trouble} */
function troubleOf(status, problem) {
  const detail = problem?.detail ?? problem?.code ?? `the daemon answered ${status}`;
  if (status === 401) return { reason: 'token-needed', detail };
  if (status === 403) return { reason: 'forbidden', detail };
  return { reason: status >= 400 && status < 500 && status !== 429 ? 'bad-request' : 'unavailable', detail };
}
