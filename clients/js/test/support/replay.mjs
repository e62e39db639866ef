import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const root = fileURLToPath(new URL('../../../../', import.meta.url));

/** The built command. */
export const command = process.env.FEEDSTORE ?? join(root, '.build/debug/feedstore');

/** @param {string} text Lines of JSON. */
export const parsedLines = (text) => text.split('\n').filter((line) => line !== '').map((line) => JSON.parse(line));

/**
 * Replays records with the built command.
 *
 * @param {object[] | string} records Parsed lines, or their text.
 * @param {Record<string, unknown>} [settings] Keys of the configuration.
 * @returns {{ output: object[], rejected: object[] }} Parsed lines.
 */
export function replay(records, settings = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'feedstore-'));
  try {
    const path = (name) => join(folder, `${name}.ndjson`);
    const text = typeof records === 'string' ? records : records.map((record) => JSON.stringify(record)).join('\n');
    writeFileSync(path('input'), text);
    const assignments = Object.entries(settings).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    const { status, stderr, error } = spawnSync(
      command,
      ['replay', path('input'), '--output', path('output'), '--rejected', path('rejected'), ...assignments],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`${command}: ${error ?? stderr}`);
    const [output, rejected] = ['output', 'rejected'].map((name) => parsedLines(readFileSync(path(name), 'utf8')));
    return { output, rejected };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
