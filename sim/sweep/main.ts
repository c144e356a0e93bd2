import { parseArgs } from 'node:util';
import { baseline, crashAt } from './sweep.ts';

/**
 * `npm run sweep -- [--stride N]`: kills each role just before each of its events, and compares the end of each run with
 * that of the run without a crash. A shard takes every n-th of the places; prints one line of JSON at its end.
 */
const { values } = parseArgs({
  options: { stride: { type: 'string', default: '1' }, shard: { type: 'string', default: '0/1' } },
});
const stride = Number(values.stride);
const [shard = 0, shards = 1] = values.shard.split('/').map(Number);

const startMs = performance.now();
const { end, points, events } = await baseline();
const chosen = points.filter((_, at) => at % (stride * shards) === shard * stride);
const byActor: Record<string, number> = {};
let failed = 0;
for (const point of chosen) {
  byActor[point.actor] = (byActor[point.actor] ?? 0) + 1;
  const wrong = await crashAt(point, end);
  if (wrong.length === 0) continue;
  failed += 1;
  process.stderr.write(
    `${point.actor} killed before event ${String(point.eventIndex)}: ${wrong.join('; ')}\n`,
  );
}
const seconds = (performance.now() - startMs) / 1000;
process.stdout.write(
  `${JSON.stringify({ events, places: points.length, crashes: chosen.length, failed, byActor, seconds })}\n`,
);
process.exit(failed === 0 ? 0 : 1);
