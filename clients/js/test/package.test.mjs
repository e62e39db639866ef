// The package as it is published: it is packed, and used in a clean folder.

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync, brotliCompressSync } from 'node:zlib';

const source = fileURLToPath(new URL('..', import.meta.url));
const hasNpm = spawnSync('npm', ['--version']).status === 0;
const hasBundler = spawnSync('esbuild', ['--version']).status === 0;

test('the packed package has what it needs, and nothing else', { skip: !(hasNpm && hasBundler) && 'there is no npm, or no esbuild' }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'feedstore-package-'));
  try {
    const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--pack-destination', folder], { cwd: source, encoding: 'utf8' }));
    assert.ok(files.every(({ path }) => /^(src|types|dist|bin)\/|^(README|CHANGELOG)\.md$|^LICENSE$|^package\.json$/.test(path)), JSON.stringify(files));
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
    // As Jest and older programs load it. React is a stand-in.
    mkdirSync(join(folder, 'node_modules', 'react'));
    writeFileSync(join(folder, 'node_modules', 'react', 'index.js'), 'exports.createContext = () => ({});');
    writeFileSync(join(folder, 'app.cjs'), `
      const { FeedStore } = require('feedstore');
      const { useFeed, useSuspenseFeed } = require('feedstore/react');
      const { Replica } = require('feedstore/replica');
      const feed = new FeedStore('http://127.0.0.1:9').feed('f');
      console.log(feed.view.standing.name, [useFeed, useSuspenseFeed, Replica].every((it) => typeof it === 'function'));
      // The modules that are loaded on demand are there as well.
      feed.write({ op: 'item.delete', item: 'a' }, { wait: 0 }).catch((error) => console.log(error.name));
    `);
    assert.equal(execFileSync(process.execPath, ['app.cjs'], { cwd: folder, encoding: 'utf8' }), 'connecting true\nWriteFailed\n');
    for (const file of ['src/react.js', 'dist/react.cjs']) assert.match(readFileSync(join(app, file), 'utf8'), /^'use client';\n/, file);
    copyFileSync(join(source, 'test', 'types', 'react-stand-in.d.ts'), join(folder, 'react.d.ts'));
    writeFileSync(join(folder, 'app.ts'), `
      import { FeedStore, type Item } from 'feedstore';
      import { useFeed } from 'feedstore/react';
      import { Replica } from 'feedstore/replica';
      const item: Item<{ title: string }> | undefined = new FeedStore('http://a').feed<{ title: string }>('f').view.item('a');
      // @ts-expect-error
      item?.data.name;
      export default [item?.data.title.length, useFeed<number>('f'), new Replica('f')] as unknown;
    `);
    for (const options of [['--module', 'commonjs', '--moduleResolution', 'node'], ['--module', 'node16', '--moduleResolution', 'node16']]) {
      const { status, stdout } = spawnSync('tsc', ['--noEmit', '--strict', '--target', 'es2022', ...options, 'react.d.ts', 'app.ts'], { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 0, stdout);
    }
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
    // 13 kB. One file, and those that are loaded on demand: nothing of them is shared.
    const most = { apply: 1200, draft: 2400, index: 13_000, persist: 1000, poll: 2400, 'shared-connection': 2100, tokens: 1200, 'write-request': 1000 };
    assert.deepEqual(Object.keys(sizes).sort(), Object.keys(most));
    for (const [module, { brotli }] of Object.entries(sizes)) assert.ok(brotli <= most[module], `${module}: ${JSON.stringify(sizes)}`);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
