// edits.js: where an item goes, and what becomes of a user's change; api.js: how it is written.

import assert from 'node:assert/strict';
import test from 'node:test';
import { WriteFailed, WriteRejected } from '../../clients/js/src/index.js';
import { Api } from '../../web/api.js';
import { Edits, placeBeside } from '../../web/edits.js';
import { ShownSection } from '../../web/rows.js';
import { Random, seed } from '../../clients/js/test/support/random.mjs';

const item = (id, dataText, section = 's') => ({ id, dataText, section });

/** A list of sections after `item.move`, by the table of places in the protocol. */
function moved(sections, id, { section, at = 'last' }) {
  const result = sections.map(({ id: name, items }) => [name, items.map((one) => one.id).filter((one) => one !== id)]);
  const list = result.find(([name]) => name === section)[1];
  const index = at === 'first' ? 0 : at === 'last' ? list.length : at.before ? list.indexOf(at.before) : list.indexOf(at.after) + 1;
  list.splice(index, 0, id);
  return result;
}

test('an item goes up and down by one place, and past the end of its section into the next one', () => {
  const random = new Random(seed);
  for (let round = 0; round < 300; round++) {
    const sections = Array.from({ length: 1 + random.below(4) }, (_, s) => {
      const section = { id: `s${s}`, order: random.chance(25) ? [{ by: '' }] : undefined };
      section.items = Array.from({ length: random.below(4) }, (_, i) => item(`${s}/${i}`, '', section.id));
      return section;
    });
    const shown = sections.map((section) => new ShownSection(section));
    for (const [s, section] of sections.entries()) {
      for (const [index, one] of section.items.entries()) {
        for (const step of [-1, 1]) {
          const place = placeBeside(shown, one, step);
          const to = index + step;
          const stays = section.order === undefined && to >= 0 && to < section.items.length;
          const target = stays ? section : sections[s + step];
          assert.equal(place?.section, target?.id);
          if (place === null) continue;
          assert.equal('at' in place, target.order === undefined, 'places in an ordered section have no meaning');
          if (target.order !== undefined) continue;
          const ids = moved(sections, one.id, place).find(([name]) => name === target.id)[1];
          assert.equal(ids.indexOf(one.id), stays ? to : step > 0 ? 0 : ids.length - 1);
        }
      }
    }
  }
});

test('an item does not go to a place that the page does not know', () => {
  const section = { id: 's', items: [] };
  const own = item('b', '', section.id);
  const shown = [new ShownSection(section, 9, { from: 4, items: [own] })];
  assert.equal(placeBeside(shown, own, 1), null);
  assert.equal(placeBeside(shown, own, -1), null);
});

/** A feed whose daemon answers when the test says so. */
class Scene {
  sent = [];
  refused = [];

  constructor() {
    this.edits = new Edits((event) => new Promise((resolve, reject) => this.sent.push({ event, resolve, reject })), {
      onEdit: () => {},
      onRefused: (id, problem) => this.refused.push([id, problem.code]),
    });
    this.edits.isAllowed = true;
  }

  /** Answers the newest write. */
  async answer(error) {
    const { resolve, reject } = this.sent.at(-1);
    if (error === undefined) resolve();
    else reject(error);
    await new Promise(setImmediate);
  }
}

test('a change is pending until its outcome is known', async () => {
  const scene = new Scene();
  scene.edits.move('a', { section: 's', at: 'first' });
  assert.deepEqual(JSON.parse(scene.sent[0].event), { op: 'item.move', item: 'a', section: 's', at: 'first' });
  assert.equal(scene.edits.of('a').pending, 'moving');
  // Of the same item only one at a time, of others at once.
  scene.edits.delete('a');
  assert.equal(scene.sent.length, 1);
  await scene.answer();
  assert.equal(scene.edits.of('a'), scene.edits.of('other'));
  scene.edits.delete('a');
  assert.equal(scene.sent.length, 2);
  scene.edits.delete('b');
  assert.equal(scene.sent.length, 3);
});

test('data is sent as it is spelled, and only if it is JSON', async () => {
  const scene = new Scene();
  scene.edits.begin(item('a"', '{"n":9007199254740993,"n":1.0}'));
  const { draft } = scene.edits.of('a"');
  assert.equal(draft.text, '{\n  "n": 9007199254740993,\n  "n": 1.0\n}');
  for (const wrong of ['', '{', '{"a":1,}', '{"a":1},{"op":"feed.delete"}']) {
    scene.edits.type('a"', wrong);
    scene.edits.save('a"');
    assert.equal(scene.edits.of('a"').problem.code, 'invalid-json');
  }
  assert.equal(scene.sent.length, 0);
  scene.edits.type('a"', '{"n": 1e400}');
  scene.edits.save('a"');
  assert.equal(scene.sent[0].event, '{"op":"item.upsert","item":"a\\"","data":{"n": 1e400}}');
  assert.equal(scene.edits.of('a"').problem, null);
  await scene.answer();
  assert.equal(scene.edits.of('a"').draft, null);
  // What is as before is not sent.
  scene.edits.begin(item('b', '[1]'));
  assert.ok(scene.edits.save('b'));
  assert.equal(scene.edits.of('b'), scene.edits.of('other'));
  assert.equal(scene.sent.length, 1);
});

test('of an item with contents, its own data is changed', async () => {
  const scene = new Scene();
  const refs = { author: 'user-7', 'a"': 'post-1' };
  const contents = '"author":{"name":"Ada, \\"B\\""},"a\\"":null}';
  scene.edits.begin({ ...item('a', `{"n":1.0,"n":{"x":[1,2]},"m#2":9007199254740993,${contents}`), refs });
  assert.deepEqual(scene.edits.of('a').draft.base, '{"n":1.0,"n":{"x":[1,2]},"m#2":9007199254740993}');
  scene.edits.type('a', '{"n":2}');
  scene.edits.save('a');
  assert.equal(scene.sent[0].event, '{"op":"item.upsert","item":"a","data":{"n":2}}');
  scene.edits.begin({ ...item('b', `{${contents}`), refs });
  assert.equal(scene.edits.of('b').draft.base, '{}');
  assert.ok(scene.edits.save('b'));
  assert.equal(scene.sent.length, 1);
});

test('a refused change says why, and what was typed is kept', async () => {
  const scene = new Scene();
  scene.edits.begin(item('a', '1'));
  scene.edits.type('a', '2');
  for (const [error, code] of [
    [new WriteRejected('limit-exceeded', 'too much'), 'limit-exceeded'], [new WriteFailed(null, 'network'), 'no-answer'],
  ]) {
    scene.edits.save('a');
    await scene.answer(error);
    const { draft, pending, problem } = scene.edits.of('a');
    assert.deepEqual([draft.text, pending, problem.code, problem.text], ['2', null, code, error.message]);
    assert.deepEqual(scene.refused.at(-1), ['a', code]);
  }
  // A question that is answered with no leaves it as well.
  scene.edits.askToDelete('a');
  scene.edits.cancel('a');
  assert.equal(scene.edits.of('a').draft.text, '2');
  scene.edits.cancel('a');
  assert.equal(scene.edits.of('a'), scene.edits.of('other'));
});

test('nothing is written to a feed that may not be changed', () => {
  const scene = new Scene();
  scene.edits.isAllowed = false;
  scene.edits.begin(item('a', '1'));
  scene.edits.askToDelete('a');
  scene.edits.delete('a');
  scene.edits.move('a', { section: 's' });
  assert.equal(scene.edits.of('a'), scene.edits.of('other'));
  assert.equal(scene.sent.length, 0);
});

test('whether a feed may be changed is asked with the token', async (context) => {
  let response;
  let asked;
  context.mock.method(globalThis, 'fetch', async (...request) => {
    asked = request;
    return response();
  });
  globalThis.sessionStorage = { getItem: () => 'a token' };
  context.after(() => delete globalThis.sessionStorage);
  const api = new Api({ onTokenNeeded: () => {} });
  for (const [made, isWritable] of [
    [() => new Response(null, { headers: { 'Feedstore-Writable': 'true' } }), true],
    [() => new Response(null), false],
    [() => { throw new TypeError('network'); }, false],
  ]) {
    response = made;
    assert.equal(await api.isWritable('a/b'), isWritable);
    const [url, { method, headers }] = asked;
    assert.deepEqual([url, method, headers.Authorization], ['/v1/feeds/a%2Fb/changes', 'HEAD', 'Bearer a token']);
  }
});
