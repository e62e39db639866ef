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

/** A scene whose tokens are signed with a clock that is `ahead`. The server says that they are not valid yet, or only the token does. */
function sceneWithClocks(ahead, { lasts = 3_600_000, isSaid = true } = {}) {
  let asked = 0;
  const scene = new Scene({ token: async () => {
    asked += 1;
    const nbf = (scene.clock.time + ahead) / 1000;
    return `h.${Buffer.from(JSON.stringify({ nbf: isSaid ? undefined : nbf, starts: nbf, exp: nbf + lasts / 1000, sub: 'a', id: asked })).toString('base64url')}.s`;
  } });
  scene.server.rightsOf = (token) => {
    const { starts, exp } = JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
    if (scene.clock.time >= 1000 * exp) return 'the token has expired';
    return scene.clock.time < 1000 * starts ? (isSaid ? 'the token is not valid yet' : null) : { sub: 'a', mayRead: () => true };
  };
  return { scene, get asked() { return asked; } };
}

test('a token that is not valid yet is kept, and sent again', async () => {
  for (const [ahead, most, options] of [[2000, 3100, {}], [2000, 3100, { isSaid: false }], [60_000, 95_000, {}]]) {
    const clocks = sceneWithClocks(ahead, options);
    const { scene } = clocks;
    const { feed } = scene.listen(scene.store.feed('f'));
    await scene.pass();
    assert.deepEqual([feed.view.standing.reason, feed.view.standing.until > scene.clock.time], ['token-needed', true]);
    await scene.pass(most);
    assert.deepEqual([feed.view.standing.name, clocks.asked], ['live', 1], `${ahead}`);
    // The one that was accepted stays in use while the newer one is not valid yet.
    await scene.pass(10_000);
    scene.server.cut();
    await scene.pass(100);
    assert.deepEqual([feed.view.standing.name, clocks.asked], ['live', 2]);
    await scene.close();
  }
});

test('a token that never becomes valid is replaced after five minutes', async () => {
  const clocks = sceneWithClocks(7_200_000);
  clocks.scene.listen(clocks.scene.store.feed('f'));
  await clocks.scene.pass(299_000);
  assert.equal(clocks.asked, 1);
  await clocks.scene.pass(60_000);
  assert.equal(clocks.asked, 2);
  await clocks.scene.close();
});

test('a renewed token that is not valid yet does not disturb the stream, nor writes', async () => {
  const clocks = sceneWithClocks(8000, { lasts: 100_000 });
  const { scene } = clocks;
  const { feed, updates } = scene.listen(scene.store.feed('f'));
  await scene.pass(40_000);
  assert.equal(feed.view.standing.name, 'live');
  updates.length = 0;
  scene.server.onWrite = () => ({ status: 202, body: {} });
  for (let n = 0; n < 400; n++) {
    await scene.pass(1000);
    await Promise.all([feed.write({ op: 'feed.clear' }), scene.pass(10)]);
  }
  assert.ok(updates.every(({ view }) => view.standing.name === 'live'));
  assert.ok(clocks.asked >= 4 && clocks.asked <= 10, `${clocks.asked}`);
  assert.equal(scene.server.requests.filter(({ url }) => url.endsWith('/streams')).length, 3);
  await scene.close();
});

test('a write waits for its token to be valid', async () => {
  const { scene } = sceneWithClocks(2500);
  scene.server.onWrite = () => ({ status: 202, body: { topic: 't' } });
  const written = scene.store.feed('f').write({ op: 'feed.clear' });
  await scene.pass(4000);
  assert.deepEqual(await written, { topic: 't' });
  assert.equal(new Set(scene.server.requests.map(({ headers }) => headers.Authorization)).size, 1);
  await scene.close();
  const late = sceneWithClocks(600_000).scene;
  const rejected = assert.rejects(late.store.feed('f').write({ op: 'feed.clear' }), { name: 'WriteRejected' });
  await late.pass(5000);
  await late.close();
  await rejected;
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

test('a callback that fails is named by the standing and by writes, and asked again', async () => {
  let fails = true;
  const scene = new Scene({ token: async () => {
    if (fails) throw new Error('no session');
    return 'x';
  } });
  const { feed } = scene.listen(scene.store.feed('f'));
  await scene.pass();
  assert.deepEqual([feed.view.standing.reason, feed.view.standing.detail], ['token-needed', 'there is no token: no session']);
  await assert.rejects(feed.write({ op: 'feed.clear' }), { name: 'WriteFailed', message: 'nothing was written: there is no token: no session' });
  fails = false;
  await scene.pass(4000);
  assert.equal(feed.view.standing.name, 'live');
  await scene.close();
});

test('without a newer token the present one stays in use until it ends', async () => {
  for (const fails of [false, true]) {
    let count = 0;
    const scene = new Scene({ token: async () => {
      if (count++ === 0) return tokenUntil(scene.clock.time + 60_000);
      if (fails) throw new Error('no session');
      return null;
    } });
    const { feed } = scene.listen(scene.store.feed('f'));
    await scene.pass(10_000);
    scene.server.cut();
    await scene.pass(100);
    assert.deepEqual([feed.view.standing.name, count], ['live', 2]);
    await scene.pass(55_000);
    scene.server.rightsOf = (token) => (token === undefined ? { sub: 'a', mayRead: () => true } : null);
    scene.server.cut();
    await scene.pass(4000);
    assert.equal(feed.view.standing.name, fails ? 'stale' : 'live');
    await scene.close();
  }
});
