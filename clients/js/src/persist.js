/**
 * The last views of some feeds, in IndexedDB. This module is loaded if the store has the option `persist`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./followed-feed.js').FollowedFeed} FollowedFeed
 *
 * A stored view: its JSON, the user and the URLs that it belongs to, and when it was live.
 * @typedef {{ key: string, urls: string, user: string, time: number, text: string }} Stored
 */

/** So often what has changed is stored. */
const interval = 10_000;

export class PersistedViews {
  /** @type {Map<FollowedFeed, string>} What is followed, and the version that is stored. */
  #stored = new Map();
  /** @type {any} */
  #timer = null;
  #options;
  #connection;
  #urls;
  #database;

  /** @param {import('../types/index.js').PersistOptions} options @param {import('./connection.js').Connection} connection */
  constructor(options, connection) {
    this.#options = options;
    this.#connection = connection;
    this.#urls = JSON.stringify([...connection.urls].sort());
    const { page } = connection.environment;
    this.#database = new Promise((resolve, reject) => {
      const request = page.indexedDB.open('feedstore', 1);
      request.onupgradeneeded = () => request.result.createObjectStore('views', { keyPath: 'key' });
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    // It may be forbidden. Then nothing is stored.
    this.#database.catch(() => {});
    page.addEventListener?.('visibilitychange', this.save);
    page.addEventListener?.('pagehide', this.save);
  }

  /**
   * Whose views these are; undefined if it is not known.
   * @returns {Promise<string | undefined>}
   */
  async #user() {
    if (this.#options.user !== undefined) return this.#options.user;
    const tokens = await this.#connection.tokens;
    return tokens === undefined ? '' : await tokens.knownUser() || undefined;
  }

  /**
   * Shows what is stored, and stores from now on what is shown.
   * @param {FollowedFeed} followed
   */
  async restore(followed) {
    const { feeds } = this.#options;
    if (!(typeof feeds === 'function' ? feeds(followed.feed) : feeds.includes(followed.feed))) return;
    if (!this.#stored.has(followed)) this.#stored.set(followed, '');
    this.#timer ??= this.#connection.environment.setTimer(this.save, interval);
    const user = await this.#user();
    if (user === undefined) return;
    /** @type {Stored | undefined} */
    const found = await this.#run('readonly', (views) => views.get(this.#keyOf(followed, user)));
    if (found !== undefined) followed.restore(found.text);
  }

  /** Stores what has changed, and forgets what may not be read any more. */
  save = async () => {
    const { environment } = this.#connection;
    environment.clearTimer(this.#timer);
    this.#timer = null;
    const all = [...this.#stored.keys()].map((followed) => ({ followed, view: followed.view }));
    for (const { followed } of all) if (followed.feeds.size === 0) this.#stored.delete(followed);
    if (this.#stored.size > 0) this.#timer = environment.setTimer(this.save, interval);
    try {
      const user = await this.#user();
      if (user === undefined) return;
      let isChanged = false;
      for (const { followed, view } of all) {
        const { exists, standing: { name, reason } } = view;
        const key = this.#keyOf(followed, user);
        const version = JSON.stringify([user, view.epoch, view.revision]);
        if (reason === 'forbidden' || (name === 'live' && !exists)) await this.#run('readwrite', (views) => views.delete(key));
        if (name !== 'live' || !exists || this.#stored.get(followed) === version) continue;
        /** @type {Stored} */
        const stored = { key, urls: this.#urls, user, time: environment.now(), text: JSON.stringify(view) };
        await this.#run('readwrite', (views) => views.put(stored));
        if (this.#stored.has(followed)) this.#stored.set(followed, version);
        isChanged = true;
      }
      if (isChanged) await this.#drop(user);
    } catch {
      // There is no room, or no token. It is tried again.
    }
  };

  /**
   * Drops what other users of these URLs have, and what is too old or too much.
   * @param {string} user
   */
  async #drop(user) {
    const { views: most = 20, characters = 5_000_000 } = this.#options;
    /** @type {Stored[]} */
    const all = await this.#run('readonly', (views) => views.getAll());
    let [count, length] = [0, 0];
    for (const { key, urls, user: owner, text } of all.sort((a, b) => b.time - a.time)) {
      count += 1;
      length += text.length;
      const isForeign = urls === this.#urls && owner !== user;
      if (isForeign || count > most || length > characters) await this.#run('readwrite', (views) => views.delete(key));
    }
  }

  /** @param {FollowedFeed} followed @param {string} user */
  #keyOf(followed, user) { return JSON.stringify([this.#urls, user, followed.key]); }

  /**
   * A transaction of one request.
   * @param {'readonly' | 'readwrite'} mode @param {(views: IDBObjectStore) => IDBRequest} ask @returns {Promise<any>}
   */
  async #run(mode, ask) {
    const request = ask((await this.#database).transaction('views', mode).objectStore('views'));
    return new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  }

  /** Stores for the last time. */
  close() {
    const { environment, environment: { page } } = this.#connection;
    page.removeEventListener?.('visibilitychange', this.save);
    page.removeEventListener?.('pagehide', this.save);
    this.save();
    environment.clearTimer(this.#timer);
    this.#stored.clear();
  }
}
