import { readFileSync } from 'node:fs';
import { errorText } from '../../src/core/errors/errors.ts';
import type { HollowHost } from '../../host-agent/hollow-main.ts';
import { runHollow } from '../../host-agent/hollow-main.ts';
import { verifierOf } from '../../host-agent/main.ts';
import { isId } from '../../src/core/cell/ids.ts';
import { NO_RESOURCES, NO_SCALARS } from '../../src/core/cell/resources.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { CliError, EXIT } from '../command/exit.ts';
import type { AgentFlags } from './agent.ts';
import type { AmountFlags } from './amounts.ts';
import { amounts, reserve } from './amounts.ts';
import type { RoleFlags } from './options.ts';
import { pinnedKeys, readAmount, roleBasics } from './options.ts';
import { serveRole } from './serve.ts';

export interface HollowFlags extends RoleFlags, AmountFlags, Pick<AgentFlags, 'keys' | 'tickets'> {
  readonly hosts?: string;
  readonly count: number;
  readonly beat?: string;
}

/** A hollow host has no disk; jobs of the traces that ask for none are all the same to it. */
const DISK_MIB = 1024 * 1024;
const CPU_MILLI = 4_000;
const MEMORY_MIB = 8 * 1024;

export function serveHollow(context: Context, flags: HollowFlags): Promise<number> {
  const basics = roleBasics(flags, 'hollow');
  const hosts = flags.hosts === undefined ? equalHosts(basics.id, flags) : readHostsFile(flags.hosts);
  const beat =
    flags.beat === undefined ? {} : { beatMs: readAmount('--beat', flags.beat, readDuration, 'hollow') };
  const options = { ...basics, hosts, ...beat, ...pinnedKeys(flags, 'hollow') };
  const check = (): Promise<unknown> => verifierOf(options);
  return serveRole(context, basics, { check, start: () => runHollow(options) });
}

function equalHosts(id: string, flags: HollowFlags): HollowHost[] {
  const capacity = {
    cpuMilli: CPU_MILLI,
    memoryMib: MEMORY_MIB,
    diskMib: DISK_MIB,
    scalars: NO_SCALARS,
    ...amounts(flags, 'hollow'),
  };
  const given = reserve(flags, 'hollow');
  const reserved = given === undefined ? {} : { reserved: { ...NO_RESOURCES, ...given } };
  const digits = String(flags.count).length;
  return Array.from({ length: flags.count }, (_, index) => ({
    id: `${id}-${String(index + 1).padStart(digits, '0')}`,
    capacity,
    ...reserved,
  }));
}

/** A host of the file: amounts in the units of the rules. */
interface FileHost {
  readonly id: string;
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly diskMib?: number;
  /** Named amounts. */
  readonly scalars?: Readonly<Record<string, number>>;
  readonly gpuModels?: readonly string[];
  readonly attributes?: Readonly<Record<string, string>>;
}

function readHostsFile(file: string): HollowHost[] {
  let list: unknown;
  try {
    list = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw wrong(file, errorText(error));
  }
  if (!Array.isArray(list) || list.length === 0) throw wrong(file, 'expected a list of hosts');
  return list.map((host: unknown, index) => {
    if (!isFileHost(host)) throw wrong(file, `entry ${String(index)}: expected id, cpuMilli and memoryMib`);
    const { id, cpuMilli, memoryMib, diskMib = DISK_MIB, gpuModels = [], attributes = {} } = host;
    const { scalars = NO_SCALARS } = host;
    return { id, capacity: { cpuMilli, memoryMib, diskMib, scalars }, gpuModels, attributes };
  });
}

function isFileHost(value: unknown): value is FileHost {
  const host = value as Partial<FileHost> | null;
  const amount = (number: unknown): boolean => Number.isSafeInteger(number) && Number(number) >= 0;
  if (typeof host?.id !== 'string' || !isId(host.id)) return false;
  const scalars = Object.entries(host.scalars ?? {});
  if (!scalars.every(([name, value]) => isId(name) && amount(value))) return false;
  return amount(host.cpuMilli) && amount(host.memoryMib);
}

function wrong(file: string, why: string): CliError {
  return new CliError(EXIT.badSpec, `${file}: ${why}`, 'moorage hollow --help');
}
