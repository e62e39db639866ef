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
  headers() { return this.token === null ? {} : { Authorization: `Bearer ${this.token}` }; }

  /** @param {string} path @returns {Promise<any>} The parsed response. */
  async get(path) {
    const { token } = this;
    const response = await fetch(path, {
      headers: { Accept: 'application/json', ...this.headers() }, cache: 'no-store', signal: AbortSignal.timeout(20000),
    });
    if (response.ok) return response.json();
    // If another token was entered meanwhile, that one was not refused.
    if (response.status === 401 && token === this.token) this.refused();
    throw new Problem(response.status, await response.json().catch(() => undefined));
  }

  /** Asks for a token, because there is none or the server refused it. */
  refused() {
    const wasRefused = this.token !== null;
    this.token = null;
    this.#onTokenNeeded(wasRefused);
  }

  /** @param {string} path @param {object} value @returns {Promise<boolean>} Whether it was accepted. */
  async patch(path, value) {
    try {
      const headers = { 'Content-Type': 'application/json', ...this.headers() };
      const signal = AbortSignal.timeout(20000);
      return (await fetch(path, { method: 'PATCH', headers, body: JSON.stringify(value), signal })).ok;
    } catch {
      return false;
    }
  }
}
