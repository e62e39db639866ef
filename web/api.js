/**
 * Requests to the daemon that served the page, with the bearer token if it wants one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

const tokenName = 'feedstore.token';

/** What an answer that is none of the expected says. */
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

  /** @param {{ onTokenNeeded: (wasRefused: boolean) => void }} options Called with whether one was sent. */
  constructor({ onTokenNeeded }) { this.#onTokenNeeded = onTokenNeeded; }

  /** @returns {string | null} */
  get token() { return sessionStorage.getItem(tokenName); }

  /**
   * Kept as long as the tab.
   * @param {string | null} token
   */
  set token(token) {
    if (token === null) sessionStorage.removeItem(tokenName);
    else sessionStorage.setItem(tokenName, token);
  }

  /** @returns {Record<string, string>} */
  headers() { return this.token === null ? {} : { Authorization: `Bearer ${this.token}` }; }

  /** @param {string} path @returns {Promise<any>} The JSON of the answer. */
  async get(path) {
    const { token } = this;
    const response = await fetch(path, {
      headers: { Accept: 'application/json', ...this.headers() }, cache: 'no-store', signal: AbortSignal.timeout(20000),
    });
    if (response.ok) return response.json();
    // A token that was entered meanwhile is not to blame.
    if (response.status === 401 && token === this.token) this.refused();
    throw new Problem(response.status, await response.json().catch(() => undefined));
  }

  /** Asks for a token: the server did not take the one there is, or there is none. */
  refused() {
    const wasRefused = this.token !== null;
    this.token = null;
    this.#onTokenNeeded(wasRefused);
  }

  /** @param {string} feed */
  changesPath(feed) { return `/v1/feeds/${encodeURIComponent(feed)}/changes`; }
}
