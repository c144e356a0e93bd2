import { isId } from '../../src/core/cell/ids.ts';
import type { Resources } from '../../src/core/cell/resources.ts';
import { ADDRESSES } from '../../src/core/cell/resources.ts';
import { SCALAR_AMOUNT_MAX, SCALARS_MAX } from '../../src/wire/values/bounds.ts';
import type { Reading } from '../../src/wire/values/units.ts';
import { readCpu, readDisk, readMemory } from '../../src/wire/values/units.ts';
import { usageError } from '../command/exit.ts';
import { readAmount } from './options.ts';

/** The flags of a host's amounts, as they were typed. */
export interface AmountFlags {
  readonly cpu?: string;
  readonly memory?: string;
  readonly disk?: string;
  readonly resource: readonly string[];
  readonly reserve?: string;
}

// A host's cores are no slip of the fingers, however many.
const cpu = (text: string): Reading => readCpu(text, Infinity);

/** What the host announces of what was typed; the agent measures the rest. */
export function amounts(flags: AmountFlags, role: string): Partial<Resources> {
  return {
    ...(flags.cpu === undefined ? {} : { cpuMilli: readAmount('--cpu', flags.cpu, cpu, role) }),
    ...(flags.memory === undefined
      ? {}
      : { memoryMib: readAmount('--memory', flags.memory, readMemory, role) }),
    ...(flags.disk === undefined ? {} : { diskMib: readAmount('--disk', flags.disk, readDisk, role) }),
    ...(flags.resource.length === 0 ? {} : { scalars: readScalars('--resource', flags.resource) }),
  };
}

/** `cpu=500m,memory=1Gi,licence=1`: what is never given away. Undefined: the agent's own headroom. */
export function reserve(flags: AmountFlags, role: string): Partial<Resources> | undefined {
  if (flags.reserve === undefined) return undefined;
  const reserved: { -readonly [K in keyof Resources]?: Resources[K] } = {};
  const scalars: string[] = [];
  for (const part of flags.reserve.split(',')) {
    const [name = '', text = ''] = [part.slice(0, part.indexOf('=')), part.slice(part.indexOf('=') + 1)];
    const read = (flag: string, how: (text: string) => Reading) => readAmount(flag, text, how, role);
    if (name === 'cpu') reserved.cpuMilli = read('--reserve cpu', cpu);
    else if (name === 'memory') reserved.memoryMib = read('--reserve memory', readMemory);
    else if (name === 'disk') reserved.diskMib = read('--reserve disk', readDisk);
    else scalars.push(part);
  }
  if (scalars.length > 0) reserved.scalars = readScalars('--reserve', scalars);
  return reserved;
}

/** `licence=5`, each name once. */
function readScalars(flag: string, texts: readonly string[]): Readonly<Record<string, number>> {
  const scalars: Record<string, number> = {};
  for (const text of texts) {
    const [name = '', amount = '', ...more] = text.split('=');
    const value = /^\d{1,15}$/.test(amount) ? Number(amount) : -1;
    if (!isId(name) || more.length > 0 || value < 1 || value > SCALAR_AMOUNT_MAX)
      throw usageError(
        `${flag} ${text}: write it as NAME=AMOUNT, a whole number from 1 to ${String(SCALAR_AMOUNT_MAX)}`,
        `${flag} licence=5`,
      );
    if (BUILT_IN.has(name)) throw usageError(`${flag} ${text}: ${name} has a flag of its own`, `--${name}`);
    if (Object.hasOwn(scalars, name))
      throw usageError(`${flag} ${text}: ${name} is named twice`, `${flag} ${name}=${amount}`);
    scalars[name] = value;
  }
  if (texts.length > SCALARS_MAX)
    throw usageError(`${flag}: at most ${String(SCALARS_MAX)} names`, `${flag} licence=5`);
  return scalars;
}

const BUILT_IN: ReadonlySet<string> = new Set(['cpu', 'memory', 'disk', 'gpu', ADDRESSES]);
