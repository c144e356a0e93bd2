import type { Usage } from './limits.ts';

type Read = (file: string) => Promise<string | null>;

/** What one hierarchy tells about a group. Files that are not there leave their facts out. */
export async function readUsage(version: 1 | 2, controllers: readonly string[], read: Read): Promise<Usage> {
  return version === 2 ? readV2(controllers, read) : readV1(controllers, read);
}

async function readV2(controllers: readonly string[], read: Read): Promise<Usage> {
  const has = (name: string): boolean => controllers.includes(name);
  const cpu = await read('cpu.stat');
  return {
    ...fact('cpuMs', thousandth(valueOf(cpu, 'usage_usec'))),
    ...(has('cpu') ? fact('throttledPeriods', valueOf(cpu, 'nr_throttled')) : {}),
    ...(has('memory') ? fact('memoryBytes', wholeOf(await read('memory.current'))) : {}),
    ...(has('memory') ? fact('memoryPeakBytes', wholeOf(await read('memory.peak'))) : {}),
    ...(has('pids') ? fact('pids', wholeOf(await read('pids.current'))) : {}),
    ...(has('pids') ? fact('pidsRefused', valueOf(await read('pids.events'), 'max')) : {}),
  };
}

async function readV1(controllers: readonly string[], read: Read): Promise<Usage> {
  const has = (name: string): boolean => controllers.includes(name);
  return {
    ...(has('memory') ? fact('memoryBytes', wholeOf(await read('memory.usage_in_bytes'))) : {}),
    ...(has('memory') ? fact('memoryPeakBytes', wholeOf(await read('memory.max_usage_in_bytes'))) : {}),
    ...(has('cpuacct') ? fact('cpuMs', millionth(wholeOf(await read('cpuacct.usage')))) : {}),
    ...(has('cpu') ? fact('throttledPeriods', valueOf(await read('cpu.stat'), 'nr_throttled')) : {}),
    ...(has('pids') ? fact('pids', wholeOf(await read('pids.current'))) : {}),
    ...(has('pids') ? fact('pidsRefused', valueOf(await read('pids.events'), 'max')) : {}),
  };
}

/** The number behind a name, in a text of one `name number` a line. */
export function valueOf(text: string | null, name: string): number | undefined {
  for (const line of (text ?? '').split('\n')) {
    const [key, value] = line.split(' ');
    if (key === name) return wholeOf(value ?? null);
  }
  return undefined;
}

function wholeOf(text: string | null): number | undefined {
  const trimmed = text?.trim() ?? '';
  return /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

function thousandth(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value / 1e3);
}

function millionth(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value / 1e6);
}

function fact<K extends keyof Usage>(name: K, value: number | undefined): Pick<Usage, K> | object {
  return value === undefined ? {} : { [name]: value };
}
