// Data and unknown fields that are nested deeper than the stack allows.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parsedWithText, Replica } from '../src/replica.js';

const depth = 100_000;
const deep = '[{"a":'.repeat(depth / 2) + '1' + '}]'.repeat(depth / 2);
const head = '"feed":"f","epoch":"t/0","revision":1,"base":0,"mode":"reload","reason":"initial",'
  + '"time":"2026-01-01T00:00:00.000Z","through":{"t":0}';

test('a replica accepts data of any depth', () => {
  const replica = new Replica('f');
  const text = `{${head},"checksum":"00000000","sections":[],"unknown":${deep}}`;
  assert.equal(replica.apply(text).type, 'applied');
  assert.equal(replica.apply(parsedWithText(text.replace('"revision":1', '"revision":2'))).type, 'applied');
});

test('a deeply nested value in place of text is an ordinary fault', () => {
  const changeset = `{${head},"checksum":${deep},"sections":[]}`;
  assert.throws(() => new Replica('f').apply(changeset), { name: 'ReplicaFault', code: 'invalid-changeset' });
});
