// The code against its declarations, and programs that use them, with TypeScript's compiler.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

test('the code fits the declarations, and the compiler refuses what is not declared', () => {
  const { error, status, stdout } = spawnSync('tsc', ['--project', fileURLToPath(new URL('..', import.meta.url))], { encoding: 'utf8' });
  assert.equal(error, undefined, 'install node-typescript');
  assert.equal(status, 0, stdout);
});
