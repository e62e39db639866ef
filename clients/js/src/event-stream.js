/**
 * Server-Sent Events over `fetch`. Browsers' `EventSource` can neither send `Authorization` nor report a status code.
 *
 * - `EventStreamParser` parses bytes into events.
 * - `EventStream` keeps a stream open. It reconnects with `Last-Event-ID` or its body: at once after a stream that was open for a while, otherwise
 *   after growing delays.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {object} StreamEvent
 * @property {string} name `message` by default.
 * @property {string} data Its lines joined by newlines.
 * @property {string} id The last id in the stream so far.
 */

/** As specified in https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation. */
export class EventStreamParser {
  /** The last id, sent when reconnecting. */
  lastEventId = '';
  // Removes a byte order mark at the beginning.
  #decoder = new TextDecoder();
  /** @type {string[]} An incomplete line. */
  #pieces = [];
  #isAfterReturn = false;
  #name = '';
  /** @type {string[]} */
  #data = [];
  #id = '';
  #onEvent;
  #onRetry;

  /** @param {{ onEvent: (event: StreamEvent) => void, onRetry?: (milliseconds: number) => void }} options */
  constructor({ onEvent, onRetry }) {
    this.#onEvent = onEvent;
    this.#onRetry = onRetry;
  }

  /** @param {Uint8Array} bytes Any piece of the stream. */
  push(bytes) {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === '') return;
    const [first, ...others] = text.slice(this.#isAfterReturn && text[0] === '\n' ? 1 : 0).split(/\r\n|\r|\n/);
    this.#isAfterReturn = text.endsWith('\r');
    this.#pieces.push(first);
    for (const next of others) {
      const line = this.#pieces.join('');
      this.#pieces = [next];
      this.#takeLine(line);
    }
  }

  /** @param {string} line */
  #takeLine(line) {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#name = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    else if (field === 'retry' && /^[0-9]{1,9}$/.test(value)) this.#onRetry?.(Number(value));
    return undefined;
  }

  #dispatch() {
    const [name, data] = [this.#name || 'message', this.#data];
    this.#name = '';
    this.#data = [];
    this.lastEventId = this.#id;
    if (data.length > 0) this.#onEvent({ name, data: data.join('\n'), id: this.#id });
  }
}

/**
 * - `connecting`: the request is in progress;
 * - `open`: events can arrive;
 * - `waiting`: it failed or ended, and reconnects at `until` (milliseconds since 1970);
 * - `refused`: the server requires a token, or another one; call `open()` once there is one;
 * - `closed`.
 *
 * `status` and `problem` are those of a response that was not a stream.
 *
 * @typedef {{ state: 'connecting' | 'open' | 'closed' | 'waiting' | 'refused', until?: number, status?: number, problem?: any }} StreamState
 */

/**
 * @typedef {object} EventStreamOptions
 * @property {(event: StreamEvent) => void} onEvent
 * @property {(state: StreamState) => void} [onState]
 * @property {() => Record<string, string>} [headers] Additional headers, evaluated for each request.
 * @property {() => string} [body] JSON, evaluated for each request, which is a POST then. It must say where to continue.
 * @property {number} [silence] Milliseconds without a byte after which the connection counts as dead.
 * @property {number} [maxDelay] The longest wait in milliseconds.
 * @property {(url: string, request: RequestInit) => Promise<Response>} [fetch]
 * @property {() => number} [random] From 0 to 1.
 * @property {(run: () => void, milliseconds: number) => any} [setTimer]
 * @property {(timer: any) => void} [clearTimer]
 * @property {() => number} [now]
 */

/** A stream that had events for so many milliseconds is opened again at once, after a random part of `atOnce`. */
const steady = 5000;
const atOnce = 50;
/** The longest `Retry-After` in seconds, and the least spread above it in milliseconds. */
const mostAfter = 300;
const leastSpread = 1500;

/**
 * Whether a token was refused that will be valid soon: the clocks of those who sign and who verify differ.
 * @param {number | undefined} status @param {any} problem
 */
export const isEarly = (status, problem) => status === 401 && /not valid yet/.test(problem?.detail);

export class EventStream {
  /** What the server wishes a client to wait before it comes again; `retry:` says it. */
  retry = 3000;
  lastEventId = '';
  #url;
  #options;
  /** @type {AbortController | null} Of the connection that counts; null while there is none. */
  #controller = null;
  #failures = 0;
  /** When the first event of this connection arrived. */
  #since = Infinity;
  /** @type {any} */
  #timer = null;
  /** @type {any} */
  #watchdog = null;

  /** @param {string} url @param {EventStreamOptions} options */
  constructor(url, options) {
    this.#url = url;
    this.#options = {
      silence: 60000,
      maxDelay: 30000,
      fetch: (/** @type {any} */ url, /** @type {any} */ request) => globalThis.fetch(url, request),
      random: Math.random,
      setTimer: (/** @type {() => void} */ run, /** @type {number} */ milliseconds) => setTimeout(run, milliseconds),
      clearTimer: (/** @type {any} */ timer) => clearTimeout(timer),
      now: Date.now,
      ...options,
    };
  }

  /** Connects now, dropping the current connection or wait. */
  open() {
    this.#drop();
    this.#connect();
  }

  /**
   * Discards what was received and starts over, without a last event id.
   * @param {{ isPatient: boolean }} options Whether to wait as after a failure, to avoid a busy loop.
   */
  restart({ isPatient }) {
    this.#drop();
    this.lastEventId = '';
    if (isPatient) this.#wait({});
    else this.#connect();
  }

  close() {
    this.#drop();
    this.#options.onState?.({ state: 'closed' });
  }

  #drop() {
    const controller = this.#controller;
    this.#controller = null;
    this.#options.clearTimer(this.#timer);
    this.#options.clearTimer(this.#watchdog);
    controller?.abort();
  }

  async #connect() {
    const controller = this.#controller = new AbortController();
    this.#since = Infinity;
    this.#options.onState?.({ state: 'connecting' });
    this.#listen(controller);
    /** @type {{ status?: number, problem?: any, after?: number }} */
    let end = {};
    try {
      /** @type {Record<string, string>} */
      const headers = { Accept: 'text/event-stream', ...this.#options.headers?.() };
      const body = this.#options.body?.();
      if (body !== undefined) headers['Content-Type'] = 'application/json';
      else if (this.lastEventId !== '') headers['Last-Event-ID'] = this.lastEventId;
      const { signal } = controller;
      const request = { method: body === undefined ? 'GET' : 'POST', body, headers, cache: /** @type {const} */ ('no-store'), signal };
      const response = await aborted(this.#options.fetch(this.#url, request), signal);
      const isStream = response.ok && /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
      if (isStream && response.body !== null) await this.#read(response.body, controller);
      else end = await refusalOf(response);
    } catch (error) {
      // A network error, whose details browsers report only on their console, no headers, or no token.
      end = /** @type {any} */ (error)?.end ?? {};
    }
    if (controller !== this.#controller) return;
    this.#drop();
    if (end.status === 401 && !isEarly(401, end.problem)) this.#options.onState?.({ state: 'refused', ...end });
    else this.#wait(end, this.#options.now() - this.#since >= steady);
  }

  /** @param {ReadableStream<Uint8Array>} body @param {AbortController} controller */
  async #read(body, controller) {
    this.#options.onState?.({ state: 'open' });
    const parser = new EventStreamParser({
      onEvent: (event) => {
        // An event handler may have closed the stream.
        if (controller !== this.#controller) return;
        this.#failures = 0;
        this.#since = Math.min(this.#since, this.#options.now());
        if (event.id !== '') this.lastEventId = event.id;
        this.#options.onEvent(event);
      },
      onRetry: (milliseconds) => { this.retry = milliseconds; },
    });
    const reader = body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || controller !== this.#controller) return;
      this.#listen(controller);
      parser.push(value);
    }
  }

  /** @param {AbortController} controller */
  #listen(controller) {
    this.#options.clearTimer(this.#watchdog);
    this.#watchdog = this.#options.setTimer(() => controller.abort(), this.#options.silence);
  }

  /**
   * Every wait has a random part, so that clients do not all reconnect at once after a restart of the server.
   * @param {{ status?: number, problem?: any, after?: number }} end What ended it.
   * @param {boolean} [isSteady] Whether the stream was open for a while, so that ending it once more does not make a busy loop.
   */
  #wait({ status, problem, after = 0 }, isSteady = false) {
    const { maxDelay, now, random, setTimer } = this.#options;
    let [delay, spread] = [0, atOnce];
    if (!isSteady) {
      delay = Math.max(Math.min(this.retry * 2 ** this.#failures, Math.max(maxDelay, this.retry)), after);
      spread = Math.max(delay / 4, after > 0 ? leastSpread : 0);
      this.#failures += 1;
    }
    const milliseconds = delay + random() * spread;
    this.#timer = setTimer(() => this.#connect(), milliseconds);
    this.#options.onState?.({ state: 'waiting', until: now() + milliseconds, status, problem });
  }
}

/**
 * Fails when a signal does.
 * @template T @param {Promise<T>} promise @param {AbortSignal} signal @returns {Promise<T>}
 */
const aborted = (promise, signal) => new Promise((resolve, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason));
  promise.then(resolve, reject);
});

/** @param {Response} response */
async function refusalOf(response) {
  const seconds = Math.min(Number(response.headers.get('retry-after')), mostAfter);
  const problem = await response.json().catch(() => undefined);
  return { status: response.status, problem, after: 1000 * seconds || 0 };
}
