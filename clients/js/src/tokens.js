/**
 * The token of a program: asked of it when one is needed, and again before it ends. One that is not valid yet is kept, and sent again later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/**
 * @typedef {import('./connection.js').Answer} Answer
 * @typedef {import('./connection.js').Token} Token
 */

/** So many milliseconds before its end a token is renewed. */
const renewal = 30_000;
/** So many milliseconds a token is kept that is not valid yet, between two tries of a request with it, and so many times it is sent again. */
const patience = 300_000;
const pause = 1000;
const mostEarly = 30;
/** The longest time that a timer can wait. */
const longest = 2 ** 31 - 1;

export class Tokens {
  /** @type {string | undefined} The `sub` of the tokens, empty if they name none. */
  user;
  /** @type {Token} The last one that was accepted. */
  #accepted;
  /** @type {{ token: Token, until: number } | null} One that is not valid yet. */
  #coming = null;
  /** Whether the present token is not the callback's. It is used until it is refused, or ends. */
  #isGiven = false;
  /** @type {Promise<{ token?: Token, error?: any }> | null} The call of the callback. */
  #asked = null;
  /** @type {(answer: { token: Token }) => void} Answers in place of the callback. */
  #answer = () => {};
  /** @type {any} */
  #timer = null;
  #ask;
  #connection;

  /**
   * @param {(() => Token | Promise<Token>) | undefined} ask
   * @param {import('./connection.js').Connection} connection Its `token` is the present one.
   */
  constructor(ask, connection) {
    this.#ask = ask;
    this.#connection = connection;
  }

  get #now() { return this.#connection.environment.now(); }

  /** The last token that was accepted, if it has not ended. */
  get #inUse() { return this.#accepted && endOf(this.#accepted) > this.#now ? this.#accepted : null; }

  /** @param {Token} token What is used from now on; null to ask for one with the next request. @returns {boolean} Whether it is one. */
  set(token) {
    this.#isGiven = Boolean(token);
    this.#coming = null;
    this.#become(token);
    if (!token) this.#accepted = null;
    else this.#answer({ token });
    return this.#isGiven;
  }

  /** @param {Token} token */
  #become(token) {
    const { user } = this;
    this.#connection.token = token;
    this.#renewLater();
    if (!token) return;
    this.user = claimsOf(token).sub ?? '';
    if (user === undefined || user === this.user) return;
    this.#accepted = null;
    this.#connection.forget();
  }

  /** The user of the token, which is asked for if there is none. */
  async knownUser() {
    await this.#get();
    return this.user;
  }

  /**
   * The token for a request. For a stream, the callback is asked even if there is one.
   * @param {boolean} [isStream] @param {() => boolean} [isWanted] @returns {Promise<Token>}
   */
  async #get(isStream, isWanted) {
    const { token } = this.#connection;
    const coming = this.#coming;
    if (coming !== null && this.#now < coming.until && (isStream || !token)) return this.#inUse ?? coming.token;
    if (!this.#ask || (token && endOf(token) > this.#now && (this.#isGiven || !isStream))) return token;
    return this.#fetch(this.#ask, isWanted);
  }

  /**
   * Without a newer token, the present one stays in use until it ends.
   * @param {() => Token | Promise<Token>} ask @param {() => boolean} [isWanted] @returns {Promise<Token>}
   */
  async #fetch(ask, isWanted) {
    const { token, error } = await this.#call(ask);
    if (isWanted?.() === false) return null;
    const { token: present } = this.#connection;
    const kept = present && endOf(present) > this.#now ? present : this.#inUse;
    if (!token && kept) this.#connection.token = kept;
    else if (error !== undefined) throw { end: `there is no token: ${error instanceof Error ? error.message : error}` };
    else {
      if (token !== present) this.#isGiven = false;
      this.#become(token);
    }
    this.#connection.flushLater();
    return this.#connection.token;
  }

  /**
   * Calls the callback; once, if several wait.
   * @param {() => Token | Promise<Token>} ask
   */
  #call(ask) {
    return this.#asked ??= new Promise((resolve) => {
      this.#answer = resolve;
      Promise.resolve().then(ask).then((token) => resolve({ token }), (error) => resolve({ error }));
    }).finally(() => { this.#asked = null; });
  }

  /** @param {Token} token That was accepted. */
  #note(token) {
    this.#accepted = token;
    if (this.#coming?.token !== token) return;
    this.#connection.token = token;
    this.#coming = null;
  }

  /** @param {Token} token That was refused. @param {any} problem @returns {boolean} Whether it is not valid yet, so that it is kept. */
  refuse(token, problem) {
    const isComing = this.#coming?.token === token;
    if (token && (/not valid yet/.test(problem?.detail) || timeOf(claimsOf(token).nbf, 0) > this.#now)) {
      if (!isComing) this.#coming = { token, until: this.#now + patience };
      this.#connection.token = this.#inUse;
      return true;
    }
    if (token === this.#accepted) this.#accepted = null;
    if (isComing) this.#coming = null;
    if (token === this.#connection.token && this.#ask) {
      this.#connection.token = null;
      this.#isGiven = false;
    }
    return false;
  }

  /**
   * Opens a stream: at once with another token if one is refused.
   * @param {(token: Token) => Promise<Response>} send @param {boolean} isFirst Whether it is the first attempt.
   * @param {() => boolean} isWanted
   */
  async open(send, isFirst, isWanted) {
    let token = await this.#get(true, isWanted);
    for (;;) {
      const response = await send(token);
      if (response.status !== 401) {
        this.#note(token);
        return response;
      }
      const former = token;
      const isEarly = this.refuse(token, await response.clone().json().catch(() => undefined));
      if (isEarly ? !this.#inUse : !isFirst || !this.#ask) return response;
      token = await this.#get(true, isWanted);
      if (isEarly) continue;
      if (!token || token === former) return response;
      isFirst = false;
    }
  }

  /**
   * Another request, which is sent again if its token is refused, or is not valid yet.
   * @param {(token: Token) => Promise<Answer>} send @param {() => boolean} [isWanted] Of one that is not sent again if it is not valid yet.
   * @returns {Promise<Answer>}
   */
  async request(send, isWanted) {
    let token = await this.#get();
    for (let early = 0, isRefused = false;;) {
      const answer = await send(token);
      if (answer.status !== 401) {
        this.#note(token);
        return answer;
      }
      if (this.refuse(token, answer.value)) {
        if (isWanted || early === mostEarly) {
          if (this.#inUse) this.#renewLater();
          return { ...answer, isEarly: Boolean(this.#inUse) };
        }
        early += 1;
        await new Promise((resolve) => { this.#connection.environment.setTimer(() => resolve(null), this.#inUse ? 0 : pause); });
        token = await this.#get();
      } else {
        const newer = isRefused || !this.#ask ? token : await this.#fetch(this.#ask, isWanted).catch(() => token);
        if (newer === token || isWanted?.() === false) return answer;
        isRefused = true;
        token = newer;
      }
    }
  }

  /** Renews no token until one is needed again. */
  rest() { this.#connection.environment.clearTimer(this.#timer); }

  #renewLater() {
    this.rest();
    const left = endOf(this.#connection.token) - this.#now;
    if (left === Infinity || !this.#ask) return;
    const wait = Math.max(left - renewal, left / 2, pause);
    this.#timer = this.#connection.environment.setTimer(() => {
      if (wait > longest) this.#renewLater();
      else if (this.#ask && this.#connection.isOpen) this.#renew(this.#ask);
    }, Math.min(wait, longest));
  }

  /**
   * Without a newer one, the streams end with the token.
   * @param {() => Token | Promise<Token>} ask
   */
  async #renew(ask) {
    const coming = this.#coming;
    if (coming !== null && this.#now < coming.until) this.#connection.token = coming.token;
    else {
      const { token } = await this.#call(ask);
      if (!token || token === this.#connection.token) return;
      this.#isGiven = false;
      this.#become(token);
    }
    this.#connection.flushLater();
  }
}

/**
 * When a JSON Web Token ends, in milliseconds since 1970; without a limit for any other token. It is not verified.
 * @param {Token} token
 */
const endOf = (token) => timeOf(claimsOf(token).exp, Infinity);

/** @param {unknown} value @param {number} otherwise */
const timeOf = (value, otherwise) => (typeof value === 'number' ? 1000 * value : otherwise);

/**
 * The claims of a token.
 * @param {Token} token
 */
function claimsOf(token) {
  try {
    const [, payload] = String(token).split('.');
    return JSON.parse(atob(payload.replaceAll('-', '+').replaceAll('_', '/'))) ?? {};
  } catch {
    return {};
  }
}
