// Tokens: when they are asked for, and what becomes of streams.

import assert from 'node:assert/strict';
import test from 'node:test';
import { Scene } from './support/scene.mjs';

/** A token that ends at a time in milliseconds. */
const tokenUntil = (time, id = 0) => `h.${Buffer.from(JSON.stringify({ exp: time / 1000, sub: 'a', id })).toString('base64url')}.s`;

/** A scene whose tokens last so many milliseconds. */
function sceneWithTokens(milliseconds, options = {}) {
  const asked = [];
  let count = 0;
  const scene = new Scene({
    token: async () => {
      asked.push(scene.clock.time);
      return tokenUntil(scene.clock.time + milliseconds, count++);
    },
    ...options,
  });
  return { scene, asked };
}

test('a token is asked for with each connection, and sent', async () => {
  const given = ['one', 'two', 'three'];
  const scene = new Scene({ token: () => given.shift() });
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  scene.server.cut();
  await scene.pass(4000);
  assert.equal(feed.view.standing.name, 'live');
  assert.deepEqual(scene.server.requests.map(({ headers }) => headers.Authorization), ['Bearer one', 'Bearer two']);
  await scene.close();
});

test('a token that is about to end is renewed, 30 s before or when half of it is left', async () => {
  for (const [length, expected] of [[100_000, 70_000], [40_000, 20_000]]) {
    const { scene, asked } = sceneWithTokens(length);
    const { updates } = scene.listen(scene.store.feed('f'));
    const start = scene.clock.time;
    await scene.pass(expected + 1000);
    assert.deepEqual(asked.map((time) => time - start), [0, expected]);
    assert.deepEqual(scene.server.requests.map(({ method, body }) => [method, body]).slice(1), [['PATCH', { add: [], remove: [] }]]);
    assert.notEqual(scene.server.requests[0].headers.Authorization, scene.server.requests[1].headers.Authorization);
    assert.ok(updates.every(({ view }) => view.standing.name !== 'stale'));
    await scene.pass(expected + 1000);
    assert.equal(asked.length, 3);
    await scene.close();
  }
});

test('a token that ends is replaced with the next connection, if there was no newer one before', async () => {
  let token = 'h.e30.s';
  let isValid = true;
  const scene = new Scene({ token: async () => token });
  token = tokenUntil(scene.clock.time + 60_000);
  const first = token;
  scene.server.rightsOf = (given) => (isValid || given !== first ? { sub: 'a', mayRead: () => true } : null);
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass(59_000);
  assert.equal(scene.server.requests.length, 1, 'the same token is not sent again');
  scene.server.expire();
  isValid = false;
  await scene.pass();
  assert.ok(updates.some(({ view }) => view.standing.reason === 'forbidden'));
  await scene.pass(4000);
  assert.equal(feed.view.standing.reason, 'token-needed');
  token = tokenUntil(scene.clock.time + 60_000);
  await scene.pass(30_000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('another token is tried at once when one is refused, and then after pauses', async () => {
  let count = 0;
  const scene = new Scene({ token: async () => `token${count++}` });
  scene.server.rightsOf = (token) => (token === 'token5' ? { sub: 'a', mayRead: () => true } : null);
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'token-needed');
  assert.equal(scene.server.requests.length, 2);
  await scene.pass(120_000);
  assert.equal(feed.view.standing.name, 'live');
  assert.equal(scene.server.requests.length, 6);
  await scene.close();
});

test('rights that a newer token takes away or gives', async () => {
  const { scene } = sceneWithTokens(60_000);
  let mayRead = true;
  scene.server.rightsOf = () => {
    const now = mayRead;
    return { sub: 'a', mayRead: () => now };
  };
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass(1000);
  mayRead = false;
  await scene.pass(30_000);
  assert.deepEqual([feed.view.standing.reason, feed.view.exists], ['forbidden', true]);
  mayRead = true;
  await scene.pass(30_000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('a token of another person opens the stream again', async () => {
  const { scene } = sceneWithTokens(60_000);
  let sub = 'a';
  scene.server.rightsOf = () => ({ sub, mayRead: () => true });
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass(1000);
  sub = 'b';
  await scene.pass(30_000);
  assert.deepEqual(scene.server.requests.map(({ method }) => method), ['POST', 'PATCH', 'POST']);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('a callback that fails counts as a failed connection', async () => {
  let fails = true;
  const scene = new Scene({ token: async () => {
    if (fails) throw new Error('no session');
    return 'x';
  } });
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.equal(feed.view.standing.reason, 'disconnected');
  fails = false;
  await scene.pass(4000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});
