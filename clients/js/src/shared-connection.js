/**
 * One connection for all tabs of an origin.
 *
 * The tab that holds a Web Lock leads: its connection follows what all tabs show, and a BroadcastChannel carries to them what arrives. When it is
 * closed, or crashes, the lock goes to the next tab, which continues with the versions that the tabs have. (A SharedWorker needs a script with a
 * URL of its own, which bundlers break, and Chrome for Android has none.)
 *
 * A tab sends all that it follows, when that changes, when another tab leads, and from time to time. So a list that is lost is made up for.
 *
 * This module is loaded when it is needed. It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Follower} Follower
 * @typedef {import('./connection.js').Standing} Standing
 * @typedef {import('../types/index.js').Window} Window
 * @typedef {{ epoch: string, revision: number } | null} Version
 *
 * What a tab follows. `number` is another one when the tab needs the state again; `was` is the key of the window that was shown before.
 * @typedef {{ key: string, feed: string, window: Window | null, version: Version, number: number, was?: string }} Entry
 *
 * What this tab follows. `misfit` is why something does not fit, until the state does; `told` is the standing as its follower knows it.
 * @typedef {{ follower: Follower, number: number, was?: string, misfit?: string, askedAt: number, standing?: Standing, told?: string }} OwnEntry
 *
 * What the leading tab sends: an event of a stream, or a standing, for the follower with this key in some tabs.
 * @typedef {{ to: string[], key?: string, name?: string, text?: string, version?: Version, standing?: Standing, url?: string }} Delivery
 */

/** A visible tab takes the lead from one that has not answered for so many milliseconds: phones stop tabs that are not visible. */
const patience = 10_000;
/** So often a tab sends what it follows, and says again that something does not fit. */
const interval = 30_000;

/** @param {Version} one @param {Version} other */
const isSame = (one, other) => one?.epoch === other?.epoch && one?.revision === other?.revision;

/** The user that a token names. @param {Record<string, string>} [headers] Those of a request. */
function userOf({ Authorization = '' } = {}) {
  if (Authorization === '') return '';
  const { sub } = JSON.parse(atob(Authorization.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
  if (typeof sub !== 'string') throw new TypeError('the token names no user');
  return sub;
}

/** What several tabs show, as a follower of the connection. */
class SharedFollower {
  /** @type {Map<string, number>} The tabs, with the number of their entry. */
  tabs = new Map();
  /** @type {Set<string>} The tabs that wait for the state. */
  waiting = new Set();
  /** @type {Standing} */
  standing = { name: 'connecting' };
  isAbsent = false;
  /** The newest event `window`, which has changed nothing of the version. */
  #totals = '';
  #send;

  /** @param {Entry} entry @param {(to: Iterable<string>, delivery: Omit<Delivery, 'to'>, value?: any) => string | undefined} send */
  constructor({ key, feed, window, version }, send) {
    this.key = key;
    this.feed = feed;
    this.window = window;
    /** What the tabs have that do not wait. */
    this.version = version;
    this.#send = send;
  }

  /** @param {string} name @param {any} value @param {string} text */
  take(name, value, text) {
    const { key, tabs } = this;
    const { mode, epoch, revision, part = 0, parts = 1 } = value;
    const isReload = mode === 'reload';
    // Tabs that wait for the state cannot apply anything else.
    const misfit = this.#send([...tabs.keys()].filter((tab) => isReload || !this.waiting.has(tab)), { key, name, text, ...(isReload && parts === 1 && { version: { epoch, revision } }) }, value);
    this.#totals = name === 'window' ? text : name === 'message' ? '' : this.#totals;
    if (name === 'absent' || mode === 'delete') {
      this.#tellAbsent(this.waiting);
      this.#settle(null, true);
    } else if (name === 'must-refetch' || misfit !== undefined) this.version = null;
    else if (name === 'message' && part === parts - 1 && (isReload || this.version !== null)) {
      if (isReload) {
        const waited = [...this.waiting];
        this.#settle({ epoch, revision }, false);
        // A state that came unasked: the stream was live all along.
        if (this.standing.name === 'live') this.#tell(waited, this.standing);
      } else this.version = { epoch, revision };
    }
    return misfit;
  }

  /** @param {Version} version @param {boolean} isAbsent */
  #settle(version, isAbsent) {
    this.version = version;
    this.isAbsent = isAbsent;
    this.waiting.clear();
  }

  /** @param {Standing} standing */
  stand(standing) {
    this.standing = standing;
    // While a tab gets the state, the others stay as they are.
    const { name } = standing;
    const isOfSome = this.waiting.size > 0 && (name === 'live' || name === 'catching-up');
    this.#tell([...this.tabs.keys()].filter((tab) => !isOfSome || this.waiting.has(tab) === (name !== 'live')), standing);
  }

  /** @param {Iterable<string>} to */
  #tellAbsent(to) { this.#send(to, { key: this.key, name: 'absent', text: '{}' }); }

  /** @param {Iterable<string>} to @param {Standing} standing */
  #tell(to, standing) { this.#send(to, { key: this.key, standing }); }

  /**
   * A tab shows it from now on, or needs the state again.
   * @param {string} tab @param {Entry} entry @returns {boolean} Whether the state is to be sent again.
   */
  join(tab, { number, version }) {
    this.tabs.set(tab, number);
    const isNeeded = (version === null || !isSame(version, this.version)) && this.ask(tab);
    if (this.#totals !== '' && !this.waiting.has(tab)) this.#send([tab], { key: this.key, name: 'window', text: this.#totals });
    this.#tell([tab], this.waiting.has(tab) && this.standing.name === 'live' ? { name: 'catching-up' } : this.standing);
    return isNeeded;
  }

  /**
   * A tab needs the state.
   * @param {string} tab @returns {boolean} Whether it is to be sent again; otherwise it is on its way, or there is none.
   */
  ask(tab) {
    if (this.isAbsent) {
      this.#tellAbsent([tab]);
      return false;
    }
    this.waiting.add(tab);
    const isNeeded = this.version !== null;
    this.version = null;
    return isNeeded;
  }

  /** @param {string} tab */
  leave(tab) {
    this.tabs.delete(tab);
    this.waiting.delete(tab);
  }

  /**
   * Its only tab shows another window.
   * @param {string} tab @param {Entry} entry
   */
  change(tab, { key, window, number }) {
    Object.assign(this, { key, window });
    this.tabs.set(tab, number);
    // Of a feed that does not exist, no state comes.
    if (this.isAbsent) return;
    this.version = null;
    this.waiting.clear();
    this.waiting.add(tab);
  }
}

export class SharedConnection {
  #connection;
  #parse;
  #page;
  #name;
  #user = '';
  /** @type {Map<string, OwnEntry>} What this tab follows, by key. */
  #own = new Map();
  #number = 0;
  /** @type {Set<Follower>} */
  #leaving = new Set();
  #isTelling = false;
  /** @type {Map<string, string>} Where feeds are, by their ids. */
  #urls = new Map();
  /** This tab's name. */
  #tab = '';
  /** @type {any} */
  #channel = null;
  #lockName = '';
  /** Ends the lock that says that this tab is there. */
  #stay = new AbortController();
  /** Ends the wait for the lead, or the lead. */
  #candidacy = new AbortController();
  /** @type {any} */
  #beat = null;
  /** @type {any} Runs while there is no answer of the leading tab. */
  #silence = null;
  /** When the leading tab took the lead, as far as is known. One that was stopped may believe that it still leads. */
  #term = 0;
  /** @type {Set<string> | null} The tabs that follow something, if this one leads. */
  #tabs = null;
  /** @type {Map<string, SharedFollower>} What they follow, by key. */
  #shared = new Map();

  /**
   * @param {Connection} connection Of this tab, to follow with if it leads.
   * @param {(text: string) => any} parse
   * @param {string} [name] Of those who share. Without one, they are those with the same `sub` in their tokens, or without tokens.
   */
  constructor(connection, parse, name) {
    this.#connection = connection;
    this.#parse = parse;
    this.#page = connection.environment.page;
    this.#name = name;
    const { environment, environment: { fetch } } = connection;
    environment.fetch = (url, request) => {
      this.#check(/** @type {any} */ (request.headers));
      return fetch(url, request);
    };
    this.#join();
    this.#page.addEventListener('pagehide', this.#hide);
    this.#page.addEventListener('pageshow', this.#show);
    this.#page.addEventListener('visibilitychange', this.#look);
  }

  // What a store calls, as of a connection.

  /** @param {Follower} follower */
  follow(follower) {
    this.#leaving.delete(follower);
    if (this.#own.get(follower.key)?.follower !== follower) this.#enter(follower);
    this.#tellLater();
  }

  /** @param {Follower} follower */
  unfollow(follower) {
    this.#leaving.add(follower);
    this.#tellLater();
  }

  /** @param {Follower} follower */
  change(follower) {
    const [was] = [...this.#own].find(([, entry]) => entry.follower === follower) ?? [];
    if (was !== undefined) this.#own.delete(was);
    this.#enter(follower, was);
    this.#tellLater();
  }

  /** @param {Follower} follower */
  refetch({ key }) { this.#say({ tab: this.#tab, key }); }

  /** @param {string} feed */
  urlOf(feed) {
    if (this.#tabs !== null) return this.#connection.urlOf(feed);
    return this.#urls.get(feed) ?? [...this.#urls.values()][0] ?? this.#connection.urls[0];
  }

  close() {
    this.#leave();
    this.#page.removeEventListener('pagehide', this.#hide);
    this.#page.removeEventListener('pageshow', this.#show);
    this.#page.removeEventListener('visibilitychange', this.#look);
    this.#own.clear();
    this.#connection.close();
  }

  /** @param {Follower} follower @param {string} [was] */
  #enter(follower, was) { this.#own.set(follower.key, { follower, number: ++this.#number, was, askedAt: -Infinity }); }

  /** Several calls in one turn of the event loop lead to one message. */
  #tellLater() {
    if (this.#isTelling) return;
    this.#isTelling = true;
    queueMicrotask(() => {
      this.#isTelling = false;
      for (const follower of this.#leaving) {
        if (this.#own.get(follower.key)?.follower === follower) this.#own.delete(follower.key);
        follower.stand({ name: 'stale', reason: 'disconnected' });
      }
      this.#leaving.clear();
      this.#tell();
    });
  }

  // Tabs come and go.

  async #join() {
    const { page, stay } = { page: this.#page, stay: this.#stay = new AbortController() };
    try {
      const user = this.#name === undefined ? userOf(await (await this.#connection.tokens)?.get()) : '';
      // Another version of the package may say other things.
      const name = `feedstore 1 ${JSON.stringify([this.#name ?? { user }, ...this.#connection.urls])}`;
      const tab = String(page.crypto.randomUUID());
      // The leading tab waits for this lock, and so knows when this tab is gone.
      await this.#hold(`${name} ${tab}`, { signal: stay.signal }, stay.signal);
      if (stay.signal.aborted) return;
      this.#tab = tab;
      this.#user = user;
      this.#lockName = name;
      this.#channel = new page.BroadcastChannel(name);
      this.#channel.onmessage = (/** @type {any} */ { data }) => this.#hear(data);
      this.#compete({});
      this.#tell();
      this.#beatLater();
    } catch {
      // It is not known whose tab this is, or the page may not have locks.
      if (!stay.signal.aborted) this.#leadAlone();
    }
  }

  /**
   * Leaves the other tabs if a token is not of their user any more: one may not get what only the other may read.
   * @param {Record<string, string>} headers Those of a request.
   */
  #check(headers) {
    try {
      if (this.#channel === null || this.#name !== undefined || userOf(headers) === this.#user) return;
    } catch {
      // It is not known whose token this is.
    }
    this.#leave();
    this.#join();
  }

  /**
   * Holds a lock until it is to end.
   * @param {string} name @param {object} options @param {AbortSignal} end @param {(error: any) => void} [whenLost] @returns {Promise<void>} Fulfilled when it has it.
   */
  #hold(name, options, end, whenLost = () => {}) {
    return new Promise((resolve, reject) => {
      this.#page.navigator.locks.request(name, options, () => new Promise((release) => {
        end.addEventListener('abort', release);
        if (end.aborted) release(undefined);
        else resolve();
      })).catch((/** @type {any} */ error) => {
        reject(error);
        if (!end.aborted) whenLost(error);
      });
    });
  }

  /**
   * Waits for the lead, or takes it.
   * @param {{ steal?: boolean }} options
   */
  #compete(options) {
    this.#candidacy.abort();
    const { signal } = this.#candidacy = new AbortController();
    this.#hold(this.#lockName, options.steal ? options : { signal }, signal, ({ name }) => {
      if (name !== 'AbortError') return this.#leadAlone();
      // Another tab has taken it.
      this.#stepDown();
      this.#compete({});
      return this.#tell();
    }).then(() => {
      if (signal.aborted) return;
      this.#lead();
      this.#say({ isNew: true });
    }, () => {});
  }

  #leave() {
    this.#stay.abort();
    this.#candidacy.abort();
    this.#channel?.close();
    this.#channel = null;
    this.#connection.environment.clearTimer(this.#beat);
    this.#hearAnswer();
    this.#stepDown();
    // The next leading tab says when the state is the newest one again.
    for (const entry of this.#own.values()) this.#stand(Object.assign(entry, { standing: { name: 'stale', reason: 'disconnected' } }));
  }

  #leadAlone() {
    this.#leave();
    this.#lead();
  }

  #hide = () => this.#leave();

  /** The page is back, from a cache. */
  #show = (/** @type {any} */ { persisted }) => { if (persisted) this.#join(); };

  #look = () => this.#tell();

  #beatLater() {
    this.#beat = this.#connection.environment.setTimer(() => {
      this.#tell();
      this.#beatLater();
      this.#connection.tokens?.then(({ headers }) => this.#check(headers), () => {});
    }, interval);
  }

  #hearAnswer() {
    this.#connection.environment.clearTimer(this.#silence);
    this.#silence = null;
  }

  get #isVisible() { return this.#page.document.visibilityState !== 'hidden'; }

  // What this tab says and hears.

  /** @param {any} message For all other tabs. */
  #say(message) {
    // The leading tab does not hear itself.
    if (message.tab === this.#tab && this.#tabs !== null) this.#hearTab(message);
    else this.#channel?.postMessage({ ...message, term: this.#term });
  }

  /** Says what this tab follows. */
  #tell() {
    const list = [...this.#own.values()].map(({ follower: { key, feed, window, version }, number, was }) => ({ key, feed, window, version, number, was }));
    for (const entry of this.#own.values()) entry.was = undefined;
    this.#say({ tab: this.#tab, list });
    if (this.#tabs !== null || this.#channel === null) return;
    for (const key of this.#own.keys()) this.#complain(key);
    if (this.#silence === null) this.#awaitAnswer(patience);
  }

  /**
   * Takes the lead if there is no answer.
   * @param {number} left So many milliseconds at least. After a step of them an answer may be waiting in this tab.
   */
  #awaitAnswer(left) {
    const step = patience / 2;
    this.#silence = this.#connection.environment.setTimer(() => {
      this.#silence = null;
      if (!this.#isVisible) return;
      if (left > step) this.#awaitAnswer(left - step);
      else this.#compete({ steal: true });
    }, step);
  }

  /**
   * Asks for the state again because something does not fit, if it was not asked for just now.
   * @param {string} key
   */
  #complain(key) {
    const entry = this.#own.get(key);
    const now = this.#connection.environment.now();
    if (entry?.misfit === undefined || now - entry.askedAt < interval) return;
    entry.askedAt = now;
    this.#say({ tab: this.#tab, key });
  }

  /** @param {any} message */
  #hear(message) {
    if (message.tab !== undefined) {
      if (this.#tabs === null) return;
      this.#hearTab(message);
      this.#say({ to: [] });
    } else if (this.#tabs === null && message.term >= this.#term) {
      this.#term = message.term;
      this.#hearAnswer();
      if (message.isNew) this.#tell();
      else this.#take(message);
    }
  }

  /**
   * Takes what the leading tab sends.
   * @param {Delivery} delivery @param {any} [value] The text, if it is parsed already. @returns {string | undefined} Why it does not fit.
   */
  #take({ to, key = '', name = '', text = '', version, standing, url = '' }, value) {
    const entry = this.#own.get(key);
    if (entry === undefined || !to.includes(this.#tab)) return undefined;
    const { follower } = entry;
    if (standing !== undefined) {
      this.#urls.set(follower.feed, url);
      entry.standing = standing;
    } else if (version === undefined || !isSame(version, follower.version)) {
      // Otherwise it is a state that another tab has asked for.
      const misfit = follower.take(name, value ?? this.#parse(text), text);
      if (this.#tabs !== null) return misfit;
      if (misfit !== undefined || follower.version !== null || name === 'absent') entry.misfit = misfit;
      this.#complain(key);
    }
    this.#stand(entry);
    return undefined;
  }

  /**
   * Tells a follower its standing, if it is another one.
   * @param {OwnEntry} entry
   */
  #stand(entry) {
    const { follower, standing, misfit } = entry;
    const isMisfit = misfit !== undefined && (standing?.name === 'live' || standing?.name === 'catching-up');
    const text = JSON.stringify(isMisfit ? { name: 'stale', reason: 'must-refetch', detail: misfit } : standing);
    if (text === entry.told) return;
    entry.told = text;
    follower.stand(JSON.parse(text));
  }

  // What the leading tab does.

  #lead() {
    this.#hearAnswer();
    this.#term = Math.max(this.#connection.environment.now(), this.#term + 1);
    this.#tabs = new Set();
    // The connection handles it now.
    for (const entry of this.#own.values()) entry.misfit = undefined;
    this.#tell();
  }

  #stepDown() {
    this.#tabs = null;
    for (const shared of this.#shared.values()) {
      // The tabs hear from the next one.
      shared.tabs.clear();
      this.#connection.unfollow(shared);
    }
    this.#shared.clear();
  }

  /**
   * Sends to some tabs, of which this may be one.
   * @param {Iterable<string>} tabs @param {Omit<Delivery, 'to'>} content @param {any} [value] @returns {string | undefined} Why it does not fit here.
   */
  #send(tabs, content, value) {
    const { feed = '' } = this.#shared.get(content.key ?? '') ?? {};
    const delivery = { ...content, to: [...tabs], ...(content.standing && { url: this.#connection.urlOf(feed) }) };
    if (delivery.to.some((tab) => tab !== this.#tab)) this.#say(delivery);
    return this.#take(delivery, value);
  }

  /**
   * Takes what a tab says.
   * @param {{ tab: string, list?: Entry[], key: string }} message
   */
  #hearTab({ tab, list, key }) {
    if (list !== undefined) {
      this.#follow(tab, list);
      return;
    }
    const shared = this.#shared.get(key);
    if (shared?.tabs.has(tab) && shared.ask(tab)) this.#connection.refetch(shared);
  }

  /** @param {string} tab @param {Entry[]} list All that it follows. */
  #follow(tab, list) {
    if (tab !== this.#tab && this.#tabs?.has(tab) === false) this.#watch(tab);
    const keys = new Set(list.map(({ key }) => key));
    for (const entry of list) {
      const { key, was = '' } = entry;
      const old = this.#shared.get(was);
      if (old === undefined || keys.has(was) || this.#shared.has(key) || old.tabs.size !== 1 || !old.tabs.has(tab)) continue;
      this.#shared.delete(was);
      this.#shared.set(key, old);
      old.change(tab, entry);
      this.#connection.change(old);
    }
    for (const shared of this.#shared.values()) {
      if (keys.has(shared.key) || !shared.tabs.has(tab)) continue;
      shared.leave(tab);
      if (shared.tabs.size > 0) continue;
      this.#shared.delete(shared.key);
      this.#connection.unfollow(shared);
    }
    for (const entry of list) {
      let shared = this.#shared.get(entry.key);
      if (shared?.tabs.get(tab) === entry.number) continue;
      if (shared === undefined) {
        shared = new SharedFollower(entry, (to, delivery, value) => this.#send(to, delivery, value));
        this.#shared.set(entry.key, shared);
        this.#connection.follow(shared);
      }
      if (shared.join(tab, entry)) this.#connection.refetchNow(shared);
    }
  }

  /**
   * Follows nothing for a tab any more when it is gone.
   * @param {string} tab
   */
  #watch(tab) {
    const { signal } = this.#candidacy;
    this.#tabs?.add(tab);
    this.#page.navigator.locks.request(`${this.#lockName} ${tab}`, { signal }, () => {
      if (signal.aborted) return;
      this.#follow(tab, []);
      this.#tabs?.delete(tab);
    }).catch(() => {});
  }
}
