/**
 * Sends a write, and says what has become of it.
 *
 * This module is loaded with the first write. It imports nothing, so that bundlers make one chunk of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/** So many seconds after the wait for the outcome of a write, there will be none. */
const writeSeconds = 30;
const advice = 'The write may be published nevertheless. Whether it is safe to send it again: section 10.2 of the protocol';

/**
 * @param {import('./connection.js').Connection} connection @param {string} instance The URL of the one that has the feed.
 * @param {{ feed: string, body: string, wait: number, closing: AbortSignal }} write `wait` is in seconds; `closing` ends it.
 * @param {Pick<typeof import('./writes.js'), 'WriteFailed' | 'WriteRejected'>} errors
 * @returns {Promise<{ written: import('../types/index.js').Written, isPublished: boolean }>}
 */
export async function sendWrite(connection, instance, { feed, body, wait, closing }, { WriteFailed, WriteRejected }) {
  if (closing.aborted) throw new WriteFailed(null, 'the FeedStore is closed; nothing was written');
  if (/^\.\.?$/.test(feed)) throw new WriteRejected('invalid-target', `fetch cannot address a feed whose id is ${feed}; nothing was written`);
  const { environment } = connection;
  const url = `${instance}/v1/feeds/${encodeURIComponent(feed)}/events`;
  const controller = new AbortController();
  const { signal } = controller;
  const abort = () => controller.abort();
  closing.addEventListener('abort', abort);
  const timer = environment.setTimer(abort, 1000 * (wait + writeSeconds));
  try {
    const headers = { 'Content-Type': 'application/json', ...(wait > 0 && { Prefer: `wait=${wait}` }) };
    const response = await connection.request(url, { method: 'POST', headers, body, cache: 'no-store', signal });
    const answer = await response.json();
    if (response.ok) return { written: answer, isPublished: response.status === 200 };
    const [code, detail] = [answer?.code ?? String(response.status), answer?.detail ?? `the daemon answered ${response.status}`];
    throw response.status < 500 ? new WriteRejected(code, detail) : new WriteFailed(code, `${detail}. ${advice}`);
  } catch (error) {
    if (error instanceof WriteRejected || error instanceof WriteFailed) throw error;
    if (/** @type {any} */ (error)?.end) throw new WriteFailed(null, `nothing was written: ${/** @type {any} */ (error).message}`);
    throw new WriteFailed(null, `${url} has not answered: ${error instanceof Error ? error.message : error}. ${advice}`);
  } finally {
    environment.clearTimer(timer);
    closing.removeEventListener('abort', abort);
  }
}
