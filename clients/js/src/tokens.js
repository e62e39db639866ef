/**
 * The token of a program: asked of it when one is needed, and again before it ends.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** So many milliseconds before its end a token is renewed. */
const early = 30_000;
/** The longest time that a timer can wait. */
const longest = 2 ** 31 - 1;

/** @typedef {string | null | undefined} Token */

export class Tokens {
  /** @type {Token} */
  #token;
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

  /** Asks for the token of a new connection. */
  async fetch() {
    const ask = this.#ask;
    if (ask !== undefined) {
      this.#asked ??= Promise.resolve().then(ask).finally(() => { this.#asked = null; });
      this.#take(await this.#asked);
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
   * @param {string} url @param {RequestInit} request @param {boolean} [isNew] @returns {Promise<Response>}
   */
  async request(url, request, isNew) {
    const send = async () => this.#environment.fetch(url, { ...request, headers: { ...request.headers, ...this.headers } });
    await this.get(isNew);
    const response = await send();
    return response.status === 401 && await this.replace().catch(() => false) ? send() : response;
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
    const wait = Math.max(left - early, left / 2);
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
 * When a JSON Web Token ends, in milliseconds since 1970; without a limit for any other token. It is not verified.
 * @param {Token} token
 */
function endOf(token) {
  try {
    const [, payload] = String(token).split('.');
    const { exp } = JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/')));
    return typeof exp === 'number' ? 1000 * exp : Infinity;
  } catch {
    return Infinity;
  }
}
