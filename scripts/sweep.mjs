// `npm run sweep -- [--stride N]`: kills each role of a small cell before each of its events, on both cores.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const file = join(prepare(), 'dist', 'sim', 'sweep', 'main.js');
const SHARDS = 2;
const startMs = performance.now();
const shards = await Promise.all(Array.from({ length: SHARDS }, (_, shard) => run(shard)));
const reports = shards.map(({ out }) => JSON.parse(out.trim().split('\n').at(-1) ?? '{}'));
const sum = (name) => reports.reduce((total, report) => total + (report[name] ?? 0), 0);
const byActor = {};
for (const report of reports)
  for (const [actor, count] of Object.entries(report.byActor ?? {}))
    byActor[actor] = (byActor[actor] ?? 0) + count;
process.stdout.write(
  [
    `sweep events=${reports[0].events} places=${reports[0].places} crashes=${sum('crashes')} failed=${sum('failed')}`,
    `seconds=${((performance.now() - startMs) / 1000).toFixed(1)}`,
    ...Object.entries(byActor).map(([actor, count]) => `${actor}=${count}`),
  ].join(' ') + '\n',
);
process.exit(shards.every(({ code }) => code === 0) ? 0 : 1);

function run(shard) {
  const args = [file, ...process.argv.slice(2), '--shard', `${shard}/${SHARDS}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, out })));
}
