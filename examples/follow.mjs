#!/usr/bin/env node
/**
 * Follows feeds over HTTP and prints each as it changes. Node 18 or later.
 *
 *     node examples/follow.mjs http://127.0.0.1:8321 news weather
 *
 * With --json it prints the whole feed on one line whenever it is up to date, {"feed":"news","mode":"delete"} when it has been
 * deleted, and {"feed":"news","error":"absent"} while there is no such feed. Data is printed as its producer spelled it. The token is read from the environment variable FEEDSTORE_HTTP_TOKEN; if the daemon refuses it, the
 * exit code is 1. For a web page, copy `follow` and the two imported files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import { EventStream } from '../clients/js/src/event-stream.js';
import { parsedWithText, Replica, ReplicaFault } from '../clients/js/src/replica.js';

/**
 * Follows a feed until its process or page ends, and recovers from every interruption.
 *
 * @param {string} server The URL of a daemon.
 * @param {string} feed
 * @param {object} options
 * @param {string} [options.token]
 * @param {(what: string, replica: Replica, change?: import('../clients/js/src/replica.js').Change) => void} options.onNews
 *   What happened, and the resulting feed: `applied` (with what it changed), `up-to-date`, `gone`, `moved`, or
 *   `must-refetch` (until the next `applied` there is nothing newer than what was shown).
 * @param {(status: number, answer: string) => void} options.onRefusal Why the feed is not available; reported once
 *   until that changes: 404 if there is no such feed, 401 if the token is refused, which ends it. It retries after all others.
 * @param {(partition: number, others: number[]) => void} [options.onOthers] Other partitions have the id, too, by a mistake of
 *   its producers; the feed of `partition` is followed.
 * @param {(url: string, isReached: boolean) => void} [options.onAttempt] Whether a daemon responded, for each attempt.
 */
function follow(server, feed, { token, onNews, onRefusal, onOthers, onAttempt }) {
  const replica = new Replica(feed);
  // Whether to report it if the feed is gone. The replica cannot tell: `must-refetch` empties it.
  let isShown = false;
  // The last reported error response. Each attempt usually gets the same one.
  /** @type {string | undefined} */
  let refusal;
  /** @type {EventStream} */
  let stream;
  // Selects the partition, if several have the feed's id: each has another feed.
  let query = '';

  const connect = (/** @type {string} */ url) => {
    stream?.close();
    let isConnecting = false;
    stream = new EventStream(`${url}/v1/feeds/${encodeURIComponent(feed)}/changes${query}`, {
      headers: () => (token ? { Authorization: `Bearer ${token}` } : {}),
      onEvent: ({ name, data }) => take(name, data),
      onState: ({ state, status, problem }) => {
        if (isConnecting) onAttempt?.(url, state === 'open' || status !== undefined);
        isConnecting = state === 'connecting';
        if (state === 'open') refusal = undefined;
        if (state !== 'waiting' && state !== 'refused') return;
        // The stream reconnects with its last event id, and receives what it missed.
        if (status === 410 && problem?.url) connect(problem.url);
        else tellRefusal(status, problem?.detail ?? `the server answers ${status}`);
      },
    });
    stream.open();
  };

  const take = (/** @type {string} */ name, /** @type {string} */ data) => {
    switch (name) {
      case 'message': return apply(data);
      // Also sent after a deletion, which has been reported.
      case 'up-to-date': return replica.revision === null ? undefined : onNews('up-to-date', replica);
      case 'must-refetch':
        // The next message is a reload, which must be accepted whatever its revision.
        replica.remove();
        return onNews('must-refetch', replica);
      case 'other-partitions': {
        const { partition, otherPartitions } = JSON.parse(data);
        query = `?partition=${partition}`;
        return onOthers?.(partition, otherPartitions);
      }
      case 'moved': {
        const { url } = JSON.parse(data);
        if (url) connect(url);
        return onNews('moved', replica);
      }
      default: return undefined;
    }
  };

  const apply = (/** @type {string} */ text) => {
    const outcome = outcomeOf(text);
    switch (outcome.type) {
      case 'applied':
        isShown = true;
        return onNews('applied', replica, outcome.change);
      case 'removed': return tellGone();
      case 'skipped': case 'waiting': return undefined;
      default:
        // Something was missed or does not fit: start over after a pause, because it could happen again.
        replica.remove();
        stream.restart({ isPatient: true });
        return onNews('must-refetch', replica);
    }
  };

  const tellRefusal = (/** @type {number | undefined} */ status, /** @type {string} */ answer) => {
    const isNews = answer !== refusal;
    refusal = status === undefined ? undefined : answer;
    if (status === 404 && isShown) tellGone();
    else if (status !== undefined && isNews) onRefusal(status, answer);
  };

  const tellGone = () => {
    replica.remove();
    isShown = false;
    onNews('gone', replica);
  };

  const outcomeOf = (/** @type {string} */ text) => {
    try {
      return replica.apply(parsedWithText(text));
    } catch (fault) {
      if (fault instanceof ReplicaFault) return { type: /** @type {const} */ ('mismatch'), feed, fault };
      throw fault;
    }
  };

  connect(server);
}

/**
 * Sections as JSON, with the text of all data: `JSON.stringify` would change numbers and the order of members.
 *
 * @param {Replica['sections']} sections
 */
function textOf(sections) {
  const list = (/** @type {string[]} */ elements) => `[${elements.join(',')}]`;
  return list(sections.map(({ id, dataText, order, keep, items }) => {
    const texts = items.map((item) => `{"id":${JSON.stringify(item.id)},"kind":${JSON.stringify(item.kind)},"data":${item.dataText}}`);
    const settings = (order ? `,"order":${JSON.stringify(order)}` : '') + (keep ? `,"keep":${keep}` : '');
    return `{"id":${JSON.stringify(id)},"data":${dataText}${settings},"items":${list(texts)}}`;
  }));
}

const isJSON = process.argv.includes('--json');
const [server, ...feeds] = process.argv.slice(2).filter((argument) => argument !== '--json');
if (feeds.length === 0) {
  console.error('usage: follow.mjs URL FEED… [--json]');
  process.exit(2);
}
try {
  // Throws for the same URLs as `fetch`.
  if (!/^https?:/.test(new Request(server).url)) throw new TypeError('not HTTP');
} catch {
  console.error(`follow.mjs: '${server}' is not the URL of a daemon, such as http://127.0.0.1:8321`);
  process.exit(2);
}
process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ fault) => {
  // A pipe whose reader has gone (`| head -1`) is no failure.
  if (fault.code === 'EPIPE') process.exit(0);
  console.error(`follow.mjs: cannot write standard output: ${fault.message}`);
  process.exit(1);
});
// Servers reported as unreachable: each is reported once, for all its feeds, until it answers.
const unreached = new Set();
for (const feed of feeds) {
  // Whether the last JSON line reported that the feed does not exist.
  let isAbsent = false;
  // Whether the feed is the newest after each changeset: a state may be followed by what was missed.
  let isUpToDate = false;
  const print = (/** @type {object} */ value) => console.log(JSON.stringify(value));
  follow(server.replace(/\/+$/, ''), feed, {
    token: process.env.FEEDSTORE_HTTP_TOKEN,
    onAttempt: (url, isReached) => {
      const isNews = !isReached && !unreached.has(url);
      if (isNews) console.error(`follow.mjs: cannot reach ${url}; trying again, less and less often, up to every 30 s`);
      unreached[isReached ? 'delete' : 'add'](url);
    },
    onOthers: (partition, others) => {
      console.error(`follow.mjs: ${feed} is in the partitions ${[partition, ...others].sort((a, b) => a - b).join(', ')}: `
        + `separate feeds with the same id; the one in partition ${partition} is followed`);
    },
    onRefusal: (status, answer) => {
      if (status === 401) process.exitCode = 1;
      if (!isJSON && status !== 401) return console.log(`${feed}: ${answer}`);
      if (status !== 404) return console.error(`follow.mjs: ${feed}: ${answer}`);
      if (!isAbsent) print({ feed, error: 'absent' });
      isAbsent = true;
      return undefined;
    },
    onNews: (what, replica, change) => {
      const { epoch, revision, checksum, sections } = replica;
      isUpToDate = what === 'up-to-date' || (what === 'applied' && isUpToDate);
      if (isJSON && isUpToDate) {
        console.log(`${JSON.stringify({ feed, epoch, revision, checksum }).slice(0, -1)},"sections":${textOf(sections)}}`);
      }
      if (isJSON && what === 'gone') print({ feed, mode: 'delete' });
      if (what === 'up-to-date' || what === 'gone') isAbsent = what === 'gone';
      if (isJSON || what === 'up-to-date') return;
      const size = `${sections.length} sections, ${replica.itemCount} items`;
      console.log(change ? `${feed} ${change.mode} revision ${revision}: ${size}` : `${feed}: ${what}`);
    },
  });
}
