import { expect, test } from 'vitest';
import { lacks, renderWhy } from '../../../../cli/jobs/why.ts';

test('one line, then the group, the nearest miss, each check and each host', () => {
  const text = renderWhy(
    {
      namespace: 'default',
      job: 'big',
      scheduler: 'batch-1',
      summary: 'needs 8 cpu, largest free 3.9 (host-2)',
      groups: [
        {
          group: 'big',
          pending: 1,
          tries: 3,
          conflicts: 0,
          nextTryMs: null,
          stage: 'parked',
          detail: 'no host fits',
          hosts: [
            {
              host: 'host-2',
              check: 'resources',
              detail: 'cpu',
              short: { dimension: 'cpu', needed: 8000, available: 3900 },
            },
            { host: 'host-1', check: 'constraint', detail: 'host.zone == a' },
          ],
          hostsTotal: 3,
          refusals: [
            { check: 'resources', hosts: 1 },
            { check: 'constraint', hosts: 1 },
          ],
        },
      ],
    },
    0,
  );
  expect(text).toBe(`big: needs 8 cpu, largest free 3.9 (host-2)

group big: parked, 1 allocation without a place
  no host fits
  tried 3 times, 0 conflicts; next try when something that could fit changes
  1 of 3 hosts fits now
  nearest miss: host-2 lacks 4.1 cpu (needs 8, has 3.9)

CHECK       HOSTS
resources       1
constraint      1

HOST    CHECK       WHY
host-2  resources   lacks 4.1 cpu (needs 8, has 3.9)
host-1  constraint  host.zone == a
`);
});

test('a job that waits for nothing gets one line, with its name once', () => {
  const group = { group: 'hello', pending: 0, tries: 0, conflicts: 0, nextTryMs: null, stage: 'complete' };
  const text = renderWhy(
    {
      ...{
        namespace: 'default',
        job: 'hello',
        scheduler: '',
        summary: 'hello: complete: nothing to explain',
      },
      groups: [{ ...group, detail: '', hosts: [], hostsTotal: 3, refusals: [] }],
    },
    0,
  );
  expect(text).toBe('hello: complete: nothing to explain\n');
});

test('hosts beyond the listed ones are counted among those that refuse', () => {
  const group = { group: 'web', pending: 2, tries: 1, conflicts: 0, nextTryMs: null, stage: 'parked' };
  const host = { host: 'h1', check: 'ready', detail: 'cordoned' } as const;
  const text = renderWhy(
    {
      ...{ namespace: 'default', job: 'web', scheduler: 's', summary: 'x' },
      groups: [
        { ...group, detail: '', hosts: [host], hostsTotal: 9, refusals: [{ check: 'ready', hosts: 9 }] },
      ],
    },
    0,
  );
  expect(text).toMatch(/none of 9 hosts fits now/);
  expect(text).toMatch(/and 8 more hosts that cannot take it/);
});

test('a shortfall is said in the unit of its dimension', () => {
  expect(lacks({ dimension: 'memory', needed: 512, available: 212 })).toBe(
    'lacks 300Mi memory (needs 512Mi, has 212Mi)',
  );
  expect(lacks({ dimension: 'gpu', needed: 1000, available: 540 })).toBe(
    'lacks 0.46 gpu (needs 1, has 0.54)',
  );
  expect(lacks({ dimension: 'port', needed: 1, available: 0 })).toBe('lacks 1 port (needs 1, has 0)');
});
