import { parseArgs } from 'node:util';

type Flag = number | string | boolean;
type Widened<T> = T extends number ? number : T extends boolean ? boolean : string;

/**
 * The flags of a bench, by their defaults: a number, a text, or a switch that is off.
 * @throws TypeError for a flag that has no default
 */
export function flagsOf<T extends Readonly<Record<string, Flag>>>(defaults: T) {
  const options = Object.entries(defaults).map(([name, value]) => {
    const type = typeof value === 'boolean' ? ('boolean' as const) : ('string' as const);
    return [name, { type, default: typeof value === 'boolean' ? value : String(value) }] as const;
  });
  const { values } = parseArgs({ options: Object.fromEntries(options) });
  const read = Object.entries(values).map(
    ([name, value]) => [name, typeof defaults[name] === 'number' ? Number(value) : value] as const,
  );
  return Object.fromEntries(read) as { readonly [K in keyof T]: Widened<T[K]> };
}
