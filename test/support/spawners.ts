import { readFileSync } from 'node:fs';
import { processesOf } from './crash-matrix/remains.ts';

/** Kills what starts shims for this agent. @returns how many there were */
export function killSpawner(folder: string, agentPid: number): number {
  const spawners = processesOf(folder)
    .filter((one) => one.includes('--spawner'))
    .map((one) => Number(one.split(' ')[1]))
    // Shims are forks of it, and look the same but for whose children they are.
    .filter((pid) => parentOf(pid) === agentPid);
  for (const pid of spawners) process.kill(pid, 'SIGKILL');
  return spawners.length;
}

function parentOf(pid: number): number | null {
  try {
    return Number(/^PPid:\s+(\d+)$/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]);
  } catch {
    return null;
  }
}
