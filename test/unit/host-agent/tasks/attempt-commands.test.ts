import { expect, it } from 'vitest';
import { endCommands } from '../../../../host-agent/tasks/attempt-commands.ts';
import { attemptFolder, readAttempt, removeAttempt } from '../../../../host-agent/tasks/attempt.ts';
import { ATTEMPT_FILES, execName } from '../../../../src/wire/host-files/attempt-files.ts';
import { HostWorld } from '../../../support/host-world.ts';

const ATTEMPT = 'a.main.1';
const COMMAND = execName(ATTEMPT, 'late');
const launchOf = (name: string): string => `${attemptFolder(name)}/${ATTEMPT_FILES.launch}`;

async function askedFor(): Promise<HostWorld> {
  const world = new HostWorld();
  for (const name of [ATTEMPT, COMMAND]) {
    await world.disk.makeFolder(attemptFolder(name));
    await world.disk.publish(launchOf(name), '');
  }
  return world;
}

it('I21 a command that no shim has begun when its task is over is begun by none later', async () => {
  const { disk, ports } = await askedFor();
  expect(await endCommands(ports, ATTEMPT)).toBe(true);
  expect(await readAttempt(ports, COMMAND)).toMatchObject({ kind: 'ended', exit: { lost: 'never-started' } });
  const claim = await disk.publish(
    `${attemptFolder(COMMAND)}/${ATTEMPT_FILES.claim}`,
    'of a shim that is late',
  );
  expect(claim).toBe('exists');
});

it('I21 the launch files of an attempt and its commands go before its folder', async () => {
  const { disk } = await askedFor();
  const removed: string[] = [];
  const remove = (path: string): Promise<void> => {
    removed.push(path);
    return disk.remove(path);
  };
  await removeAttempt({ list: (path) => disk.list(path), remove }, ATTEMPT);
  expect(removed).toEqual([launchOf(ATTEMPT), launchOf(COMMAND), attemptFolder(ATTEMPT)]);
});
