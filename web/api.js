/**
 * Requests to the daemon that served the page, with the bearer token if it requires one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

const tokenName = 'feedstore.token';

/** An unexpected response, with its problem document. */
export class Problem extends Error {
  /** @param {number} status @param {{ code?: string, detail?: string } | undefined} body */
  constructor(status, body) {
    super(body?.detail ?? `the server answered ${status}`);
    this.status = status;
    this.code = body?.code;
  }
}

export class Api {
  #onTokenNeeded;

  /** @param {{ onTokenNeeded: (wasRefused: boolean) => void }} options The argument tells whether the server refused a token. */
  constructor({ onTokenNeeded }) { this.#onTokenNeeded = onTokenNeeded; }

  /** @returns {string | null} */
  get token() { return sessionStorage.getItem(tokenName); }

  /**
   * Stored until the tab is closed.
   * @param {string | null} token
   */
  set token(token) {
    if (token === null) sessionStorage.removeItem(tokenName);
    else sessionStorage.setItem(tokenName, token);
  }

  /** @returns {Record<string, string>} */
  get #headers() { return this.token === null ? {} : { Authorization: `Bearer ${this.token}` }; }

  /** @param {string} path @returns {Promise<any>} The parsed response. */
  async get(path) {
    const { token } = this;
    const response = await fetch(path, {
      headers: { Accept: 'application/json', ...this.#headers }, cache: 'no-store', signal: AbortSignal.timeout(20000),
    });
    if (response.ok) return response.json();
    const problem = await response.json().catch(() => undefined);
    // If another token was entered meanwhile, that one was not refused. One that is not valid yet will be.
    if (response.status === 401 && token === this.token && !/not valid yet/.test(problem?.detail)) this.#refused();
    throw new Problem(response.status, problem);
  }

  /** Asks for a token, because there is none or the server refused it. */
  #refused() {
    const wasRefused = this.token !== null;
    this.token = null;
    this.#onTokenNeeded(wasRefused);
  }

  /** @param {string} feed @returns {Promise<boolean>} Whether it takes events with this token. */
  async isWritable(feed) {
    try {
      const signal = AbortSignal.timeout(20000);
      const response = await fetch(`/v1/feeds/${encodeURIComponent(feed)}/changes`, { method: 'HEAD', headers: this.#headers, signal });
      return response.headers.get('Feedstore-Writable') === 'true';
    } catch {
      return false;
    }
  }
}
