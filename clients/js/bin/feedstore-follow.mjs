#!/usr/bin/env node
/**
 * Follows feeds over HTTP, and prints each as it changes. Node 18 or later.
 *
 *     npx feedstore-follow http://127.0.0.1:8321 news weather
 *
 * Several instances are one argument, separated by commas. With --json it prints the whole feed on one line whenever the feed is up
 * to date, {"feed":"news","mode":"delete"} when it has been deleted, and {"feed":"news","error":"absent"} while there is no such feed.
 * Data is printed as its producer spelled it. The token is in the environment variable FEEDSTORE_HTTP_TOKEN; if the daemon refuses it,
 * the exit code is 1.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import { FeedStore } from 'feedstore';

/**
 * Sections as JSON, with the text of all data: `JSON.stringify` would change numbers and the order of members.
 *
 * @param {import('feedstore').FeedView['sections']} sections
 */
function textOf(sections) {
  const list = (/** @type {string[]} */ elements) => `[${elements.join(',')}]`;
  return list(sections.map(({ id, dataText, order, keep, items }) => {
    const texts = items.map((item) => `{"id":${JSON.stringify(item.id)},"kind":${JSON.stringify(item.kind)},"data":${item.dataText}}`);
    const settings = (order ? `,"order":${JSON.stringify(order)}` : '') + (keep ? `,"keep":${keep}` : '');
    return `{"id":${JSON.stringify(id)},"data":${dataText}${settings},"items":${list(texts)}}`;
  }));
}

const complain = (/** @type {string} */ text) => console.error(`feedstore-follow: ${text}`);

const isJSON = process.argv.includes('--json');
const [urls, ...feeds] = process.argv.slice(2).filter((argument) => argument !== '--json');
if (feeds.length === 0) {
  console.error('usage: feedstore-follow URL[,URL…] FEED… [--json]');
  process.exit(2);
}
/** @type {FeedStore} */
let store;
try {
  store = new FeedStore(urls.split(','), { token: () => process.env.FEEDSTORE_HTTP_TOKEN });
} catch (error) {
  complain(/** @type {Error} */ (error).message);
  process.exit(2);
}
process.stdout.on('error', (/** @type {NodeJS.ErrnoException} */ fault) => {
  // A pipe whose reader has gone (`| head -1`) is no failure.
  if (fault.code === 'EPIPE') process.exit(0);
  complain(`cannot write standard output: ${fault.message}`);
  process.exit(1);
});

// Whether the connection is lost, which is said once in each outage for all feeds.
let isCut = false;
for (const id of feeds) {
  // What was printed and said last, and whether the feed was there.
  let [printed, said, was] = ['', '', false];
  const print = (/** @type {string} */ line) => {
    if (line !== printed) console.log(line);
    printed = line;
  };
  store.feed(id).subscribe(({ kind, view, change }) => {
    const { name, reason, detail } = view.standing;
    if (reason === 'token-needed') {
      complain(`${id}: ${detail ?? 'the token is refused'}`);
      process.exit(1);
    }
    const what = reason === undefined ? detail ?? '' : `${reason}${detail ? `: ${detail}` : ''}`;
    if (reason === 'disconnected') {
      if (!isCut) complain(`cannot reach ${urls}; trying again, less and less often, up to every 30 s`);
      isCut = true;
    } else {
      if (what !== '' && what !== said) complain(`${id}: ${what}`);
      said = what;
      isCut = false;
    }
    if (isJSON && name === 'live') {
      const { epoch, revision, checksum, sections } = view;
      if (view.exists) print(`${JSON.stringify({ feed: id, epoch, revision, checksum }).slice(0, -1)},"sections":${textOf(sections)}}`);
      else print(JSON.stringify(was ? { feed: id, mode: 'delete' } : { feed: id, error: 'absent' }));
    } else if (!isJSON && (kind === 'state' || kind === 'changed')) {
      const items = view.sections.reduce((sum, section) => sum + section.items.length, 0);
      console.log(`${id} ${change?.mode ?? 'reload'} revision ${view.revision}: ${view.sections.length} sections, ${items} items`);
    } else if (!isJSON && kind === 'absent') {
      console.log(`${id}: ${was ? 'gone' : 'absent'}`);
    }
    was ||= view.exists;
  });
}
