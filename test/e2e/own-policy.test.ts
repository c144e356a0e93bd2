import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import { ended, issueFor, PROJECT_ROOT, startDevCell, testFolder } from '../support/cli.ts';

const EXAMPLE = join(PROJECT_ROOT, 'examples', 'policy', 'alignment.mjs');
const JOBS = 40;

it('28 the example in examples/policy competes with the schedulers of a real cell, and conflicts are seen', async () => {
  using folder = testFolder();
  const cell = await startDevCell(folder.path, ['--hosts', '3', '--schedulers', 'batch,batch']);
  try {
    const credentials = await issueFor(cell, 'scheduler', 'aligned-1');
    const file = join('.moorage', 'cells', cell.file.cell, 'cell.json');
    const own = spawn(process.execPath, [EXAMPLE, credentials, file], { cwd: folder.path });
    const end = ended(own);
    await Promise.race([
      once(own.stdout, 'data'),
      end.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`))),
    ]);

    const operator = openCredentials(await issueFor(cell, 'operator', 'ann'), null);
    await using http = closing(undiciClient({ credentials: operator }));
    const api = new MonitorClient(http, { urls: cell.file.monitors, from: 'a test' });
    // Schedulers of one kind share the jobs; those that come together meet on the same hosts.
    const owners = new Set<string>();
    let met: readonly string[] = [];
    for (let round = 0; met.length === 0 || owners.size < 3; round++) {
      const names = Array.from({ length: JOBS }, (_, n) => `j${String(round)}-${String(n)}`);
      const resources = { cpu: '1m', memory: '1Mi' };
      await api.submitMany(
        names.map((name) => ({ name, type: 'batch', count: 4, command: ['true'], resources })),
      );
      for (const job of names)
        while ((await api.status({ namespace: 'default', job })).summary.phase !== 'complete')
          await pause(20);
      for (const job of names)
        for (const { scheduler } of (await api.status({ namespace: 'default', job })).outcomes)
          owners.add(scheduler);
      met = await conflictsOf(api);
    }
    const { schedulers } = await api.schedulers();
    const mine = schedulers.find(({ id }) => id === 'aligned-1');
    expect(mine).toMatchObject({ kind: 'batch', policy: 'alignment' });
    expect(mine?.committed).toBeGreaterThan(0);
    expect((mine?.rebased ?? 0) + (mine?.conflicted ?? 0)).toBeGreaterThan(0);

    own.kill('SIGTERM');
    expect((await end).code, (await end).stderr).toBe(0);
  } finally {
    await cell.stop();
  }
});

/** What its schedulers lost to each other, and placed anew: of the example alone. */
async function conflictsOf(api: MonitorClient): Promise<readonly string[]> {
  const kinds: string[] = [];
  for await (const { kind, source } of api.events('0', { follow: false }))
    if (source === 'aligned-1' && /^(conflict|rebased)$/.test(kind)) kinds.push(kind);
  return kinds;
}

function closing(http: HttpClient): HttpClient & AsyncDisposable {
  return { ...http, [Symbol.asyncDispose]: () => http.close() };
}
