import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import type { BroughtData, DriverVerb } from '../../host-agent/volumes/volume-driver.ts';
import { VolumeDriver } from '../../host-agent/volumes/volume-driver.ts';
import { systemCommands } from '../../src/adapters/processes/commands.ts';
import { PROJECT_ROOT, testFolder } from '../support/cli.ts';
import { until } from '../support/until.ts';

const folder = testFolder();
const MOUNTS = join(folder.path, 'mounts');
afterAll(async () => {
  await systemCommands.run(['umount', '--', MOUNTS], 10_000);
  folder[Symbol.dispose]();
});

const DATA: BroughtData = { namespace: 'default', claim: 'db.db.data.0', id: 'd1', sizeMib: 16 };
let made = 0;

/** A driver whose program is this script. */
function driverOf(script: string, limitMs?: number): VolumeDriver {
  const command = join(folder.path, `driver-${String((made += 1))}`);
  writeFileSync(command, `#!/bin/sh\n${script}\n`);
  chmodSync(command, 0o755);
  return new VolumeDriver(systemCommands, { command, options: 'a b' }, 'host-1', limitMs);
}

describe('the contract of a volume driver', () => {
  it('S0.26 it is told what is asked in arguments and a clean environment, and tells the folder on its last line', async () => {
    const env = join(folder.path, 'env');
    const driver = driverOf(`env > '${env}'; echo "$@" >> '${env}'; echo warning; echo /srv/a b/data`);
    expect(await driver.isThere()).toBe(true);
    expect(await driver.run('attach', DATA)).toEqual({ kind: 'done', path: '/srv/a b/data' });
    const told = readFileSync(env, 'utf8').trim().split('\n');
    expect(told.pop()).toBe('attach default db.db.data.0 d1');
    const names = told
      .map((line) => line.slice(0, line.indexOf('=')))
      .filter((name) => !['_', 'PWD', 'OLDPWD', 'SHLVL'].includes(name));
    expect(names.sort()).toEqual([
      ...[
        'LC_ALL',
        'MOORAGE_DRIVER_OPTIONS',
        'MOORAGE_HOST',
        'MOORAGE_VOLUME_ACCESS',
        'MOORAGE_VOLUME_SIZE_MIB',
        'PATH',
      ],
    ]);
    expect(told).toContain('MOORAGE_DRIVER_OPTIONS=a b');
    expect(told).toContain('MOORAGE_HOST=host-1');
  });

  it('S0.26 exit code 3 says that another host has it; any other is a failure, with the last line of its errors', async () => {
    expect(await driverOf('echo host-2 has it >&2; exit 3').run('attach', DATA)).toEqual({
      kind: 'held',
      why: 'host-2 has it',
    });
    expect(await driverOf('exit 3').run('attach', DATA)).toEqual({
      kind: 'held',
      why: 'another host has it',
    });
    expect(await driverOf('echo one >&2; echo two >&2; exit 1').run('create', DATA)).toEqual({
      kind: 'failed',
      why: 'two',
    });
    expect(await driverOf('exit 7').run('detach', DATA)).toEqual({
      kind: 'failed',
      why: 'it exited with code 7',
    });
  });

  it.each(['', 'data', '/srv/../etc', '/', '/srv/\u0007bell'])(
    'S0.26 attach that ends with %j has told no folder',
    async (line) => {
      expect(await driverOf(`echo '${line}'`).run('attach', DATA)).toMatchObject({
        kind: 'failed',
        why: expect.stringContaining('no folder on its last line') as string,
      });
    },
  );

  it('S0.26 a program that is not there, hangs, or prints a gigabyte is a failure, and leaves nothing behind', async () => {
    const missing = new VolumeDriver(systemCommands, { command: '/nowhere/driver', options: '' }, 'host-1');
    expect(await missing.isThere()).toBe(false);
    expect(await missing.run('attach', DATA)).toMatchObject({
      kind: 'failed',
      why: expect.stringContaining('/nowhere/driver') as string,
    });
    const pids = join(folder.path, 'pids');
    const hangs = driverOf(`sleep 1000 & echo $! > '${pids}'; wait`, 500);
    expect(await hangs.run('attach', DATA)).toEqual({
      kind: 'failed',
      why: 'it was killed, or took longer than 0.5 s',
    });
    await until(
      async () => isRunning(readFileSync(pids, 'utf8').trim()),
      (is) => !is,
    );
    const talks = driverOf('head -c 1000000000 /dev/zero; echo /srv/data');
    expect(await talks.run('attach', DATA)).toEqual({ kind: 'failed', why: 'it printed more than 64 KiB' });
  });
});

function isRunning(pid: string): boolean {
  const stat = `/proc/${pid}/stat`;
  return existsSync(stat) && !readFileSync(stat, 'utf8').includes(') Z ');
}

/** An example on two hosts that reach one folder. */
function examples(name: string, place = name) {
  const share = join(folder.path, place);
  mkdirSync(share);
  const command = join(PROJECT_ROOT, 'examples', 'volume-drivers', name);
  const options = name === 'loop' ? `${share},${MOUNTS}` : share;
  const on = (host: string) => new VolumeDriver(systemCommands, { command, options }, host);
  const [a, b] = [on('host-a'), on('host-b')];
  const done = async (driver: VolumeDriver, verb: DriverVerb): Promise<string> => {
    // The namespace of a sandbox that began meanwhile may hold the mount for as long as it lives: a host asks again, too.
    const answer = await until(
      () => driver.run(verb, DATA),
      (one) => one.kind !== 'failed' || !one.why.includes('still mounted in a namespace'),
    );
    if (answer.kind !== 'done') throw new Error(`${verb}: ${answer.why}`);
    return answer.path;
  };
  return { share, a, b, done };
}

describe.each(['directory', 'loop'])('the example %s', (name) => {
  it('S0.26 keeps data that one host has from the other, and brings it there after detach, or by force', async () => {
    const { share, a, b, done } = examples(name);
    expect(await a.run('attach', DATA)).toMatchObject({
      kind: 'failed',
      why: expect.stringMatching(/there is no/) as string,
    });
    for (const verb of ['detach', 'force-detach', 'delete'] as const) await done(a, verb);
    for (let twice = 0; twice < 2; twice++) await done(a, 'create');
    const path = await done(a, 'attach');
    expect(await done(a, 'attach')).toBe(path);
    writeFileSync(join(path, 'place'), 'host-a');
    await done(b, 'create');
    expect(await b.run('attach', DATA)).toEqual({ kind: 'held', why: 'host-a has it' });
    expect(await b.run('delete', DATA)).toMatchObject({ kind: 'held' });
    await done(b, 'detach');
    expect(await b.run('attach', DATA)).toMatchObject({ kind: 'held' });
    for (let twice = 0; twice < 2; twice++) await done(a, 'detach');
    const there = await done(b, 'attach');
    expect(readFileSync(join(there, 'place'), 'utf8')).toBe('host-a');
    await done(b, 'detach');
    for (let twice = 0; twice < 2; twice++) await done(b, 'delete');
    expect(readdirSync(share, { recursive: true }).filter((one) => String(one).includes('d1'))).toEqual([]);
  });
});

it('S0.26 the example directory takes data by force, and who had it touches it no more', async () => {
  const { a, b, done } = examples('directory', 'forced');
  await done(a, 'create');
  await done(a, 'attach');
  await done(b, 'force-detach');
  await done(b, 'attach');
  await done(a, 'detach');
  expect(await a.run('attach', DATA)).toEqual({ kind: 'held', why: 'host-b has it' });
});
