import { beforeEach, describe, expect, it } from 'vitest';
import { PrepareError } from '../../../../host-agent/drivers/task-driver.ts';
import { secretsFor, TaskSecrets } from '../../../../host-agent/drivers/task-secrets.ts';
import { MemoryDisk } from '../../../../src/adapters/memory/disk.ts';
import type { CommandEnd } from '../../../../src/ports/commands.ts';
import { someStart, someTask } from '../../../support/host-orders.ts';

const UID = 70_001;
const { allocation } = someStart();
const order = (secrets?: readonly string[]) => ({
  ...{ attempt: `${allocation.id}.main.1`, allocation },
  task: someTask(secrets === undefined ? {} : { secrets }),
  sealed: { db: 'sealed db', api: 'sealed api' },
});

let disk: MemoryDisk;
/** What was run, and how it ends: well, unless a test says otherwise. */
let ran: string[];
let ends: (command: readonly string[]) => Partial<CommandEnd>;
let secrets: TaskSecrets;
beforeEach(() => {
  disk = new MemoryDisk();
  ran = [];
  ends = () => ({});
  secrets = new TaskSecrets({
    disk,
    commands: {
      run: (command) => {
        ran.push(command.join(' '));
        return Promise.resolve({ code: 0, out: '', err: '', ...ends(command) });
      },
    },
    open: ({ name }, sealed) => (sealed === `sealed ${name}` ? `value of ${name}` : null),
  });
});

describe('secrets of a task', () => {
  it('lie in a mount of the attempt, for its user to read, and go with it', async () => {
    const path = await secrets.bring(order(['db', 'api']), UID);
    const folder = `secrets/${allocation.id}.main.1`;
    expect(path).toBe(disk.absolute(folder));
    expect(await disk.read(`${folder}/db`)).toBe('value of db');
    expect(await disk.read(`${folder}/api`)).toBe('value of api');
    expect(ran[0]).toMatch(/^mount -t tmpfs -o size=\w+,mode=0500,uid=70001,gid=70001,nosuid,nodev,noexec /);
    expect(ran.slice(1)).toEqual([
      `chmod 0400 -- ${path}/db ${path}/api`,
      `chown 70001:70001 -- ${path}/db ${path}/api`,
    ]);
    expect(await secrets.scan()).toEqual([`${allocation.id}.main.1`]);
    expect(await secrets.remove(`${allocation.id}.main.1`)).toBe(true);
    expect(ran.at(-1)).toBe(`umount -- ${path}`);
    expect(await secrets.scan()).toEqual([]);
    expect(await secrets.remove(`${allocation.id}.main.1`)).toBe(true);
  });

  it('are brought again from the start after an agent that died meanwhile', async () => {
    await secrets.bring(order(['db']), UID);
    ran.length = 0;
    await secrets.bring(order(['db']), UID);
    expect(ran.map((line) => line.split(' ')[0])).toEqual(['umount', 'mount', 'chmod', 'chown']);
  });

  it('have nothing left in them while their mount cannot be taken away', async () => {
    await secrets.bring(order(['db']), UID);
    ends = ([name]) => (name === 'umount' ? { code: 32, err: 'target is busy' } : {});
    expect(await secrets.remove(`${allocation.id}.main.1`)).toBe(false);
    expect(await disk.list(`secrets/${allocation.id}.main.1`)).toEqual([]);
    ends = ([name]) => (name === 'umount' ? { code: 32, err: 'umount: …: not mounted.' } : {});
    expect(await secrets.remove(`${allocation.id}.main.1`)).toBe(true);
  });

  it('are not brought when one does not open, and nothing is written', async () => {
    for (const name of ['unknown', 'db2'])
      await expect(secrets.bring(order(['db', name]), UID)).rejects.toThrow(
        `the secret ${name} of namespace default was not sealed to the hosts of this cell`,
      );
    expect(ran).toEqual([]);
    expect(await secrets.scan()).toEqual([]);
  });

  it('are not brought to a file system of the disk when memory cannot be mounted', async () => {
    ends = ([name]) => (name === 'mount' ? { code: 32, err: 'permission denied' } : {});
    await expect(secrets.bring(order(['db']), UID)).rejects.toThrow(
      'cannot bring its secrets: permission denied',
    );
    expect(await disk.list(`secrets/${allocation.id}.main.1`)).toEqual([]);
  });

  it('a host that keeps none refuses a task that uses some', () => {
    expect(secretsFor(null, order(), UID)).toBeNull();
    expect(() => secretsFor(null, order(['db']), UID)).toThrow(PrepareError);
    expect(() => secretsFor(secrets, order(['db']), undefined)).toThrow('this host keeps no secrets');
  });
});
