import { expect, it } from 'vitest';
import { silentLog } from '../../../../src/adapters/telemetry/silent.ts';
import { seededRandom } from '../../../../src/core/random/random.ts';
import type { HttpClient } from '../../../../src/ports/http.ts';
import { HttpError } from '../../../../src/ports/http.ts';
import { ReportFollower } from '../../../../src/runtime/reports/reports.ts';
import { sleep, untilAborted } from '../../../../src/runtime/wait/wait.ts';
import type { ReportFrame } from '../../../../src/wire/api/report-frames.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const HERE = 'here';

it('a host whose stream was cut is asked again before those that are gone', async () => {
  const clock = new ManualClock();
  let cut = new AbortController();
  const asked: string[] = [];
  async function* frames(): AsyncGenerator<Uint8Array> {
    const full: ReportFrame = { kind: 'full', host: HERE, incarnation: 1, seq: 1, allocations: [] };
    yield new TextEncoder().encode(`${JSON.stringify(full)}\n`);
    await untilAborted(cut.signal);
  }
  const http: Pick<HttpClient, 'stream'> = {
    stream: async ({ url, timeoutMs, signal }) => {
      asked.push(new URL(url).hostname);
      if (asked.at(-1) === HERE) return { status: 200, headers: {}, chunks: frames() };
      await sleep(clock, timeoutMs, signal);
      throw new HttpError('no answer', { sent: false });
    },
  };
  const gone = Array.from({ length: 200 }, (_, n) => `gone-${String(n)}`);
  const follower = new ReportFollower({
    ...{ http: http as HttpClient, clock, random: seededRandom(1), log: silentLog },
    sources: () => [HERE, ...gone].map((name) => ({ name, url: `http://${name}` })),
    options: { mode: 'all', silenceMs: 120_000 },
  });
  follower.refresh();
  await clock.advance(60_000);
  const before = asked.length;
  cut.abort();
  cut = new AbortController();
  // In that time a tenth of the others can be asked.
  await clock.advance(4_000);
  expect(asked.slice(before)).toContain(HERE);
  const closed = follower.close();
  cut.abort();
  await clock.advance(10_000);
  await closed;
});
