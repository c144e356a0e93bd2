import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { endpointsOf } from '../../../../src/core/names/endpoints.ts';
import { NameTable } from '../../../../src/core/names/name-table.ts';
import type { AllocationReport, TaskReport } from '../../../../src/core/host/report.ts';
import { reportOf } from '../../../support/reporting-host.ts';

const HOST = { address: 'https://10.0.0.7:7403', staleSinceMs: null };
const NAME = 'http.web.web.default';

const task = (more: Partial<TaskReport> = {}): TaskReport => ({ state: 'running', restarts: 0, ...more });
const instance = (id: string, more: Partial<AllocationReport> = {}): AllocationReport =>
  reportOf('h1', id, { ports: { http: 20_001 }, tasks: { main: task() }, ...more });

describe('which instances serve', () => {
  it('one whose tasks all run and pass their checks, at its own address or that of its host', () => {
    const at = (report: AllocationReport) => endpointsOf(report, HOST)['http'];
    expect(at(instance('a1'))).toEqual({
      ...{ allocation: 'a1', host: 'h1', index: 0, jobVersion: 1, address: '10.0.0.7', port: 20_001 },
    });
    expect(at(instance('a1', { addresses: ['10.9.0.1'] }))?.address).toBe('10.9.0.1');
    expect(endpointsOf(instance('a1'), { ...HOST, address: 'http://[fd00::1]:1' })['http']?.address).toBe(
      'fd00::1',
    );
    for (const tasks of [
      { main: task({ ready: false }) },
      { main: task({ exit: { signal: 'SIGKILL' } }) },
      // Between a crash and the first look at the next attempt.
      { main: task({ state: 'starting', restarts: 1 }) },
    ])
      expect(at(instance('a1', { tasks }))).toBeUndefined();
    for (const state of ['starting', 'stopping', 'failed'] as const)
      expect(at(instance('a1', { state }))).toBeUndefined();
  });
});

describe('the names of the cell', () => {
  it('S0.30 S0.42 in a slot the newest that serves has the name: never an old one beside the new one', () => {
    const changed: string[] = [];
    const table = new NameTable((name) => changed.push(name));
    const put = (report: AllocationReport) => table.set(report, endpointsOf(report, HOST));
    const served = () => table.endpoints(NAME).map(({ allocation }) => allocation);
    put(instance('old'));
    put(instance('new', { attempt: 2, tasks: { main: task({ ready: false }) } }));
    expect(served()).toEqual(['old']);
    put(instance('new', { attempt: 2 }));
    expect(served()).toEqual(['new']);
    // As the host of the old one comes back, and says that it still runs.
    put(instance('old'));
    expect(served()).toEqual(['new']);
    put(instance('new', { attempt: 2, state: 'failed' }));
    expect(served()).toEqual(['old']);
    put(instance('old', { released: true }));
    expect(served()).toEqual([]);
    expect([...table.names()]).toEqual([]);
    expect(changed).toEqual([NAME, NAME, NAME, NAME]);
  });

  it('never an endpoint of a stopped instance, and whoever is told of each change knows all: any order of reports', () => {
    const event = fc.record({
      ...{
        index: fc.nat(2),
        attempt: fc.integer({ min: 1, max: 3 }),
        version: fc.integer({ min: 1, max: 2 }),
      },
      serves: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const told = new Map<string, readonly string[]>();
        const served = (name: string) => table.endpoints(name).map(({ allocation }) => allocation);
        const table: NameTable = new NameTable((name) => void told.set(name, served(name)));
        const serving = new Map<string, AllocationReport>();
        for (const { index, attempt, version, serves } of events) {
          const id = `a${String(index)}-${String(version)}-${String(attempt)}`;
          const state = serves ? 'running' : 'stopping';
          const report = instance(id, { index, attempt, jobVersion: version, state });
          table.set(report, endpointsOf(report, HOST));
          if (serves) serving.set(id, report);
          else serving.delete(id);
          // The ids of this test sort as the versions and attempts do.
          const newest = [0, 1, 2].flatMap((slot) =>
            [...serving.keys()]
              .filter((one) => one.startsWith(`a${String(slot)}-`))
              .sort()
              .slice(-1),
          );
          expect(served(NAME)).toEqual(newest);
          expect(told.get(NAME) ?? []).toEqual(newest);
        }
      }),
    );
  });
});
