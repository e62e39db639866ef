// Makes `dist`: what `require` loads, and its declarations. `npm pack` runs it. The sources are ES modules without dependencies, so they need no build.

import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

process.chdir(fileURLToPath(new URL('.', import.meta.url)));
rmSync('dist', { recursive: true, force: true });
const modules = ['index', 'react', 'replica'];
execFileSync('esbuild', [
  '--bundle', '--platform=neutral', '--format=cjs', '--target=es2022', '--external:react', '--log-level=warning',
  '--outdir=dist', '--out-extension:.js=.cjs', ...modules.map((name) => `src/${name}.js`),
], { stdio: 'inherit' });
for (const name of modules) {
  const text = readFileSync(`types/${name}.d.ts`, 'utf8').replaceAll(/'(\.\/[a-z]+)\.js'/g, "'$1.cjs'");
  writeFileSync(`dist/${name}.d.cts`, text);
}
// A bundler loses it.
writeFileSync('dist/react.cjs', `'use client';\n${readFileSync('dist/react.cjs', 'utf8')}`);
