import { execName } from '../../src/wire/host-files/attempt-files.ts';
import type { AgentPorts } from '../ports.ts';
import { attemptFolder, checkShim, fence, readAttempt } from './attempt.ts';

/**
 * Ends the commands of an attempt whose task is over. What they hold is the task's, and must be gone with it.
 * @returns whether all of them have ended
 */
export async function endCommands(ports: AgentPorts, attempt: string): Promise<boolean> {
  let ended = true;
  for (const commandId of await ports.disk.list(`${attemptFolder(attempt)}/exec`)) {
    const name = execName(attempt, commandId);
    const sight = await readAttempt(ports, name);
    if (sight.kind === 'ended') continue;
    if (sight.kind === 'asked') {
      if (!(await fence(ports, name))) ended = false;
    } else if (await ports.processes.killTree(name)) ended = false;
    else if (!(await checkShim(ports, name, sight.shim))) ended = false;
  }
  return ended;
}
