import type { LogFields } from '../../ports/telemetry.ts';

/** Of the fields of a line, as JSON; with the message, the time and who writes it a line has 2 kB at most. */
const FIELDS_BYTES_MAX = 1_500;
/** At debug level, where faults come with their stacks and causes. */
const DEBUG_FACTOR = 16;
const MESSAGE_BYTES_MAX = 300;
/** Where a line is too long, each of its fields has this much, and all together no more than a line. */
const FIELD_BYTES_MAX = 500;

/** A line that no input can make long: fields that are too long for it are cut, and end with `…`. */
export function bounded(
  fields: LogFields,
  message: string,
  isDebug = false,
): { readonly fields: LogFields; readonly message: string } {
  const text = cut(message, MESSAGE_BYTES_MAX);
  const factor = isDebug ? DEBUG_FACTOR : 1;
  if (bytesOf(fields) <= FIELDS_BYTES_MAX * factor) return { fields, message: text };
  const short: Record<string, unknown> = {};
  let left = FIELDS_BYTES_MAX * factor;
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue;
    const room = Math.max(0, Math.min(FIELD_BYTES_MAX * factor, left - bytesOf(name)));
    short[name] = bytesOf(value) <= room ? value : cut(textOf(value), room);
    left -= bytesOf(name) + bytesOf(short[name]);
  }
  return { fields: short, message: text };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? '');
}

/** @param most bytes of it as JSON, where a character may take six */
function cut(text: string, most: number): string {
  if (text.length <= most && bytesOf(text) <= most) return text;
  let short = text.slice(0, most);
  while (short.length > 0 && bytesOf(`${short}…`) > most)
    short = short.slice(0, Math.floor(short.length * 0.8));
  return `${short}…`;
}
