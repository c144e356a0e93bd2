/** A value of a file that nobody has checked. */
export type Value = unknown;
export type ValueMap = Readonly<Record<string, Value>>;

/** What is left out or to be looked at, for people, with where it stood. */
export class Notes {
  readonly #lines: string[] = [];

  get lines(): readonly string[] {
    return this.#lines;
  }

  add(where: string, text: string): void {
    this.#lines.push(`${where}: ${text}`);
  }

  /** Tells of each key that is not among the known ones. */
  leftOut(where: string, map: ValueMap, known: readonly string[]): void {
    for (const key of Object.keys(map)) if (!known.includes(key)) this.add(where, `${key} is left out`);
  }
}

export function isMap(value: Value): value is ValueMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The map under a key; empty: there is none. */
export function mapIn(map: Value, key: string): ValueMap {
  const value = isMap(map) ? map[key] : undefined;
  return isMap(value) ? value : {};
}

export function listIn(map: Value, key: string): readonly Value[] {
  const value = isMap(map) ? map[key] : undefined;
  return Array.isArray(value) ? value : [];
}

/** Text, or a number or truth value as it is spelt; undefined: there is none. */
export function textIn(map: Value, key: string): string | undefined {
  const value = isMap(map) ? map[key] : undefined;
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

export function numberIn(map: Value, key: string): number | undefined {
  const value = Number(textIn(map, key) ?? Number.NaN);
  return Number.isFinite(value) ? value : undefined;
}

/** Texts of a list. */
export function textsIn(map: Value, key: string): readonly string[] {
  return listIn(map, key).map(String);
}

/** Without what is undefined, or an empty map or list. */
export function filled(map: ValueMap): Record<string, Value> {
  const isFilled = (value: Value): boolean =>
    value !== undefined && !(typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(map).filter(([, value]) => isFilled(value)));
}
