// parsedWithText keeps the data of a changeset as it is spelled.

import assert from 'node:assert/strict';
import test from 'node:test';
import { parsedWithText, Replica, ReplicaFault, ReplicaPartition } from '../src/replica.js';

const head = (revision, mode) => `{"feed":"f","epoch":"t/0","revision":${revision},"base":${revision - 1},"mode":"${mode}",`
  + '"time":"2026-01-01T00:00:00.000Z","through":{"t":0},"x":[{"data":"\\"]}"}],"sections":"replaced","sections":';
/** What a replica finds, according to its fault. */
const checksumOf = (sections) => {
  const outcome = new Replica('f').apply(`${head(1, 'reload')}${sections},"checksum":"00000001"}`);
  return /has ([0-9a-f]{8})/.exec(outcome.fault.message)[1];
};

const spellings = [
  '9007199254740993', '1e400', '-1E+2', '1.0', '-0', '"caf\\u00e9\\/"', '"\\\\"', '"\\\\\\""', '{"a":1,"a":2}', '{"10":1,"9":{"data":2}}',
  '[[],{},"]",{"items":[{"data":1}]}]', 'null', 'true', '""', '{"__proto__":1}', '[ 1, 2 ]', '{"x" : "}" }',
];

test('elements have the text of their data, from reloads and from differences', () => {
  const items = spellings.map((data, at) => `{"id":"i${at}" , "kind":"", "d\\u0061ta" : ${data} ,"new":[${data}]}`);
  const sections = `[{"id":"s","data":${spellings[0]},"items":[${items.join(', ')}]}]`;
  const replica = new Replica('f');
  const outcome = replica.apply(parsedWithText(`${head(1, 'reload')}${sections},"checksum":"${checksumOf(sections)}"}`));
  assert.equal(outcome.type, 'applied');
  const texts = () => replica.sections[0].items.map((item) => item.dataText);
  assert.deepEqual(texts(), spellings);
  assert.equal(replica.sections[0].dataText, spellings[0]);
  assert.ok(replica.sections[0].items.every(({ data, dataText }, at) => {
    assert.deepEqual(data, JSON.parse(spellings[at]));
    return dataText === spellings[at];
  }));
  // Each item gets the data of the next one.
  const entries = spellings.map((_, at) => `{"id":"i${at}","section":"s","index":${at},"data":${spellings[(at + 1) % spellings.length]}}`);
  const change = `{"reconfigure":[{"id":"s","index":0,"data":"old","data":1.50}]},"items":{"reconfigure":[${entries.join(',')}]}`;
  const { change: applied } = replica.apply(parsedWithText(`${head(2, 'reconfigure')}${change},"checksum":"${replica.checksum}"}`));
  assert.deepEqual(texts(), [...spellings.slice(1), spellings[0]]);
  assert.equal(replica.sections[0].dataText, '1.50');
  assert.deepEqual(Reflect.ownKeys(applied.items.reconfigure[0]), ['id', 'section', 'index']);
  // Without it there is only the value.
  const plain = new ReplicaPartition();
  plain.apply('k0/f', JSON.parse(`${head(1, 'reload').replace('{', '{"part":0,')}${sections},"checksum":"${checksumOf(sections)}"}`));
  assert.equal(plain.replica('f').item('i0').dataText, undefined);
  assert.equal(plain.replica('f').item('i0').data, 9007199254740992);
});

test('a changeset that is not one is the same fault with and without the text', () => {
  for (const text of ['', '{', '[1,{"data":]', 'null', '7', '"x"', '[]', '{}', '{"sections":7,"items":[[],{"data":1}]}', '{"sections":{"insert":7}}']) {
    const code = (apply) => {
      try {
        return apply();
      } catch (fault) {
        assert.ok(fault instanceof ReplicaFault, `${text}: ${fault}`);
        return fault.code;
      }
    };
    assert.equal(code(() => new Replica('f').apply(parsedWithText(text))), code(() => new Replica('f').apply(text)), text);
  }
});

test('an item says when it ends, until an entry says otherwise', () => {
  const end = '2026-11-20T10:00:00.000Z';
  const sections = `[{"id":"s","data":null,"ttl":5,"items":[{"id":"a","kind":"","data":1,"expires":"${end}"},{"id":"b","kind":"","data":1,"expires":5}]}]`;
  const checksum = checksumOf(sections);
  const replica = new Replica('f');
  replica.apply(`${head(1, 'reload')}${sections},"checksum":"${checksum}"}`);
  assert.deepEqual(replica.sections[0].items.map(({ expires }) => expires), [end, undefined]);
  const [, b] = replica.sections[0].items;
  const outcome = replica.apply(`{"feed":"f","epoch":"t/0","revision":2,"base":1,"mode":"reconfigure","time":"2026-01-01T00:00:00.000Z","through":{"t":0},`
    + `"checksum":"${checksum}","items":{"reconfigure":[{"id":"a","section":"s","index":0,"data":1}]}}`);
  assert.equal(outcome.type, 'applied');
  assert.equal(replica.sections[0].items[0].expires, undefined);
  assert.equal(replica.sections[0].items[1], b);
});

test('an item says to which contents it refers, until an entry says otherwise', () => {
  const content = '"data":{"a":null},"refs":{"a":"user-7"}';
  const sections = `[{"id":"s","data":null,"items":[{"id":"a","kind":"",${content}},{"id":"b","kind":"","data":1,"refs":[]}]}]`;
  const checksum = checksumOf(sections);
  const replica = new Replica('f');
  replica.apply(`${head(1, 'reload')}${sections},"checksum":"${checksum}"}`);
  const [a] = replica.sections[0].items;
  assert.deepEqual(replica.sections[0].items.map(({ refs }) => refs), [{ a: 'user-7' }, undefined]);
  assert.deepEqual(JSON.parse(JSON.stringify(a)), { id: 'a', kind: '', data: { a: null }, refs: { a: 'user-7' } });
  // The data is the same, and so is the item in a reload.
  replica.apply(`${head(2, 'reload')}${sections},"checksum":"${checksum}"}`);
  assert.equal(replica.sections[0].items[0], a);
  const reconfigure = (revision, refs) => replica.apply(`{"feed":"f","epoch":"t/0","revision":${revision},"base":${revision - 1},"mode":"reconfigure","time":"2026-01-01T00:00:00.000Z","through":{"t":0},`
    + `"checksum":"${checksum}","items":{"reconfigure":[{"id":"a","section":"s","index":0,"data":{"a":null}${refs}}]}}`);
  for (const [revision, text, refs] of [[3, ',"refs":{"a":"user-8"}', { a: 'user-8' }], [4, '', undefined]]) {
    assert.equal(reconfigure(revision, text).type, 'applied');
    assert.deepEqual(replica.sections[0].items[0].refs, refs);
  }
});
