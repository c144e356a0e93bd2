import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { launchOf } from '../../../../host-agent/tasks/launch.ts';
import {
  decodeLaunch,
  encodeLaunch,
  parseAttemptName,
  attemptName,
} from '../../../../src/wire/host-files/attempt-files.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';

const place = {
  attempt: 'a1.main.1',
  cwd: '/state/allocations/a1/work',
  outBase: 0,
  errBase: 0,
  bounds: { segmentBytes: 1_000, segmentsMax: 3 },
  hostEnv: { PATH: '/usr/bin:/bin' },
  stateId: 'state-1',
  addresses: [],
  deadlines: {},
  oomScore: 0,
};

describe('the order to the shim', () => {
  it('replaces the words that the host knows, and leaves the shell its own', () => {
    const { allocation } = someStart({
      allocation: { id: 'a1', index: 2, ports: { http: 20_001, 'admin-ui': 20_002 } },
    });
    const task = someTask({
      command: ['serve', '--port=${port.http}', '${HOME} ${port.other} $${alloc.index}'],
      env: { NAME: '${job.name}-${alloc.index}@${host.id}', MOORAGE_JOB: 'a lie' },
    });
    const launch = launchOf(allocation, task, place);
    expect(launch.command).toEqual(['serve', '--port=20001', '${HOME} ${port.other} $2']);
    expect(launch.env).toMatchObject({
      NAME: 'web-2@host-a',
      MOORAGE_JOB: 'web',
      MOORAGE_ALLOC_ID: 'a1',
      MOORAGE_PORT_ADMIN_UI: '20002',
      ALLOC_INDEX: '2',
      PATH: '/usr/bin:/bin',
      HOME: place.cwd,
    });
  });

  it('tells the task that asks for devices of its own, by their indices, and no other', () => {
    const gpus = [
      { device: 3, milli: 400 },
      { device: 0, milli: 400 },
    ];
    const { allocation } = someStart({ allocation: { gpus } });
    const asking = someTask({ gpu: { count: 2, milliEach: 400, models: [] }, env: { MOORAGE_GPUS: '7' } });
    expect(launchOf(allocation, asking, place).env).toMatchObject({ MOORAGE_GPUS: '3,0' });
    expect(launchOf(allocation, someTask({}), place).env).not.toHaveProperty('MOORAGE_GPUS');
  });

  it('survives the file unchanged, whatever the texts', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((one) => !one.includes('\0'));
    const name = fc.stringMatching(/^[A-Z_][A-Z0-9_]{0,8}$/);
    fc.assert(
      fc.property(fc.array(text, { minLength: 1 }), fc.dictionary(name, text), (command, env) => {
        const launch = {
          cwd: '/w',
          outBase: 5,
          errBase: 0,
          segmentBytes: 10,
          segmentsMax: 2,
          command,
          env: { ...env },
        };
        expect(decodeLaunch(encodeLaunch(launch))).toEqual(launch);
      }),
    );
  });

  it('names of attempts can be taken apart again, and other names are none', () => {
    expect(parseAttemptName(attemptName('a1', 'web-2', 12))).toEqual({
      allocation: 'a1',
      task: 'web-2',
      number: 12,
    });
    for (const name of ['a1', 'a1.main', 'a1.main.0', 'a1.main.1.tmp', '../x.y.1', '.tmp-1'])
      expect(parseAttemptName(name)).toBeNull();
  });
});
