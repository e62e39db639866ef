// Optimistic writes: what is shown, until when, and what becomes of it.

import assert from 'node:assert/strict';
import test from 'node:test';
import { WriteRejected } from '../src/index.js';
import { idsOf, Scene, sectionsOf } from './support/scene.mjs';

/** A scene whose server publishes a write when the test says what is changed. */
function writingScene() {
  const scene = new Scene();
  const waiting = [];
  scene.server.onWrite = (feed, events) => new Promise((resolve) => {
    const offset = 101 + waiting.length;
    waiting.push({ events, publish: (change) => {
      scene.server.change(change, { through: { t: offset } });
      resolve({ status: 200, body: { feed, topic: 't', partition: 0, offset, epoch: 't/0', revision: scene.server.revision } });
    } });
  });
  return Object.assign(scene, { waiting });
}

const starred = (view, id) => [view.item(id)?.data.starred, view.item(id)?.isPending, view.isPending];

test('a star that a user taps is shown at once, and confirmed', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  const heard = scene.listen(feed);
  await scene.pass();
  const before = feed.view;
  void heard.kinds;
  const written = feed.write({ op: 'item.patch', item: '0/1', data: { starred: true } });
  assert.deepEqual(starred(feed.view, '0/1'), [true, true, true]);
  assert.deepEqual(feed.view.item('0/1').data, { n: 1, starred: true });
  assert.equal(feed.view.item('0/1').dataText, '{"n":1,"starred":true}');
  assert.equal(feed.view.item('0/0'), before.item('0/0'));
  assert.equal(feed.view.section('s1'), before.section('s1'));
  assert.deepEqual(heard.kinds, ['pending']);
  await scene.pass();
  const [write] = scene.waiting;
  assert.deepEqual(write.events, { op: 'item.patch', item: '0/1', data: { starred: true } });
  // Something else changes meanwhile.
  const pending = feed.view.item('0/1');
  scene.server.change(([section]) => { section.items[2].data = { n: 7 }; });
  await scene.pass();
  assert.equal(feed.view.item('0/1'), pending);
  assert.deepEqual(feed.view.item('0/2').data, { n: 7 });
  assert.deepEqual(heard.kinds, ['pending']);
  write.publish(([section]) => { section.items[1].data = { n: 1, starred: true }; });
  await scene.pass();
  assert.deepEqual(await written, { feed: 'f', topic: 't', partition: 0, offset: 101, epoch: 't/0', revision: 3 });
  assert.deepEqual(starred(feed.view, '0/1'), [true, false, false]);
  assert.ok(heard.kinds.every((kind) => kind === 'pending'));
  scene.server.change(([section]) => section.items.pop());
  await scene.pass();
  assert.deepEqual(heard.kinds, ['changed']);
  await scene.close();
});

test('what is written back to what it was is not pending', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const before = feed.view.sections;
  const written = [{ op: 'item.patch', item: '0/1', data: { n: 5 } }, { op: 'item.patch', item: '0/1', data: { n: 1 } }].map((event) => feed.write(event));
  assert.equal(feed.view.sections, before);
  assert.equal(feed.view.isPending, false);
  for (const [at, n] of [5, 1].entries()) {
    await scene.pass();
    scene.waiting[at].publish(([section]) => { section.items[1].data = { n }; });
  }
  await Promise.all([...written, scene.pass()]);
  assert.equal(feed.view.isPending, false);
  await scene.close();
});

test('what cannot be shown early is written nevertheless', async () => {
  const scene = writingScene();
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const { view } = feed;
  const written = feed.write({ op: 'section.replace', section: 's0', items: ['0/2'] });
  assert.equal(feed.view, view);
  await scene.pass();
  scene.waiting[0].publish(([section]) => { section.items = [section.items[2]]; });
  await scene.pass();
  await written;
  assert.deepEqual(idsOf(feed.view), ['0/2', '1/0', '1/1']);
  await scene.close();
});

test('a condition goes with the first event, and a write is taken back if it does not hold', async () => {
  const scene = new Scene();
  const requests = [];
  scene.server.onWrite = (feed, events) => {
    requests.push(events);
    return { status: 412, body: { code: 'condition-failed', detail: "field 'if.revision' expects 1, found revision 2" } };
  };
  const feed = scene.store.feed('f');
  scene.listen(feed);
  await scene.pass();
  const before = feed.view.sections;
  const star = { op: 'item.patch', item: '0/1', data: { starred: true } };
  const last = { op: 'item.delete', item: '0/0' };
  for (const events of [star, [star, last], JSON.stringify(star)]) {
    const written = feed.write(events, { if: { revision: 1 } });
    assert.equal(feed.view.isPending, true);
    const rejected = assert.rejects(written, (error) => error instanceof WriteRejected && error.code === 'condition-failed' && /found revision 2$/.test(error.message));
    await scene.pass();
    await rejected;
    assert.deepEqual(feed.view.sections, before);
    assert.equal(feed.view.isPending, false);
  }
  const conditional = { ...star, if: { revision: 1 } };
  assert.deepEqual(requests, [[conditional], [conditional, last], [conditional]]);
  await scene.close();
});

test('what JSON cannot spell is rejected', async () => {
  const scene = writingScene();
  for (const events of [{ op: 'item.patch', item: 'a', data: 1n }, undefined]) {
    await assert.rejects(scene.store.feed('f').write(events), (error) => error instanceof WriteRejected && /JSON.*nothing was written/.test(error.message));
  }
  await scene.close();
});
