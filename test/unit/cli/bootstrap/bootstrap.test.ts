import { describe, expect, it } from 'vitest';
import { tokensIn } from '../../../../cli/bootstrap/bare-hosts.ts';
import { record } from '../../../../cli/bootstrap/cell-records.ts';
import { allocationOf } from '../../../../cli/bootstrap/host-orders.ts';
import { isHostName, layoutOf } from '../../../../cli/bootstrap/layout.ts';
import { etcdUrls, monitorUrls, systemJob } from '../../../../cli/bootstrap/system-job.ts';
import { MemoryCell } from '../../../../src/adapters/memory/cell.ts';
import { MemoryCellStore } from '../../../../src/adapters/memory/memory.ts';
import { bareTokenText, invitationText } from '../../../../src/core/access/invitation.ts';
import { cellKeys } from '../../../../src/core/cell/keys.ts';
import { usedOf } from '../../../../src/core/fit/ledger.ts';
import { addResources, NO_RESOURCES } from '../../../../src/core/cell/resources.ts';
import type { BootstrapState } from '../../../../src/wire/join/bootstrap-file.ts';
import { bootstrapFile } from '../../../../src/wire/join/bootstrap-file.ts';
import { allocationCodec, jobCodec, ledgerCodec } from '../../../../src/wire/records/records.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

function stateOf(...hosts: readonly string[]): BootstrapState {
  return {
    ...{ cell: 'c', incarnation: 'i' },
    hosts: hosts.map((id, n) => ({
      ...{ id, url: `https://10.0.0.${String(n + 1)}:7403`, program: ['node', 'main.js'], etcd: '/bin/etcd' },
      data: `/var/lib/${id}`,
    })),
    tasks: layoutOf(hosts).map((task) => ({ ...task, allocation: `alloc-${task.name}` })),
  };
}
const names = (...hosts: readonly string[]): readonly string[] => layoutOf(hosts).map(({ name }) => name);

describe('S4.7 S4.31 the layout of a bootstrap', () => {
  it('has a majority of members, two of each that can stand in for each other, and no name twice', () => {
    expect(names('a', 'b', 'c')).toEqual([
      ...['etcd-a', 'etcd-b', 'etcd-c', 'arbiter-a', 'arbiter-b', 'monitor-a', 'monitor-b'],
      ...['scheduler-service-b', 'scheduler-service-c', 'scheduler-batch-b', 'scheduler-batch-c'],
      'scheduler-system-c',
    ]);
    for (const count of [1, 2, 3, 4, 9]) {
      const hosts = Array.from({ length: count }, (_, n) => `h${String(n)}`);
      const all = names(...hosts);
      expect(new Set(all).size).toBe(all.length);
      expect(all.filter((name) => name.startsWith('etcd-'))).toHaveLength(count < 3 ? 1 : 3);
    }
  });

  it('has no host whose name is too long for a job', () => {
    expect(isHostName('h'.repeat(47))).toBe(true);
    expect(isHostName('h'.repeat(48))).toBe(false);
    expect(isHostName('a.b')).toBe(false);
  });
});

describe('S4.7 the jobs of a cell itself', () => {
  it.each(stateOf('a', 'b', 'c').tasks)(
    '$name: on its host, as its agent, with its own credentials',
    (task) => {
      const state = stateOf('a', 'b', 'c');
      const job = systemJob(state, task);
      const group = job.groups[task.name];
      expect([job.namespace, job.precedence, group?.count]).toEqual(['system', 100, 1]);
      expect(group?.constraints.map(({ text }) => text)).toEqual([
        `host.id == ${task.host}`,
        'host.allow.system == true',
      ]);
      const { command = [], user } = group?.tasks[task.name] ?? {};
      expect(user).toBe('agent');
      expect(command.join(' ')).toContain(`/var/lib/${task.host}/joined/roles/${task.role}-${task.id}`);
      expect(command[0]).toBe(task.role === 'etcd' ? '/bin/etcd' : 'node');
    },
  );

  it('members of the store know each other, and everybody knows them', () => {
    const state = stateOf('a', 'b', 'c');
    expect(etcdUrls(state)).toEqual([
      'https://10.0.0.1:2379',
      'https://10.0.0.2:2379',
      'https://10.0.0.3:2379',
    ]);
    expect(monitorUrls(state)).toEqual(['https://10.0.0.1:7400', 'https://10.0.0.2:7400']);
    for (const task of state.tasks.filter(({ role }) => role === 'etcd'))
      expect(Object.values(systemJob(state, task).groups)[0]?.tasks[task.name]?.command).toContain(
        'a=https://10.0.0.1:2380,b=https://10.0.0.2:2380,c=https://10.0.0.3:2380',
      );
  });

  it('what was decided is read as it was written', () => {
    const state = stateOf('a', 'b');
    expect(bootstrapFile.decode(bootstrapFile.encode(state))).toEqual(state);
  });
});

describe('S4.10 the records of a cell itself', () => {
  it('each is a job with a placement, once, and the ledger of its host is their sum', async () => {
    const clock = new ManualClock();
    const store = new MemoryCellStore({ clock, cell: new MemoryCell({ clock }) });
    const keys = cellKeys('c');
    const state = stateOf('a', 'b', 'c');
    const write = async (): Promise<readonly boolean[]> =>
      Promise.all(
        state.tasks.map((task) => {
          const job = systemJob(state, task);
          return record(store, keys, { job, allocation: allocationOf(state, task, job, 7), nowMs: 7 });
        }),
      );
    expect((await write()).every((isNew) => isNew)).toBe(true);
    const { entries } = await store.list(keys.root);
    expect((await write()).some((isNew) => isNew)).toBe(false);
    expect((await store.list(keys.root)).entries).toEqual(entries);
    const allocations = [...entries.values()]
      .filter(({ key }) => key.startsWith(keys.allocations))
      .map(({ value }) => allocationCodec.decode(value));
    expect(allocations).toHaveLength(state.tasks.length);
    for (const { id } of state.hosts) {
      const ledger = ledgerCodec.decode(entries.get(keys.ledger(id))?.value ?? '');
      const sum = allocations
        .filter(({ host }) => host === id)
        .reduce((all, { resources }) => addResources(all, resources), NO_RESOURCES);
      expect(usedOf(ledger)).toEqual(sum);
    }
    const record1 = jobCodec.decode(entries.get(keys.job('system', 'etcd-a'))?.value ?? '');
    expect([record1.version, record1.desired]).toEqual([1, 'run']);
  });
});

describe('S4.8 the machines of a bootstrap', () => {
  const PRINT = Array.from({ length: 32 }, () => 'A1').join(':');
  const token = (host: string): string =>
    bareTokenText({
      ...{ host, monitors: ['https://10.0.0.1:7403'], fingerprints: [PRINT] },
      shown: invitationText('bare', new Uint8Array(32)),
    });

  it('are listed a line each, each once, with comments between them', () => {
    const text = `# ours\n${token('a')}\n\n  ${token('b')}\n${token('a')}\n`;
    expect(tokensIn(text, 'list').map(({ host }) => host)).toEqual(['a', 'b']);
  });

  it.each([
    ['a token with which a host joins', token('a').replace('moorage-bare', 'moorage-join')],
    ['a name that is too long', token('h'.repeat(60))],
    ['too many', Array.from({ length: 65 }, (_, n) => token(`h${String(n)}`)).join('\n')],
  ])('are refused: %s', (_what, text) => {
    expect(() => tokensIn(text, 'list')).toThrow('list');
  });
});
