/** Every name that becomes part of a key or a path: lower-case letters, digits and dashes, at most 63. */
export const ID_PATTERN = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
/** The same as a message for users. */
export const ID_RULE = 'use lower-case letters, digits and dashes, at most 63';

export const DEFAULT_NAMESPACE = 'default';
/** Of what the cell itself consists of: its store, arbiters, monitors and schedulers. Operators alone see it. */
export const SYSTEM_NAMESPACE = 'system';

/** Crockford's alphabet in lower case: no i, l, o, u, so that an id can be read aloud. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
/** All pairs of its letters: an id is built in half as many steps. */
const PAIRS = Array.from(ALPHABET).flatMap((first) => Array.from(ALPHABET, (second) => first + second));
const TIME_CHARS = 10;
const RANDOM_CHARS = 16;

/**
 * A sortable id in the shape of a ULID (github.com/ulid/spec), lower case so that it is a valid key part.
 *
 * @param nowMs wall-clock time; ids made later sort later
 * @param randomBytes at least 16 bytes from `from` on; 5 bits of each are used
 */
export function makeId(nowMs: number, randomBytes: Uint8Array, from = 0): string {
  let rest = Math.floor(nowMs);
  let time = '';
  for (let i = 0; i < TIME_CHARS; i += 2) {
    time = PAIRS[rest % 1024]! + time;
    rest = Math.floor(rest / 1024);
  }
  let tail = '';
  for (let i = from; i < from + RANDOM_CHARS; i += 2)
    tail += PAIRS[((randomBytes[i] ?? 0) & 31) * 32 + ((randomBytes[i + 1] ?? 0) & 31)]!;
  return time + tail;
}

/** When an id was made, by the clock of who made it; null: it is no such id. */
export function timeOfId(id: string): number | null {
  let time = 0;
  for (const letter of id.slice(0, TIME_CHARS)) {
    const value = ALPHABET.indexOf(letter);
    if (value < 0) return null;
    time = time * 32 + value;
  }
  return id.length === TIME_CHARS + RANDOM_CHARS ? time : null;
}

export function isId(text: string): boolean {
  return ID_PATTERN.test(text);
}

/** The full name of a job: unique in the cell. */
export function jobKeyOf(namespace: string, job: string): string {
  return `${namespace}/${job}`;
}

/** How output names an allocation: `web.server[2]`, or `hello[0]` where job and group share the name. */
export function slotName(job: string, group: string, index: number): string {
  return job === group ? `${job}[${String(index)}]` : `${job}.${group}[${String(index)}]`;
}

/** Of the name that a person gave, so much that a run's name has room for its own id: people see what it is. */
const RUN_STEM_CHARS_MAX = 40;
/** The random end of an id: 40 bits. */
const RUN_TAIL_CHARS = 8;

/** The name of a one-off run: `hello-4k9x2m7q` from `hello` and an id of `makeId`. */
export function runName(given: string, id: string): string {
  return `${stemOf(given)}-${id.slice(-RUN_TAIL_CHARS)}`;
}

/** Was the run of this name given that one? */
export function isRunNamed(run: string, given: string): boolean {
  return givenName(run) === stemOf(given);
}

/** What a run was named when it was made; a long name was cut. */
export function givenName(run: string): string {
  return run.slice(0, -RUN_TAIL_CHARS - 1);
}

function stemOf(given: string): string {
  return given.slice(0, RUN_STEM_CHARS_MAX).replace(/-+$/, '');
}
