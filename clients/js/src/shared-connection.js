/**
 * One stream for all tabs of an origin.
 *
 * It takes the place of `fetch` for streams. The tab that holds a Web Lock leads: it opens the stream, and follows on it the views of all tabs. A
 * BroadcastChannel carries to the others the events of their views, and to it what they ask for. So each tab does all else by itself, as if it had
 * its own stream. When the leading tab is closed, or crashes, the streams of the others end, and one of them leads. (A SharedWorker needs a script
 * with a URL of its own, which bundlers break, and Chrome for Android has none.)
 *
 * This module is loaded when it is needed. It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./feed-stream.js').FeedStream} FeedStream
 * @typedef {{ add?: any[], remove?: any[] }} Change
 *
 * Functions that give up this tab's lead for its next stream, by the names of the groups of tabs.
 * @typedef {Map<string, (isOver: boolean) => void>} Leads
 */

/** A visible tab takes the lead if it has heard nothing for so many milliseconds: phones stop tabs that are not visible. */
const patience = 20_000;
/** So many milliseconds a tab keeps the lead for its next stream. */
const keeping = 1000;
/** So often the leading tab says at most that its stream is alive. */
const beat = 5000;
const answerTime = 30_000;

const encoder = new TextEncoder();

/**
 * The user that the token of a request names.
 * @param {any} headers
 */
function userOf({ Authorization = '' }) {
  if (Authorization === '') return '';
  const { sub } = JSON.parse(atob(Authorization.split('.')[1].replaceAll('-', '+').replaceAll('_', '/')));
  if (typeof sub !== 'string') throw new TypeError('the token names no user');
  return sub;
}

export class SharedConnection {
  /** @type {Map<string, Link>} By the URL of the instance. */
  #links = new Map();
  /** @type {Leads} */
  #leads = new Map();
  #connection;
  #fetch;
  #name;

  /**
   * @param {Connection} connection Of this tab. @param {Connection['environment']['fetch']} fetch
   * @param {string} [name] Of those who share. Without one, they are those with the same `sub` in their tokens, or without tokens.
   */
  constructor(connection, fetch, name) {
    this.#connection = connection;
    this.#fetch = fetch;
    this.#name = name;
    // A page that the browser keeps for later would keep the lead.
    connection.environment.page.addEventListener('pagehide', this.#hide);
  }

  #hide = () => this.#connection.restart();

  close() {
    this.#connection.environment.page.removeEventListener('pagehide', this.#hide);
    for (const giveUp of this.#leads.values()) giveUp(true);
  }

  /** @param {string} url @param {any} request @returns {Promise<Response>} */
  async fetch(url, request) {
    const [, instance = '', stream] = /^(.*)\/v1\/streams(?:\/(.*))?$/.exec(url) ?? [];
    const link = this.#links.get(instance);
    if (stream !== undefined && link?.tab === stream) return link.ask(JSON.parse(request.body));
    const name = this.#nameOf(request.headers, instance);
    // A stream that has no room for more views has a second one beside it, which is not shared.
    if (stream !== undefined || link !== undefined || name === '') return this.#fetch(url, request);
    // Its stream may have ended while this module was loaded.
    request.signal.throwIfAborted();
    const opened = new Link(this.#connection, this.#leads, instance, name, () => this.#fetch(url, request));
    this.#links.set(instance, opened);
    request.signal.addEventListener('abort', () => {
      opened.close();
      this.#links.delete(instance);
    });
    return opened.open(JSON.parse(request.body).feeds);
  }

  /** @param {any} headers @param {string} instance Another version of the package may say other things. */
  #nameOf(headers, instance) {
    try {
      return `feedstore 2 ${JSON.stringify([this.#name ?? { user: userOf(headers) }, instance])}`;
    } catch {
      // It is not known whose token this is.
      return '';
    }
  }

  /** @param {FeedStream} stream @param {string} name @param {string} data @returns {boolean} Whether an event is another tab's. */
  take(stream, name, data) { return this.#links.get(stream.url)?.take(stream, name, data) ?? false; }

  /**
   * Something has arrived.
   * @param {FeedStream} stream
   */
  beat(stream) { this.#links.get(stream.url)?.beat(); }
}

/** This tab's part of the stream of all tabs at an instance, until it ends. */
class Link {
  #end = new AbortController();
  #isLeading = false;
  /** @type {any} All tabs hear this one; what one tab is to hear has a channel of its own. */
  #channel;
  /** @type {any} */
  #own = null;
  /** @type {FeedStream | null} The stream of all tabs, if this one leads. */
  #stream = null;
  #url = '';
  /** @type {Map<string, { channel: any, views: Map<string, any>, taken: number }>} The other tabs, and their views, if this one leads. */
  #guests = new Map();
  #saidAt = 0;
  /** @type {Map<number, { change: Change, resolve: (response: Response) => void }>} What the leading tab was asked for. */
  #asked = new Map();
  /** @type {any} Until the next look at whether something was heard. */
  #timer = null;
  #isHeard = false;
  /** Whose stream it has joined. */
  #leader = '';
  /** @type {ReadableStreamDefaultController<Uint8Array> | null} What this tab gets of the stream. */
  #output = null;
  #connection;
  #page;
  #leads;
  #fetch;

  /** @param {Connection} connection @param {Leads} leads @param {string} instance @param {string} name @param {() => Promise<Response>} fetch Opens a stream of its own. */
  constructor(connection, leads, instance, name, fetch) {
    this.#connection = connection;
    this.#page = connection.environment.page;
    this.#leads = leads;
    this.#fetch = fetch;
    this.instance = instance;
    this.name = name;
    /** The name of this tab, and that of its stream. */
    this.tab = String(this.#page.crypto.randomUUID());
    this.#channel = this.#channelOf(name, (message) => this.#hear(message));
  }

  /** @param {string} name @param {(message: any) => void} [take] */
  #channelOf(name, take = () => {}) {
    const channel = new this.#page.BroadcastChannel(name);
    channel.onmessage = (/** @type {any} */ { data }) => take(data);
    this.#end.signal.addEventListener('abort', () => channel.close());
    return channel;
  }

  close() {
    this.#end.abort();
    this.#connection.environment.clearTimer(this.#timer);
  }

  /** The leading tab is another one. */
  #restart() { if (!this.#end.signal.aborted) this.#connection.restart(this.instance); }

  /** Opens a stream that is not shared. */
  #openAlone() {
    this.close();
    return this.#fetch();
  }

  /** @param {any[]} feeds @returns {Promise<Response>} */
  async open(feeds) {
    try {
      const giveUp = this.#leads.get(this.name);
      giveUp?.(false);
      if (giveUp) this.#end.signal.addEventListener('abort', () => giveUp(true));
      this.#isLeading = giveUp !== undefined || await this.#hold(this.name, { ifAvailable: true });
      if (this.#isLeading) return this.#fetch();
      await this.#hold(`${this.name} ${this.tab}`, {});
    } catch {
      // The page may have no locks.
      return this.#openAlone();
    }
    const { signal } = this.#end;
    signal.throwIfAborted();
    this.#inherit({ signal });
    this.#own = this.#channelOf(`${this.name} ${this.tab}`, (message) => this.#takeOwn(message));
    const body = new ReadableStream({ start: (controller) => { this.#output = controller; } });
    signal.addEventListener('abort', () => {
      this.#output?.error(signal.reason);
      this.#output = null;
    });
    this.#watch();
    const response = await this.ask({ add: feeds });
    // The stream may have no room for these.
    if (response.status === 400 && (await response.clone().json()).member === 'add') return this.#openAlone();
    if (!response.ok) return response;
    this.#pass('stream', JSON.stringify({ stream: this.tab }));
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }

  /**
   * Holds a lock until the end.
   * @param {string} name @param {object} options @returns {Promise<boolean>} Whether it has it.
   */
  #hold(name, options) {
    return new Promise((resolve, reject) => {
      let isHeld = false;
      this.#page.navigator.locks.request(name, options, (/** @type {any} */ lock) => {
        isHeld = lock !== null;
        resolve(isHeld);
        return lock && new Promise((release) => {
          this.#end.signal.addEventListener('abort', release);
          if (this.#end.signal.aborted) release(undefined);
        });
      }).catch((/** @type {any} */ error) => {
        reject(error);
        // Another tab has taken it.
        if (isHeld) this.#restart();
      });
    });
  }

  /**
   * Leads with its next stream, once it gets the lock.
   * @param {object} options
   */
  #inherit(options) {
    const { setTimer, clearTimer } = this.#connection.environment;
    let isHeld = false;
    this.#page.navigator.locks.request(this.name, options, () => new Promise((release) => {
      isHeld = true;
      const timer = setTimer(() => giveUp(true), keeping);
      const giveUp = (/** @type {boolean} */ isOver) => {
        clearTimer(timer);
        if (this.#leads.get(this.name) === giveUp) this.#leads.delete(this.name);
        if (isOver) release(undefined);
      };
      this.#leads.set(this.name, giveUp);
      if (this.#end.signal.aborted) giveUp(true);
      else this.#restart();
    // Another tab may take it.
    })).catch(() => {
      if (!isHeld) return;
      this.#leads.get(this.name)?.(true);
      this.#connection.restart(this.instance);
    });
  }

  // A tab that follows.

  /**
   * Asks the leading tab for a change of the stream.
   * @param {Change} change @returns {Promise<Response>}
   */
  ask(change) {
    const isNeeded = change.add || change.remove;
    return isNeeded ? new Promise((resolve) => {
      const number = this.#asked.size;
      this.#asked.set(number, { change, resolve });
      this.#channel.postMessage({ tab: this.tab, number, change });
    }) : Promise.resolve(new Response('{}'));
  }

  #watch() {
    this.#timer = this.#connection.environment.setTimer(() => {
      if (this.#isHeard || this.#page.document.visibilityState === 'hidden') this.#watch();
      else this.#inherit({ steal: true });
      this.#isHeard = false;
    }, patience);
  }

  /** @param {string} name @param {string} data */
  #pass(name, data) { this.#output?.enqueue(encoder.encode(`event: ${name}\ndata: ${data}\n\n`)); }

  /** @param {{ leader?: string, number?: number, status: number, text: string, name: string, data: string }} message */
  #takeOwn({ leader = '', number, status, text, name, data }) {
    this.#isHeard = true;
    if (number === undefined) return this.#pass(name, data);
    this.#leader = leader;
    const asked = this.#asked.get(number);
    return asked?.resolve(new Response(text, { status }));
  }

  /** @param {{ leader?: string, isNew?: boolean, tab?: string, number: number, change: Change }} message */
  #hear({ leader, isNew, tab, number, change }) {
    if (tab !== undefined) {
      if (this.#isLeading) this.#change(tab, number, change);
    } else if (!this.#isLeading) {
      this.#isHeard = true;
      // Tabs that have no answer yet ask again.
      if (this.#leader !== '' && leader !== this.#leader) this.#restart();
      else if (isNew) for (const [at, asked] of this.#asked) this.#channel.postMessage({ tab: this.tab, number: at, change: asked.change });
      else this.#output?.enqueue(encoder.encode(':\n'));
    }
  }

  // What the leading tab does.

  beat() {
    const now = this.#connection.environment.now();
    if (!this.#isLeading || this.#guests.size === 0 || now - this.#saidAt < beat) return;
    this.#saidAt = now;
    this.#channel.postMessage({ leader: this.tab });
  }

  /** @param {FeedStream} stream @param {string} name @param {string} data */
  take(stream, name, data) {
    if (!this.#isLeading) return false;
    if (name === 'stream') {
      this.#stream ??= stream;
      if (this.#stream !== stream) return false;
      this.#url = `${this.instance}/v1/streams/${JSON.parse(data).stream}`;
      this.#channel.postMessage({ leader: this.tab, isNew: true });
      return false;
    }
    const [start = '', tab = ''] = /^\{"view":"([^" ]+) /.exec(data) ?? [];
    if (tab === '') return false;
    this.#guests.get(tab)?.channel.postMessage({ name, data: `{"view":"${data.slice(start.length)}` });
    return true;
  }

  /**
   * Changes the stream for a tab.
   * @param {string} tab @param {number} number @param {Change} change
   */
  async #change(tab, number, change) {
    // Tabs ask again when it is open.
    if (this.#url === '') return;
    const guest = this.#guests.get(tab) ?? { channel: this.#channelOf(`${this.name} ${tab}`), views: new Map(), taken: -1 };
    if (!this.#guests.has(tab)) this.#await(tab);
    this.#guests.set(tab, guest);
    // It may have asked again at the same moment.
    if (number <= guest.taken) return;
    guest.taken = number;
    const [add, remove] = [change.add ?? [], change.remove ?? []].map((list) => list.map((it) => ({ ...it, view: `${tab} ${it.view}` })));
    for (const { feed, view } of add) guest.views.set(view, { feed, view });
    for (const { view } of remove) guest.views.delete(view);
    const { status, value } = await this.#patch({ add, remove }).catch(() => ({ status: 404, value: {} }));
    guest.channel.postMessage({ leader: this.tab, number, status, text: JSON.stringify(value) });
  }

  /**
   * Follows nothing for a tab any more when it is gone.
   * @param {string} tab
   */
  #await(tab) {
    const { signal } = this.#end;
    this.#page.navigator.locks.request(`${this.name} ${tab}`, { signal }, () => {
      const guest = this.#guests.get(tab);
      this.#guests.delete(tab);
      if (!signal.aborted && guest) this.#patch({ remove: [...guest.views.values()] }).catch(() => {});
    }).catch(() => {});
  }

  /** @param {Change} change */
  #patch(change) {
    const request = { method: 'PATCH', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(change) };
    return this.#connection.exchange(this.#url, request, answerTime, this.#end.signal);
  }
}
