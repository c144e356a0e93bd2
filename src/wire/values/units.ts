import {
  CPU_CORES_PLAIN_MAX,
  CPU_MILLI_MAX,
  DISK_MIB_MAX,
  DURATION_MS_MAX,
  MEMORY_MIB_MAX,
} from './bounds.ts';

/** What became of a written amount: a whole number in the unit that the rules work with, or a sentence about it. */
export type Reading =
  { readonly ok: true; readonly value: number } | { readonly ok: false; readonly text: string };

const good = (value: number): Reading => ({ ok: true, value });
const bad = (text: string): Reading => ({ ok: false, text });

/** `"500m"`, `"2"`, `"0.5"` → millicores; `coresMax` bounds the bare numbers that are believed to mean cores. */
export function readCpu(
  written: string,
  coresMax: number = CPU_CORES_PLAIN_MAX,
  milliMax: number = CPU_MILLI_MAX,
): Reading {
  const text = written.trim();
  const how = `cpu "${text}": write cores ("2", "0.5") or millicores ("500m")`;
  if (text.startsWith('-')) return bad(`cpu "${text}": must be more than 0`);
  const milli = /^(\d{1,12})m$/.exec(text);
  if (milli !== null) return withinCpu(text, Number(milli[1]), milliMax);
  const cores = /^(\d{1,12})(?:\.(\d+))?$/.exec(text);
  if (cores === null) return bad(how + suggestCpu(text));
  if ((cores[2] ?? '').length > 3)
    return bad(`cpu "${text}": at most three decimals; the unit is a thousandth of a core`);
  if (Number(text) > coresMax) return bad(`${how}; did you mean "${cores[1] ?? ''}m"?`);
  return withinCpu(text, Math.round(Number(text) * 1000), milliMax);
}

function withinCpu(text: string, milli: number, milliMax: number): Reading {
  if (milli < 1) return bad(`cpu "${text}": must be more than 0`);
  if (milli > milliMax) return bad(`cpu "${text}": more than the limit of ${formatCpu(milliMax)}`);
  return good(milli);
}

function suggestCpu(text: string): string {
  const number = /^(\d+(?:\.\d+)?)\s*([A-Za-z]+)$/.exec(text);
  if (number === null) return '';
  const unit = (number[2] ?? '').toLowerCase();
  const amount = number[1] ?? '';
  if (['c', 'cpu', 'cpus', 'core', 'cores', 'vcpu'].includes(unit)) return `; did you mean "${amount}"?`;
  if (['mi', 'mc', 'mcpu', 'milli', 'millicores'].includes(unit)) return `; did you mean "${amount}m"?`;
  if (unit === 'mhz' || unit === 'ghz') return '; megahertz are not a unit here';
  return '';
}

export function formatCpu(milli: number): string {
  return `${String(milli)}m`;
}

const KIB_PER_MIB = 1024;
const BYTES_PER_MIB = 1024 * 1024;

const MIB_PER_UNIT: Readonly<Record<string, number>> = {
  Ki: 1 / KIB_PER_MIB,
  Mi: 1,
  Gi: 1024,
  Ti: 1024 * 1024,
  kB: 1e3 / BYTES_PER_MIB,
  MB: 1e6 / BYTES_PER_MIB,
  GB: 1e9 / BYTES_PER_MIB,
  TB: 1e12 / BYTES_PER_MIB,
};

const UNITS_SHOWN = 'Ki, Mi, Gi, kB, MB, GB';

/** `"128Mi"`, `"1.5Gi"`, `"100MB"` → MiB, rounded up to whole ones. */
export function readMemory(written: string, mibMax: number = MEMORY_MIB_MAX): Reading {
  return readSize(written, mibMax);
}

export function readDisk(written: string): Reading {
  return readSize(written, DISK_MIB_MAX);
}

function readSize(written: string, mibMax: number): Reading {
  const text = written.trim();
  if (text.startsWith('-')) return bad(`size "${text}": must be more than 0`);
  const parts = /^(\d{1,15}(?:\.\d{1,9})?)\s?([A-Za-z]*)$/.exec(text);
  if (parts === null) return bad(`size "${text}": write a number and a unit (${UNITS_SHOWN}), as in "128Mi"`);
  const amount = parts[1] ?? '';
  const unit = parts[2] ?? '';
  const factor = Object.hasOwn(MIB_PER_UNIT, unit) ? MIB_PER_UNIT[unit] : undefined;
  if (factor === undefined) return bad(sizeHint(text, amount, unit));
  // The decimal fraction may be a hair above the whole number that was meant.
  const mib = Math.ceil(Number(amount) * factor - 1e-9);
  if (mib < 1) return bad(`size "${text}": must be more than 0`);
  if (mib > mibMax) return bad(`size "${text}": more than the limit of ${formatMib(mibMax)}`);
  return good(mib);
}

function sizeHint(text: string, amount: string, unit: string): string {
  const needs = `size "${text}" needs a unit (${UNITS_SHOWN})`;
  if (unit === '') return `${needs}; did you mean "${amount}Mi"?`;
  if (unit === 'm') return `${needs}; "m" would mean thousandths of a byte, did you mean "${amount}Mi"?`;
  const guess = { k: 'Ki', m: 'Mi', g: 'Gi', t: 'Ti' }[unit.charAt(0).toLowerCase()];
  const known = `size "${text}": "${unit}" is no unit (${UNITS_SHOWN})`;
  return guess === undefined ? known : `${known}; did you mean "${amount}${guess}"?`;
}

export function formatMib(mib: number): string {
  if (mib > 0 && mib % (1024 * 1024) === 0) return `${String(mib / (1024 * 1024))}Ti`;
  if (mib > 0 && mib % 1024 === 0) return `${String(mib / 1024)}Gi`;
  return `${String(mib)}Mi`;
}

const DURATION_UNITS: readonly (readonly [string, number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
  ['ms', 1],
];

/** `"15s"`, `"1h30m"` → milliseconds; zero is allowed here, the field decides. */
export function readDuration(written: string): Reading {
  const text = written.trim();
  if (text.startsWith('-')) return bad(`duration "${text}": must not be negative`);
  if (/^\d+(\.\d+)?$/.test(text))
    return bad(`duration "${text}" needs a unit (ms, s, m, h, d); did you mean "${text}s"?`);
  const parts = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,12})ms)?$/.exec(text);
  if (parts === null || text === '')
    return bad(`duration "${text}": write numbers with units, largest first, as in "15s" or "1h30m"`);
  const total = DURATION_UNITS.reduce((sum, [, ms], index) => sum + Number(parts[index + 1] ?? 0) * ms, 0);
  if (total > DURATION_MS_MAX)
    return bad(`duration "${text}": more than the limit of ${formatDuration(DURATION_MS_MAX)}`);
  return good(total);
}

/** The shortest spelling that `readDuration` turns back into the same number. */
export function formatDuration(ms: number): string {
  if (ms === 0) return '0s';
  let rest = ms;
  let text = '';
  for (const [unit, size] of DURATION_UNITS) {
    const amount = Math.floor(rest / size);
    if (amount > 0) text += `${String(amount)}${unit}`;
    rest -= amount * size;
  }
  return text;
}

/** A part of one GPU, `"0.5"` or `"500m"` → thousandths, at most one whole device. */
export function readShare(written: string): Reading {
  const text = written.trim();
  const how = `share "${text}": write a part of one GPU ("0.5" or "500m"), at most "1"`;
  const milli = /^(\d{1,6})m$/.exec(text);
  const decimal = /^\d(?:\.\d{1,3})?$/.test(text);
  if (milli === null && !decimal) return bad(how);
  const value = milli === null ? Math.round(Number(text) * 1000) : Number(milli[1]);
  return value < 1 || value > 1000 ? bad(how) : good(value);
}

export function formatShare(milli: number): string {
  return milli === 1000 ? '1' : `${String(milli)}m`;
}
