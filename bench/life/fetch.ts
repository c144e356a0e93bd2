import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FetchPace } from '../../host-agent/artifacts/fetch-pace.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { systemClock } from '../../src/adapters/system/system.ts';
import { makeKeyFiles } from '../../src/adapters/tickets/key-files.ts';
import { ArbiterClient } from '../../src/clients/arbiter-client.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { sharedResourceCodec } from '../../src/wire/records/records.ts';
import { BenchCell } from '../cell/cell.ts';
import { flagsOf } from '../testbed/flags.ts';
import { startBed } from '../testbed/testbed.ts';

/**
 * Many hosts fetch a file each through one rate of the cell: the hosts' own pace, a real arbiter over TLS, and bytes that come as
 * soon as the pace lets them. Told are the time that all took to the time that the rate allows, how much came at most in any second
 * to what the rate allows in it, and the arbiter's processor time.
 */
const flags = flagsOf({
  hosts: 1_000,
  /** Of each host's file. 1 GB as in the source's example would take 27 minutes at its 5 Gbit/s. */
  'mb-each': 20,
  'mb-per-second': 625,
});
const CELL = 'bench';
const MB = 1_000_000;
/** As a socket gives them. */
const CHUNK_BYTES = 64 * 1024;
const WINDOW_MS = 1_000;

const bed = await startBed({ secured: CELL });
const cell = new BenchCell(bed, CELL);
const http = undiciClient({ credentials: await bed.secured?.certificates.open('agent', 'host-1') });
const fetchedIn = new Map<number, number>();

async function fetchFile(pace: FetchPace, bytes: number, startMs: number): Promise<void> {
  const { signal } = new AbortController();
  for (let left = bytes; left > 0; left -= CHUNK_BYTES) {
    const chunk = Math.min(left, CHUNK_BYTES);
    await pace.take(chunk, signal);
    const window = Math.floor((performance.now() - startMs) / WINDOW_MS);
    fetchedIn.set(window, (fetchedIn.get(window) ?? 0) + chunk);
  }
}

try {
  const keys = join(bed.folder, 'keys');
  mkdirSync(keys);
  await makeKeyFiles(keys);
  const { address } = (await cell.role('arbiter', ['--keys', keys])).ready;
  const uplink = sharedResourceCodec.encode({
    ...{ name: 'uplink', unit: 'MB/s', by: null, rate: 'fetch' },
    ...{ capacity: flags['mb-per-second'], capacities: {} },
  });
  const key = cellKeys(CELL).sharedResource('uplink');
  await bed.store.attempt({ compares: [], writes: [{ kind: 'put', key, value: uplink }], readBack: [] });
  const client = new ArbiterClient(http, { timeoutMs: 10_000 });
  const ask = () => client.fetchSlice(address, { attributes: {} });
  // A new keeper gives nothing for a while.
  for (
    let slice = await ask();
    slice === null || slice.afterMs > 0 || slice.bytes > 4 * MB;
    slice = await ask()
  )
    await sleep(500);
  const cpuBefore = cell.cpuSeconds().get('arbiter') ?? 0;
  const startMs = performance.now();
  const paces = Array.from({ length: flags.hosts }, () => new FetchPace(systemClock, ask));
  await Promise.all(paces.map((pace) => fetchFile(pace, flags['mb-each'] * MB, startMs)));
  const tookS = (performance.now() - startMs) / 1_000;
  const idealS = (flags.hosts * flags['mb-each']) / flags['mb-per-second'];
  const peak = Math.max(...fetchedIn.values()) / ((flags['mb-per-second'] * MB * WINDOW_MS) / 1_000);
  const cpu = (cell.cpuSeconds().get('arbiter') ?? 0) - cpuBefore;
  console.log(
    `fetch hosts=${String(flags.hosts)} mb_each=${String(flags['mb-each'])} mb_per_s=${String(flags['mb-per-second'])} ` +
      `took_s=${tookS.toFixed(1)} ideal_s=${idealS.toFixed(1)} to_ideal=${(tookS / idealS).toFixed(3)} ` +
      `peak_1s_to_rate=${peak.toFixed(2)} arbiter_cpu_s=${cpu.toFixed(1)}`,
  );
} finally {
  await cell.processes.stopAll();
  await http.close();
  await bed.close();
}
