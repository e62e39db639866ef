import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { command, root } from './replay.mjs';

/** How long a test waits for what must happen, on a machine that is also used by others. */
const patience = 300_000;
export const python = process.env.PYTHON ?? '/usr/bin/python3';

/** The first line of a program that fits a pattern; what follows is read and dropped. */
function found(stream, pattern) {
  return new Promise((resolve, reject) => {
    const lines = [];
    createInterface({ input: stream }).on('line', (line) => {
      if (lines.length < 50) lines.push(line);
      const match = pattern.exec(line);
      if (match) resolve(match);
    }).on('close', () => reject(new Error(lines.join('\n'))));
  });
}

/** Waits until a feed's view is as a test wants it. */
export function until(feed, condition, what) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`waited for: ${what}; found ${JSON.stringify(feed.view.standing)}`)), patience);
    const end = feed.subscribe(({ view }) => {
      if (!condition(view)) return;
      clearTimeout(timer);
      resolve(view);
      // Others may begin to wait before the connection is given up.
      setImmediate(() => end());
    });
  });
}

/** Brokers that stand in for a cluster of Kafka, with FeedStore's topics. */
export class Cluster {
  static async start() {
    const cluster = new Cluster();
    cluster.process = spawn(python, [join(root, 'Tests/StandInCluster')], { stdio: ['ignore', 'pipe', 'ignore'] });
    [, cluster.servers] = await found(cluster.process.stdout, /bootstrap\.servers=(\S+?),? /);
    const { status, stderr } = spawnSync(command, ['topics', '--create', '--partitions', '4', '--replication-factor', '1', ...cluster.options], { encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return cluster;
  }

  get options() { return ['--set', `kafka.bootstrap.servers=${this.servers}`]; }

  /** A daemon on these brokers. */
  async daemon(settings = {}) {
    const all = { 'http.enabled': true, 'http.port': 0, 'http.writes.enabled': true, 'kafka.session.timeout.ms': 6000, ...settings };
    const options = Object.entries(all).flatMap(([key, value]) => ['--set', `${key}=${value}`]);
    const child = spawn(command, ['run', ...this.options, ...options], { stdio: ['ignore', 'ignore', 'pipe'] });
    const [, url] = await found(child.stderr, /url=(http\S+)/);
    const isOver = new Promise((resolve) => { child.on('exit', resolve); });
    return {
      url,
      kill: () => {
        child.kill('SIGKILL');
        return isOver;
      },
    };
  }

  close() {
    this.process.kill();
    this.process.stdout.destroy();
  }
}
