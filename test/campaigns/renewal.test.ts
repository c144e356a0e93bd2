import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { HttpError } from '../../src/ports/http.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { silentLog } from '../../src/adapters/telemetry/silent.ts';
import { EventCursor } from '../../src/clients/event-cursor.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { runCli, startDevCell, testFolder } from '../support/cli.ts';

/** Renewed after a third: the ones of the second renewal come when those of the start still count. */
const TTL_S = 45;

const folder = testFolder();
const cellFolder = join(folder.path, '.moorage', 'cells', 'dev');
let cell: DevCellProcess;

beforeAll(async () => {
  cell = await startDevCell(folder.path, [
    ...['--hosts', '1', '--monitors', '1', '--certificate-ttl', `${String(TTL_S)}s`],
  ]);
});
afterAll(async () => {
  await cell.stop();
  folder[Symbol.dispose]();
});

/** When each process's certificate ends, by its credentials folder. */
function ends(): ReadonlyMap<string, number> {
  const issued = join(cellFolder, 'pki', 'issued');
  return new Map(
    readdirSync(issued).map((name) => {
      const { validTo } = new X509Certificate(readFileSync(join(issued, name, 'identity.pem')));
      return [name, Date.parse(validTo)];
    }),
  );
}

it('S4.13 a development cell renews its certificates by itself, while a client watches and jobs run', async () => {
  const first = ends();
  expect(first.size).toBeGreaterThan(8);
  const credentials = openCredentials(join(cellFolder, 'pki', 'issued', 'operator-dev'), silentLog);
  const http = undiciClient({ credentials });
  const over = new AbortController();
  const seen: string[] = [];
  let gaps = 0;
  try {
    const api = new MonitorClient(http, { urls: cell.file.monitors, from: 'a test' });
    const cursor = new EventCursor('now');
    const call = { follow: true, signal: over.signal, onBegin: (place: string) => cursor.began(place) };
    const watch = async (): Promise<void> => {
      for await (const event of api.events(cursor.since, call)) {
        cursor.saw(event);
        if (event.kind === 'gap') gaps++;
        if (event.kind === 'job-submitted' && event.job !== undefined) seen.push(event.job);
      }
    };
    // A connection ends with the certificate that was shown on it: the watch goes on from where it was.
    let ended = 0;
    const watching = (async () => {
      while (!over.signal.aborted)
        await watch().catch((error: unknown) => {
          if (!(error instanceof HttpError)) throw error;
          ended++;
        });
    })();
    const asked: string[] = [];
    // Two renewals later, and past the end of what each process showed at first: certificates end by the wall clock.
    const isOver = (): boolean =>
      [...first.values()].every((end) => Date.now() > end + 1_000) &&
      [...ends()].every(([name, end]) => end - (first.get(name) ?? 0) >= (TTL_S * 1_000 * 2) / 3 - 1_000);
    while (!isOver()) {
      const name = `tick-${String(asked.length)}`;
      const run = await runCli(['run', '--name', name, '--', 'echo', name], { cwd: folder.path });
      expect([run.code, run.stdout], run.stderr).toEqual([0, `${name}\n`]);
      asked.push(name);
      await Promise.race([pause(1_000), watching]);
    }
    expect(asked.length).toBeGreaterThan(3);
    while (new Set(seen).size < asked.length) await Promise.race([pause(100), watching]);
    expect(ended).toBeGreaterThan(0);
    // Each once, in their order; after a gap some come again, as `EventCursor` says.
    const told = seen.map((job) => job.replace(/-[^-]+$/, ''));
    expect(gaps === 0 ? told : [...new Set(told)]).toEqual(asked);
    over.abort();
    await watching;
  } finally {
    over.abort();
    credentials.close();
    await http.close();
  }
});
