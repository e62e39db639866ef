// replica.js with real histories, and with a large feed.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { Replica } from '../src/replica.js';
import { Follower, contentOf } from './support/follower.mjs';
import { replay, root } from './support/replay.mjs';

const folder = process.env.FEEDSTORE_DATA ?? join(root, '../shared/data');
const skip = existsSync(folder) ? false : `the real replay files are not at ${folder}`;
const files = {
  'covid-italy.events': 6000, 'github-ranking.events': 12000, 'playlists.replace': 150, 'power-outages.events': 8000,
  'power-outages.replace': 25, 'public-apis.dirty.replace': 60,
};
// Everything in one window: each feed is published as a single reload.
const inOne = { 'coalesce.window': 1e14, 'coalesce.maxRecords': 1e9, 'coalesce.maxBytes': 1e12 };

for (const [name, count] of Object.entries(files)) {
  test(`a real history ends with the same feeds as a single reload: ${name}`, { skip }, () => {
    const lines = execFileSync(
      'sh', ['-c', 'xz -dc "$1" | head -n "$2"', 'sh', join(folder, `${name}.ndjson.xz`), String(count)],
      { encoding: 'utf8', maxBuffer: 2 ** 29 },
    );
    const contents = [{ 'planner.maxChangedFraction': 1e9 }, inOne].map((settings) => {
      const follower = new Follower();
      for (const line of replay(lines, settings).output) {
        const { type, fault } = follower.apply(line);
        const isFine = ['applied', 'skipped', 'waiting', 'removed'].includes(type);
        assert.ok(isFine, `${type} at ${line.offset}: ${fault?.message}`);
      }
      assert.ok(follower.replicas.length > 0);
      const feeds = follower.replicas.map((replica) => [replica.feed, contentOf(replica)]);
      return feeds.sort(([a], [b]) => (a < b ? -1 : 1));
    });
    assert.deepEqual(contents[0], contents[1]);
  });
}

test('small changes to a feed of 10,000 items are fast', (t) => {
  const items = Array.from({ length: 10000 }, (_, n) => `item${n}`);
  const changes = Array.from({ length: 1000 }, (_, n) => ([
    { op: 'item.move', item: `item${(n * 7919) % 10000}`, at: { index: (n * 104729) % 10000 } },
    { op: 'item.upsert', item: `new${n}`, section: 's', at: { index: (n * 31) % 10000 } },
    { op: 'item.delete', item: `item${9999 - n}` },
  ]));
  const values = [{ op: 'section.replace', section: 's', items }, ...changes];
  const records = values.map((value, n) => ({ ts: n, key: 'f', value }));
  const settings = { 'coalesce.window': 0, 'keyframe.maxDeltas': 5e5, 'keyframe.maxBytesRatio': 1e6 };
  const [first, ...rest] = replay(records, settings).output.map(({ value }) => JSON.stringify(value));
  const replica = new Replica('f');
  replica.apply(first);
  const start = process.cpuUsage();
  for (const changeset of rest) assert.equal(replica.apply(changeset).type, 'applied');
  // Processor time, because other programs may use the machine as well.
  const { user, system } = process.cpuUsage(start);
  const milliseconds = (user + system) / 1000 / rest.length;
  t.diagnostic(`${rest.length} changesets, ${milliseconds.toFixed(3)} ms each`);
  // A pass over the items takes well under a millisecond; comparing all pairs would take a hundred.
  assert.ok(milliseconds < 10, `${milliseconds} ms for a changeset`);
});

test('a feed of 15,000 items is reloaded in some milliseconds', (t) => {
  const items = Array.from({ length: 15000 }, (_, n) => ({ id: `item${n}`, kind: 'story', data: { title: `Title ${n}`, score: n, tags: ['a', 'b'] } }));
  const [{ value }] = replay([{ ts: 0, key: 'f', value: { op: 'section.replace', section: 's', items } }], { 'output.maxMessageBytes': 1e7 }).output;
  const texts = [1, 2, 3, 4, 5].map((revision) => JSON.stringify({ ...value, revision }));
  const replica = new Replica('f');
  const milliseconds = texts.map((text) => {
    const start = process.cpuUsage();
    assert.equal(replica.apply(text).type, 'applied');
    const { user, system } = process.cpuUsage(start);
    return (user + system) / 1000;
  });
  t.diagnostic(`${texts[0].length} bytes: ${milliseconds.map((it) => it.toFixed(0)).join(', ')} ms`);
  assert.ok(Math.min(...milliseconds) < 500, `${milliseconds} ms`);
});
