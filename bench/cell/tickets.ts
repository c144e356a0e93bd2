import { sign } from 'node:crypto';
import { join } from 'node:path';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { makeKeyFiles, readPinnedKeys, readSigningKey } from '../../src/adapters/tickets/key-files.ts';
import { ticketVerifier } from '../../src/adapters/tickets/tickets.ts';
import type { TicketOutcome } from '../../src/clients/arbiter-client.ts';
import { ArbiterClient } from '../../src/clients/arbiter-client.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import type { StartTerms } from '../../src/core/quota/ticket.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { flagsOf } from '../testbed/flags.ts';
import { startBed } from '../testbed/testbed.ts';
import { BenchCell } from './cell.ts';

/**
 * What a ticket costs: an arbiter of its own, which gives tickets for small tasks on many hosts, so many in a request, and
 * hosts' verifiers in this process. The reference of the same run is a bare Ed25519 signature (`node:crypto`), and one
 * verification of it.
 */
const flags = flagsOf({
  tickets: 40_960,
  /** Placements in a request. */
  together: 256,
  /** Requests under way. */
  'in-flight': 4,
  hosts: 5_000,
  seed: 1,
});
const { tickets, together, hosts } = flags;
const CELL = 'bench';
const SCHEDULER = 'bench-1';
const INCARNATION = 1;
/** Before the time is taken, so that the arbiter's code is compiled. */
const WARM_UP = 10_240;
const BARE = 4_000;
const WANTED_US = 40;

const random = seededRandom(flags.seed);
const bed = await startBed();
const cell = new BenchCell(bed, CELL);
const http = undiciClient();

function someTerms(): StartTerms {
  const host = `host-${String(random.below(hosts))}`;
  return {
    ...{ aud: host, hostIncarnation: INCARNATION, namespace: 'default', scheduler: SCHEDULER },
    job: `task-${String(random.below(1_000_000))}`,
    epoch: { incarnation: '6e0e2a3e-8a30-4d2c-9c6a-0d8f7a0a4c11', counter: 1 },
    claim: {
      ...{ id: makeId(0, random.bytes(16)), host, precedence: 50, gpus: [], ports: {} },
      resources: { cpuMilli: 100, memoryMib: 500, diskMib: 0, scalars: {} },
    },
    commandDigest: 'ab'.repeat(32),
  };
}

/** So many tickets, in requests that are full. */
async function fetchTickets(client: ArbiterClient, address: string, count: number): Promise<TicketOutcome[]> {
  const outcomes: TicketOutcome[] = [];
  let left = count;
  const lane = async (): Promise<void> => {
    while (left > 0) {
      const size = Math.min(together, left);
      left -= size;
      const units = Array.from({ length: size }, () => [someTerms()]);
      outcomes.push(...(await client.tickets([address], SCHEDULER, units)).flat());
    }
  };
  await Promise.all(Array.from({ length: flags['in-flight'] }, lane));
  return outcomes;
}

/** Microseconds of this process's processor time for one. */
async function cpuUsEach(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

try {
  const files = await makeKeyFiles(join(bed.folder, 'keys'));
  const arbiter = await cell.role('arbiter', ['--keys', join(bed.folder, 'keys')]);
  const client = new ArbiterClient(http);
  await fetchTickets(client, arbiter.ready.address, WARM_UP);
  const before = cell.cpuSeconds().get('arbiter') ?? 0;
  const startMs = performance.now();
  const outcomes = await fetchTickets(client, arbiter.ready.address, tickets);
  const seconds = (performance.now() - startMs) / 1_000;
  const arbiterUs = (((cell.cpuSeconds().get('arbiter') ?? 0) - before) * 1e6) / tickets;

  const pinned = await readPinnedKeys(files.pinnedKeysFile);
  const verifier = ticketVerifier(pinned);
  const verifyAll = async (count: number, verifierFor: () => typeof verifier): Promise<void> => {
    for (const outcome of outcomes.slice(0, count)) {
      if (!('ticket' in outcome)) throw new Error(`no ticket: ${JSON.stringify(outcome)}`);
      const { aud } = JSON.parse(
        Buffer.from(outcome.ticket.split('.')[3]!, 'base64url').toString(),
      ) as StartTerms;
      const { valid } = await verifierFor().verify(outcome.ticket, aud, INCARNATION);
      if (!valid) throw new Error('a ticket does not verify at its own host');
    }
  };
  const knownUs = await cpuUsEach(outcomes.length, () => verifyAll(outcomes.length, () => verifier));
  const aloneUs = await cpuUsEach(BARE, () => verifyAll(BARE, () => ticketVerifier(pinned)));
  const { secret } = await readSigningKey(files.signingKeyFile);
  const message = Buffer.alloc(300, 'x');
  const bareUs = await cpuUsEach(BARE, async () => {
    for (let n = 0; n < BARE; n++) sign(null, message, secret);
  });
  console.log(
    `tickets tickets=${String(tickets)} together=${String(together)} in_flight=${String(flags['in-flight'])} hosts=${String(hosts)}` +
      ` seed=${String(flags.seed)} per_second=${(tickets / seconds).toFixed(0)} arbiter_cpu_us_each=${arbiterUs.toFixed(1)}` +
      ` bare_signature_us=${bareUs.toFixed(1)} ratio_to_bare=${(arbiterUs / bareUs).toFixed(2)}` +
      ` verified_us_each=${knownUs.toFixed(1)} verified_with_its_root_us=${aloneUs.toFixed(1)} wanted=<=${String(WANTED_US)}`,
  );
} finally {
  await http.close();
  await cell.processes.stopAll();
  await bed.close();
}
