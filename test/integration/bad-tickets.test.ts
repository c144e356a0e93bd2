import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { makeKeyFiles, readSigningKey } from '../../src/adapters/tickets/key-files.ts';
import { ticketSigner } from '../../src/adapters/tickets/tickets.ts';
import { HostClient } from '../../src/clients/host-client.ts';
import type { StartRequest } from '../../src/wire/api/host-api.ts';
import { badKinds, badStarts, rightBody, TICKET_TTL_MS } from '../support/bad-tickets.ts';
import { TestAuthority } from '../support/credentials.ts';
import { begunSoFar, firstInside, IN_OWN_PIDS } from '../support/forks.ts';
import { someStart, someStop } from '../support/host-orders.ts';
import { unsharing } from '../support/machine-rights.ts';
import { describeNeeding, firstMissing, program, root } from '../support/needs.ts';
import { shimAndClient, startAgentChild, stateFolder, untilReport } from '../support/real-host.ts';

/** `npm run soak -- tickets` sends 100,000. */
const SENT = Number(process.env['MOORAGE_BAD_TICKETS'] ?? 1_000);
const TIMEOUT_MS = 60_000 + SENT * 20;
const AT_ONCE = 32;
const CALL_MS = 30_000;
/** What an agent does at intervals forks too: none of it happens meanwhile. */
const NEVER_MS = 2_000_000_000;
const ROUNDS = { rescanMs: NEVER_MS, leaksMs: NEVER_MS };

const { shim } = shimAndClient();
const authority = await TestAuthority.of('test');
afterAll(() => authority[Symbol.dispose]());

const missing = firstMissing(
  shim === null ? 'there is no C compiler' : null,
  root() ?? program('nsenter') ?? unsharing('--pid', '--fork', '--mount-proc'),
);

describeNeeding(missing, 'I44 no valid ticket, no process', () => {
  it(
    `I36 I37 I38 I39 I44 ${String(SENT)} bad tickets start nothing by the kernel's own count, and each gets its own refusal`,
    async () => {
      using folder = stateFolder();
      const http = undiciClient({ credentials: await authority.credentials('scheduler', 'service-1') });
      const client = new HostClient(http);
      const { signingKeyFile, pinnedKeysFile } = await makeKeyFiles(join(folder.path, 'keys'));
      const key = await readSigningKey(signingKeyFile);
      const arbiter = ticketSigner(key);
      const child = await startAgentChild(
        join(folder.path, 'state'),
        shim ?? '',
        {
          ...{ cell: 'test', requireTickets: true, pinnedKeysFile, rounds: ROUNDS },
          credentials: await authority.issue('agent', 'host-a'),
        },
        IN_OWN_PIDS,
      );
      const { address, incarnation } = child;
      const agent = firstInside(child.pid);
      /** Code and detail; `started` where it is not refused. */
      const answerTo = async (order: StartRequest): Promise<string> => {
        const url = `${address}/v1/allocations/${order.allocation.id}`;
        const call = { method: 'PUT', url, body: order, to: 'agent', timeoutMs: CALL_MS } as const;
        const { status, body } = await http.call(call);
        if (status === 200) return 'started';
        const { code, detail } = body as { readonly code: string; readonly detail: string };
        return `${code}: ${detail}`;
      };
      /** Has it done, and waits until all that belongs to it has ended. @returns how many processes and threads that began */
      const started = async (): Promise<{ readonly order: StartRequest; readonly begun: number }> => {
        const bare = someStart();
        const [ticket = ''] = await arbiter.sign([rightBody(bare, incarnation)]);
        const order = { ...bare, ticket };
        const { id } = bare.allocation;
        const before = begunSoFar(agent);
        expect(await answerTo(order)).toBe('started');
        await untilReport(client, address, id, ({ released }) => released);
        return { order, begun: begunSoFar(agent) - before - 1 };
      };
      try {
        // The spawner comes with the first one.
        const usedUntilMs = Date.now() + TICKET_TTL_MS;
        const { order: used } = await started();
        // A shim and its task: so the count sees them.
        expect((await started()).begun).toBeGreaterThanOrEqual(2);
        const kinds = badKinds(key.id, `t-${used.allocation.id}`);
        expect(await client.remove(address, used.allocation.id, 'over')).toEqual({ kind: 'removed' });

        const refused = new Map<string, number>();
        const note = (kind: string): void => void refused.set(kind, (refused.get(kind) ?? 0) + 1);
        const send = async (round: number): Promise<void> => {
          for (const { kind, order, refusal } of await badStarts(arbiter, kinds, incarnation, round)) {
            expect(await answerTo(order), kind).toMatch(refusal);
            note(kind);
          }
          // A long campaign outlives its ticket.
          const isOver = Date.now() >= usedUntilMs;
          expect(await answerTo(used)).toMatch(isOver ? /^(stopped|ticket-expired): / : /^stopped: /);
          note('sent again after its end');
        };
        await send(0);
        const before = begunSoFar(agent);
        const rounds = Math.ceil(SENT / refused.size);
        let round = 1;
        const lane = async (): Promise<void> => {
          while (round <= rounds) await send(round++);
        };
        await Promise.all(Array.from({ length: AT_ONCE }, lane));
        const begun = begunSoFar(agent) - before - 1;
        const all = [...refused.values()].reduce((sum, count) => sum + count, 0) - refused.size;
        process.stdout.write(
          `${String(all)} bad tickets of ${String(refused.size)} kinds refused, each as its kind is; ` +
            `${String(begun)} processes and threads began meanwhile\n`,
        );
        expect(all).toBeGreaterThanOrEqual(SENT);
        expect(begun).toBe(0);
        expect((await client.list(address)).allocations).toHaveLength(1);
        expect(readdirSync(join(folder.path, 'state', 'allocations'))).toHaveLength(1);

        // The same host starts what it is let to.
        expect((await started()).begun).toBeGreaterThanOrEqual(2);
        expect(await client.stop(address, used.allocation.id, someStop())).toEqual({ kind: 'absent' });
      } finally {
        process.kill(agent, 'SIGTERM');
        await child.end('SIGTERM');
        await http.close();
      }
    },
    TIMEOUT_MS,
  );
});
