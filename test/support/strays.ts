import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { linuxCgroups } from '../../src/adapters/processes/cgroups.ts';

/** Of an attempt that the host does not know: a process with its marks, and a group of its name in the unified hierarchy. */
export async function leaveStray(stateFolder: string): Promise<number> {
  const identity = JSON.parse(readFileSync(join(stateFolder, 'identity'), 'utf8')) as {
    readonly stateId: string;
    readonly host: string;
  };
  const cgroups = linuxCgroups();
  for (const { path, version } of await cgroups.mounts())
    if (version === 2) await cgroups.make(`${path}/moorage/${identity.host}.${identity.stateId}.gone.main.1`);
  const env = {
    ...process.env,
    MOORAGE_STATE: identity.stateId,
    MOORAGE_ATTEMPT: 'gone.main.1',
    FOLDER: stateFolder,
  };
  return spawn('sleep', ['1000'], { stdio: 'ignore', env }).pid ?? 0;
}
