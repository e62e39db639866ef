/**
 * The token of a program: asked of it when one is needed, and again before it ends. One that is not valid yet is kept, and sent again later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** So many milliseconds before its end a token is renewed. */
const early = 30_000;
/** So many milliseconds a token is kept that is not valid yet, and between two tries of a request with it. */
const patience = 300_000;
const pause = 1000;
/** The longest time that a timer can wait. */
const longest = 2 ** 31 - 1;

/** @typedef {string | null | undefined} Token */

export class Tokens {
  /** @type {Token} */
  #token;
  /** @type {Token} The last one that was accepted. It stays in use while a newer one is not valid yet. */
  #accepted;
  /** @type {{ token: Token, until: number } | null} One that is not valid yet. */
  #coming = null;
  /** @type {Promise<Token> | null} */
  #asked = null;
  /** @type {any} */
  #timer = null;
  #ask;
  #environment;
  #onRenewed;

  /**
   * @param {(() => Token | Promise<Token>) | undefined} ask
   * @param {import('./connection.js').Environment} environment
   * @param {() => void} onRenewed A newer token is there.
   */
  constructor(ask, environment, onRenewed) {
    this.#ask = ask;
    this.#environment = environment;
    this.#onRenewed = onRenewed;
  }

  /**
   * The header of a request.
   * @returns {Record<string, string>}
   */
  get headers() { return this.#token ? { Authorization: `Bearer ${this.#token}` } : {}; }

  /** Asks for another token, unless there is one that was not valid when it was sent. */
  async fetch() {
    const ask = this.#ask;
    if (this.#coming !== null && this.#environment.now() < this.#coming.until) this.#take(this.#coming.token);
    else if (ask !== undefined) {
      this.#asked ??= Promise.resolve().then(ask).finally(() => { this.#asked = null; });
      // Without a newer one, the present one stays in use until it ends.
      const [token, error] = await this.#asked.then((it) => [it], (reason) => [null, reason]);
      const isThere = this.#accepted && this.#accepted === this.#token && endOf(this.#token) > this.#environment.now();
      if (token || (!isThere && error === undefined)) this.#take(token);
      else if (!isThere) {
        const detail = `there is no token: ${error instanceof Error ? error.message : error}`;
        throw Object.assign(new Error(detail), { end: { status: 401, problem: { detail } } });
      }
    }
    return this.headers;
  }

  /**
   * The header of a request.
   * @param {boolean} [isNew] Whether to ask also if there is a token.
   */
  async get(isNew = false) { return this.#token && !isNew ? this.headers : this.fetch(); }

  /**
   * A request with the token; a second one with another token if that is refused.
   * @param {string} url @param {RequestInit} request @param {boolean} [isNew] Whether it is a stream, which comes again by itself.
   * @returns {Promise<Response>}
   */
  async request(url, request, isNew) {
    const { now } = this.#environment;
    /** @type {Token} */
    let token;
    const send = async () => {
      token = this.#token;
      const response = await this.#environment.fetch(url, { ...request, headers: { ...request.headers, ...this.headers } });
      if (response.status !== 401) {
        this.#accepted = token;
        if (this.#coming?.token === token) this.#coming = null;
      } else if (token && await isRefusedAsEarly(response, token, now())) {
        if (this.#coming?.token !== token) this.#coming = { token, until: now() + patience };
        return { response, isEarly: true };
      } else if (token === this.#accepted) this.#accepted = null;
      return { response, isEarly: false };
    };
    await this.get(isNew);
    let sent = await send();
    if (sent.isEarly && this.#accepted && this.#accepted !== token && endOf(this.#accepted) > now()) {
      this.#take(this.#accepted);
      return (await send()).response;
    }
    while (sent.isEarly && !isNew) {
      await this.#pass(pause, request.signal);
      if (request.signal?.aborted) break;
      sent = await send();
    }
    if (sent.isEarly || sent.response.status !== 401) return sent.response;
    return await this.replace().catch(() => false) ? (await send()).response : sent.response;
  }

  /** @param {number} milliseconds @param {AbortSignal | null} [signal] Ends the wait. @returns {Promise<void>} */
  #pass(milliseconds, signal) {
    return new Promise((resolve) => {
      const end = () => {
        this.#environment.clearTimer(timer);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#environment.setTimer(end, milliseconds);
      signal?.addEventListener('abort', end);
    });
  }

  /**
   * Asks again, because a token was refused.
   * @returns {Promise<boolean>} Whether there is another one.
   */
  async replace() {
    const before = this.#token;
    await this.fetch();
    return this.#token !== before;
  }

  /** Renews no token until one is needed again. */
  rest() { this.#environment.clearTimer(this.#timer); }

  /** @param {Token} token */
  #take(token) {
    this.#token = token;
    this.rest();
    const left = endOf(token) - this.#environment.now();
    if (!(left > 0) || left === Infinity) return;
    const wait = Math.max(left - early, left / 2, pause);
    this.#timer = this.#environment.setTimer(() => {
      if (wait > longest) this.#take(token);
      else this.#renew();
    }, Math.min(wait, longest));
  }

  async #renew() {
    try {
      if (await this.replace()) this.#onRenewed();
    } catch {
      // The streams end with the token, and it is asked for then.
    }
  }
}

/**
 * Whether a token is refused because it is not valid yet.
 * @param {Response} response @param {Token} token @param {number} now
 */
async function isRefusedAsEarly(response, token, now) {
  const problem = await response.clone().json().catch(() => undefined);
  return /not valid yet/.test(problem?.detail) || claimOf(token, 'nbf', 0) > now;
}

/**
 * When a JSON Web Token ends, in milliseconds since 1970; without a limit for any other token. It is not verified.
 * @param {Token} token
 */
const endOf = (token) => claimOf(token, 'exp', Infinity);

/**
 * A time in a token, in milliseconds since 1970.
 * @param {Token} token @param {string} name @param {number} otherwise
 */
function claimOf(token, name, otherwise) {
  try {
    const [, payload] = String(token).split('.');
    const value = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')))[name];
    return typeof value === 'number' ? 1000 * value : otherwise;
  } catch {
    return otherwise;
  }
}
