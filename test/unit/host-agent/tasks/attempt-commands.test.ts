import { expect, it } from 'vitest';
import { endCommands } from '../../../../host-agent/tasks/attempt-commands.ts';
import { attemptFolder, readAttempt } from '../../../../host-agent/tasks/attempt.ts';
import { ATTEMPT_FILES, execName } from '../../../../src/wire/host-files/attempt-files.ts';
import { HostWorld } from '../../../support/host-world.ts';

it('I21 a command that no shim has begun when its task is over is begun by none later', async () => {
  const { disk, ports } = new HostWorld();
  const command = execName('a.main.1', 'late');
  const folder = attemptFolder(command);
  await disk.publish(`${folder}/${ATTEMPT_FILES.launch}`, '');
  expect(await endCommands(ports, 'a.main.1')).toBe(true);
  expect(await readAttempt(ports, command)).toMatchObject({ kind: 'ended', exit: { lost: 'never-started' } });
  const claim = await disk.publish(`${folder}/${ATTEMPT_FILES.claim}`, 'of a shim that is late');
  expect(claim).toBe('exists');
});
