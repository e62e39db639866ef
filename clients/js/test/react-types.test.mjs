// The hooks' code, and programs that use them, against their declarations, with TypeScript's compiler.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('The hooks and their declarations agree, and the compiler refuses what is not declared', () => {
  const { error, status, stdout } = spawnSync('tsc', ['--project', fileURLToPath(new URL('types', import.meta.url))], { encoding: 'utf8' });
  assert.equal(error, undefined, 'install node-typescript');
  assert.equal(status, 0, stdout);
});
