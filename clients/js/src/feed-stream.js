/**
 * One stream of many feeds, kept in agreement with what is to be followed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

import { EventStream } from './event-stream.js';
import { parsedWithText } from './replica/json-text.js';

/**
 * A feed on a stream.
 * - `told`: what the instance said instead of the feed's content.
 * - `round`: another number when the feed's state is wanted again.
 * - `changes`: so many states are still to be announced; what comes before belongs to something that is no longer wanted.
 *
 * @typedef {object} Place
 * @property {import('./connection.js').Following} following
 * @property {FeedStream} stream
 * @property {null | 'absent' | 'moved' | 'forbidden'} told
 * @property {number} round
 * @property {number} changes
 * @property {boolean} isUpToDate
 *
 * @typedef {{ reason: NonNullable<import('./connection.js').Standing['reason']>, detail?: string, until?: number }} Trouble
 */

export const mostFeeds = 256;

export class FeedStream {
  /** @type {Map<string, Place>} What is to be followed, by the ids of the feeds. */
  places = new Map();
  /** @type {Map<string, string>} What the instance was asked for, by the ids of the feeds. */
  #asked = new Map();
  /** @type {Set<string>} Those that the token does not allow: asked for again, they come without `must-refetch`. */
  #forbidden = new Set();
  /** @type {string | null} The stream's name, while it is open. */
  #id = null;
  #isStarted = false;
  isOpen = false;
  /** @type {Trouble | null} Why it is not open, or does not follow what it should. */
  trouble = null;
  #isPatching = false;
  /** @type {any} */
  #timer = null;
  #failures = 0;
  /** @type {EventStream} */
  #source;
  #connection;

  /** @param {string} url @param {import('./connection.js').Connection} connection */
  constructor(url, connection) {
    this.url = url;
    this.#connection = connection;
    this.#source = new EventStream(`${url}/v1/streams`, {
      ...connection.environment,
      fetch: (address, request) => connection.request(address, request, true),
      body: () => this.#body(),
      onEvent: ({ name, data }) => this.#take(name, data),
      onState: (state) => this.#takeState(state),
    });
  }

  /** Makes the instance follow what is to be followed. */
  flush() {
    if (this.places.size === 0) return this.close();
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.#source.open();
    }
    this.#patch();
    return undefined;
  }

  close() {
    this.#isStarted = false;
    this.#forget();
    this.#source.close();
  }

  /** Passes a newer token on. */
  renew() { this.#patch(true); }

  #forget() {
    this.#id = null;
    this.isOpen = false;
    this.#asked.clear();
    this.#forbidden.clear();
    this.#connection.environment.clearTimer(this.#timer);
    this.#failures = 0;
    for (const place of this.places.values()) Object.assign(place, { told: null, changes: 0, isUpToDate: false });
  }

  // What it is asked for.

  get #wanted() { return [...this.places.values()].filter(({ following }) => following.fault === null); }

  #body() {
    this.#forget();
    const wanted = this.#wanted;
    for (const place of wanted) this.#asked.set(place.following.follower.feed, keyOf(place));
    return JSON.stringify({ feeds: this.#sent = wanted.map((place) => requestOf(place, true)) });
  }

  /** @type {any[]} The requests that were sent last. */
  #sent = [];

  /** @param {boolean} [isTokenNew] */
  async #patch(isTokenNew = false) {
    const [id, { environment }] = [this.#id, this.#connection];
    if (id === null || this.#isPatching) return;
    const wanted = this.#wanted;
    const added = wanted.filter((place) => this.#asked.get(place.following.follower.feed) !== keyOf(place));
    const ids = new Set(wanted.map(({ following }) => following.follower.feed));
    const remove = [...this.#asked.keys()].filter((feed) => !ids.has(feed));
    if (added.length === 0 && remove.length === 0 && !isTokenNew) {
      // What could not be asked for is not wanted any more.
      if (this.trouble !== null) this.#setTrouble(null);
      return;
    }
    this.#isPatching = true;
    environment.clearTimer(this.#timer);
    const before = new Map(this.#asked);
    const changed = added.filter(({ following: { follower: { feed } } }) => before.has(feed) && !this.#forbidden.has(feed));
    for (const feed of remove) {
      this.#asked.delete(feed);
      this.#forbidden.delete(feed);
    }
    const add = added.map((place) => {
      const { feed } = place.following.follower;
      this.#asked.set(feed, keyOf(place));
      return requestOf(place, !changed.includes(place));
    });
    // What is on its way of a feed that was followed differently comes before `must-refetch`.
    for (const place of changed) place.changes += 1;
    this.#sent = add;
    for (const { following } of added) following.tell();
    /** @type {Response | null} */
    let response = null;
    let problem;
    try {
      response = await this.#connection.request(`${this.url}/v1/streams/${id}`, {
        method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ add, remove }), cache: 'no-store',
      });
      problem = await response.json();
    } catch {
      // There is no answer, or none that says more.
    }
    this.#isPatching = false;
    if (this.#id !== id) return this.flushLater();
    if (response?.ok) {
      this.#failures = 0;
      if (this.trouble !== null) this.#setTrouble(null);
      return this.flushLater();
    }
    // Nothing was changed.
    this.#asked = before;
    for (const place of changed) place.changes = Math.max(0, place.changes - 1);
    if (response?.status === 404) return this.#source.restart({ isPatient: this.#failures++ > 0 });
    if (response?.status === 400 && this.#refuse(problem, 'add')) return this.flushLater();
    const milliseconds = Math.min(3000 * 2 ** this.#failures, 30_000) * (1 + environment.random() / 4);
    this.#failures += 1;
    this.#timer = environment.setTimer(() => this.#patch(), milliseconds);
    return this.#setTrouble({ ...troubleOf(response?.status, problem), until: environment.now() + milliseconds });
  }

  flushLater() { this.#connection.flushLater(); }

  /**
   * Leaves out the feed that made a request invalid, so that all others are followed.
   * @param {any} problem @param {string} list @returns {boolean} Whether there is such a feed.
   */
  #refuse(problem, list) {
    const [, name, index] = /^(\w+)\[([0-9]+)\]/.exec(problem?.member ?? '') ?? [];
    const feed = name === list ? this.#sent[Number(index)]?.feed : undefined;
    const place = this.places.get(feed);
    if (place === undefined) return false;
    place.following.refuse(problem.detail);
    return true;
  }

  // What it says.

  /** @param {import('./event-stream.js').StreamState} state @returns {void} */
  #takeState({ state, until, status, problem }) {
    if (state === 'open') {
      this.isOpen = true;
      this.#setTrouble(null);
    } else if (state === 'waiting' || state === 'refused') {
      this.#forget();
      if (status === 400 && this.#refuse(problem, 'feeds')) return this.#source.open();
      if (state === 'waiting') {
        const isTokenNeeded = this.trouble?.reason === 'token-needed' && status === undefined;
        this.#setTrouble({ ...(isTokenNeeded ? this.trouble : troubleOf(status, problem)), until });
        return this.#connection.lost(this);
      }
      this.#setTrouble(troubleOf(status, problem));
      this.#source.restart({ isPatient: true });
    }
    return undefined;
  }

  /** @param {any} trouble */
  #setTrouble(trouble) {
    this.trouble = trouble;
    for (const { following } of this.places.values()) following.tell();
  }

  /** @param {string} name @param {string} data */
  #take(name, data) {
    let value;
    try {
      value = name === 'message' ? parsedWithText(data) : JSON.parse(data);
    } catch {
      return;
    }
    if (name === 'stream') {
      this.#id = value?.stream ?? null;
      this.#patch();
      return;
    }
    if (name === 'forbidden') this.#forbidden.add(value?.feed);
    else this.#forbidden.delete(value?.feed);
    const { environment } = this.#connection;
    const place = this.places.get(value?.feed);
    if (place === undefined || !this.#asked.has(value.feed)) return;
    if (name === 'must-refetch' && place.changes > 0) {
      place.changes -= 1;
      place.isUpToDate = false;
    // Otherwise it is of something that is no longer wanted.
    } else if (place.changes === 0 && this.#asked.get(value.feed) === keyOf(place)) {
      environment.onMessage?.(place.following.follower, name, value, data);
      place.following.take(place, name, value, data);
    }
  }
}

/**
 * What of a feed is wanted, as text.
 * @param {Place} place @returns {string}
 */
const keyOf = ({ following: { follower: { window } }, round }) => JSON.stringify([window, round]);

/** @param {Place} place @param {boolean} isNew Whether the stream does not follow the feed yet. @returns {any} */
function requestOf({ following: { follower: { feed, window, version }, partition } }, isNew) {
  return { feed, partition, ...window, ...(isNew && version) };
}

/** @param {number | undefined} status @param {any} problem @returns {Trouble} */
function troubleOf(status, problem) {
  const detail = problem?.detail ?? problem?.code ?? (status && `the daemon answered ${status}`);
  if (status === undefined) return { reason: 'disconnected', detail };
  if (status === 401) return { reason: 'token-needed', detail };
  if (status === 403) return { reason: 'forbidden', detail };
  return { reason: status >= 400 && status < 500 && status !== 429 ? 'bad-request' : 'unavailable', detail };
}
