/**
 * Sends writes, and finds out what has become of them.
 *
 * This module is loaded with the first write. It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** So many milliseconds for an answer, besides the wait for the outcome. */
const answerTime = 30_000;
/** Most writes of a feed that were sent and have no outcome yet. */
const mostUnfinished = 4;
const advice = 'The write may be published nevertheless. Whether it is safe to send it again: section 10.2 of the protocol';

/**
 * @typedef {import('./writes.js').PendingWrite} PendingWrite
 * @typedef {import('../types/index.js').Written} Written
 * @typedef {{ write: PendingWrite, session: AbortSignal, onAnswer: () => void, resolve: (outcome: Promise<Written>) => void }} Entry
 * @typedef {{ waiting: Entry[], unfinished: number, isPosting: boolean }} Queue
 */

export class Writer {
  /** @type {Map<string, Queue>} By feed. */
  #queues = new Map();
  #connection;
  #errors;

  /**
   * @param {import('./connection.js').Connection} connection
   * @param {Pick<typeof import('./writes.js'), 'WriteFailed' | 'WriteRejected'>} errors
   */
  constructor(connection, errors) {
    this.#connection = connection;
    this.#errors = errors;
  }

  /**
   * @param {string} feed @param {PendingWrite} write @param {AbortSignal} session Ends it. @param {() => void} onAnswer The brokers have it.
   * @returns {Promise<Written>}
   */
  send(feed, write, session, onAnswer) {
    /** @type {Queue} */
    const queue = this.#queues.get(feed) ?? { waiting: [], unfinished: 0, isPosting: false };
    this.#queues.set(feed, queue);
    return new Promise((resolve) => {
      queue.waiting.push({ write, session, onAnswer, resolve });
      this.#next(feed, queue);
    });
  }

  /**
   * Sends the next write. Requests at the same time would be applied in any order.
   * @param {string} feed @param {Queue} queue
   */
  #next(feed, queue) {
    const entry = queue.isPosting || queue.unfinished === mostUnfinished ? undefined : queue.waiting.shift();
    if (entry === undefined) return;
    const { write, session, onAnswer, resolve } = entry;
    write.isSent = true;
    queue.isPosting = true;
    queue.unfinished += 1;
    const posted = this.#post(feed, write, session);
    const outcome = posted.then((url) => this.#outcomeOf(url, write, session, onAnswer));
    resolve(outcome);
    posted.catch(() => {}).then(() => {
      queue.isPosting = false;
      this.#next(feed, queue);
    });
    outcome.catch(() => {}).then(() => {
      queue.unfinished -= 1;
      this.#next(feed, queue);
    });
  }

  /** @param {string} feed @param {PendingWrite} write @param {AbortSignal} session @returns {Promise<string>} Where to ask for the outcome; empty if it is known. */
  async #post(feed, write, session) {
    const { WriteFailed, WriteRejected } = this.#errors;
    if (/^\.\.?$/.test(feed)) throw new WriteRejected('invalid-target', `fetch cannot address a feed whose id is ${feed}; nothing was written`);
    const url = `${this.#connection.urlOf(feed)}/v1/feeds/${encodeURIComponent(feed)}/events`;
    try {
      const request = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: write.body };
      const answer = await this.#connection.exchange(url, request, answerTime, session);
      if (!(answer.status === 200 || answer.status === 202) || !answer.value) throw this.#errorOf(answer);
      const { partition, offset } = write.written = answer.value;
      write.isPublished = answer.status === 200;
      return write.isPublished || write.wait === 0 || offset === undefined ? '' : `${url}?partition=${partition}&offset=${offset}`;
    } catch (error) {
      if (error instanceof WriteRejected || error instanceof WriteFailed) throw error;
      const { end, message = error } = /** @type {any} */ (error);
      throw new WriteFailed(null, end ? `nothing was written: ${end}` : `${url} has not answered: ${message}. ${advice}`);
    }
  }

  /** @param {string} url @param {PendingWrite} write @param {AbortSignal} session @param {() => void} onAnswer @returns {Promise<Written>} */
  async #outcomeOf(url, write, session, onAnswer) {
    if (url !== '') {
      onAnswer();
      const request = { method: 'GET', headers: { Prefer: `wait=${write.wait}` } };
      const answer = await this.#connection.exchange(url, request, answerTime + 1000 * write.wait, session).catch(() => null);
      if (session.aborted) throw new this.#errors.WriteFailed(null, `the FeedStore is closed or another user's. ${advice}`);
      if (answer?.status === 422 || answer?.status === 412) throw this.#errorOf(answer);
      if (answer?.status === 200 && answer.value) Object.assign(write, { written: answer.value, isPublished: true });
    }
    return /** @type {Written} */ (write.written);
  }

  /** @param {import('./connection.js').Answer} answer */
  #errorOf({ status, value }) {
    const { WriteFailed, WriteRejected } = this.#errors;
    const [code, detail] = [value?.code ?? null, value?.detail ?? `the daemon answered ${status}`];
    return status >= 400 && status < 500 ? new WriteRejected(code ?? String(status), detail) : new WriteFailed(code, `${detail}. ${advice}`);
  }
}
