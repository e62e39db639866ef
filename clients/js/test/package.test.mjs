// The package as it is published: it is packed, and used in a clean folder.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync, brotliCompressSync } from 'node:zlib';

const source = fileURLToPath(new URL('..', import.meta.url));
const hasNpm = spawnSync('npm', ['--version']).status === 0;
const hasBundler = spawnSync('esbuild', ['--version']).status === 0;

test('the packed package has what it needs, and nothing else', { skip: !hasNpm && 'there is no npm' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'feedstore-package-'));
  try {
    const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: source, encoding: 'utf8' }));
    assert.ok(files.every(({ path }) => /^(src|types|bin)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/.test(path)), JSON.stringify(files));
    const app = join(folder, 'node_modules', 'feedstore');
    mkdirSync(app, { recursive: true });
    // As npm installs it.
    execFileSync('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', app]);
    writeFileSync(join(folder, 'app.mjs'), `
      import { FeedStore, WriteFailed, WriteRejected } from 'feedstore';
      import { Replica, ReplicaPartition } from 'feedstore/replica';
      const { standing } = new FeedStore('http://127.0.0.1:9').feed('f').view;
      console.log(standing.name, [WriteFailed, WriteRejected, Replica, ReplicaPartition].every((it) => typeof it === 'function'));
    `);
    assert.equal(execFileSync(process.execPath, ['app.mjs'], { cwd: folder, encoding: 'utf8' }), 'connecting true\n');
    const command = spawnSync(process.execPath, [join(app, 'bin', 'feedstore-follow.mjs')], { encoding: 'utf8' });
    assert.equal(command.status, 2, command.stderr);
    assert.equal(readFileSync(join(app, 'LICENSE'), 'utf8'), readFileSync(join(source, '..', '..', 'LICENSE'), 'utf8'));
    assert.deepEqual(readdirSync(join(app, 'types')).sort(), readdirSync(join(source, 'types')).sort());
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('what a page loads is small', { skip: !hasBundler && 'there is no esbuild' }, (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'feedstore-bundle-'));
  try {
    execFileSync('esbuild', ['--bundle', '--minify', '--splitting', '--format=esm', '--log-level=error', `--outdir=${folder}`, join(source, 'src', 'index.js')]);
    const sizes = Object.fromEntries(readdirSync(folder).map((name) => {
      const text = readFileSync(join(folder, name));
      const [module] = /^[a-z-]+(?=-|\.)/.exec(name);
      return [module, { minified: text.length, gzip: gzipSync(text, { level: 9 }).length, brotli: brotliCompressSync(text).length }];
    }));
    t.diagnostic(JSON.stringify(sizes));
    // One file, and those that are loaded on demand: nothing of them is shared.
    const most = { index: 13_520, 'shared-connection': 2100, tokens: 1150, 'write-request': 1000 };
    assert.deepEqual(Object.keys(sizes).sort(), Object.keys(most));
    for (const [module, { brotli }] of Object.entries(sizes)) assert.ok(brotli <= most[module], `${module}: ${JSON.stringify(sizes)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
