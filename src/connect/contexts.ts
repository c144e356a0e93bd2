import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileFault } from '../adapters/disk/file-fault.ts';
import type { Environment } from './connect-error.ts';
import { ConnectError } from './connect-error.ts';

/** How one cell is reached, and who the caller is there. */
export interface SavedContext {
  /** Of monitors. */
  readonly addresses: readonly string[];
  /** Where no command names one. */
  readonly namespace?: string;
  /** With `authorities`, the certificates of the cell's authority as PEM. */
  readonly token?: string;
  readonly authorities?: string;
  /** A folder with a certificate, instead of a token. */
  readonly credentials?: string;
}

export interface Contexts {
  /** The one that is used where no other is named; null: none. */
  readonly current: string | null;
  readonly contexts: Readonly<Record<string, SavedContext>>;
}

/** `MOORAGE_CONFIG`, or the place that the XDG base directories name. */
export function contextsFile(env: Environment): string {
  const named = env.MOORAGE_CONFIG ?? '';
  if (named !== '') return named;
  const base = env.XDG_CONFIG_HOME ?? '';
  return join(base === '' ? join(env.HOME ?? '/', '.config') : base, 'moorage', 'config.json');
}

/** @throws ConnectError when the file is there and cannot be used */
export function readContexts(env: Environment): Contexts {
  const file = contextsFile(env);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
    if ((statSync(file).mode & 0o077) !== 0)
      throw refused(file, 'it can be read by others', `chmod 600 ${file}`);
  } catch (error) {
    if (error instanceof ConnectError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { current: null, contexts: {} };
    throw refused(file, fileFault(error), 'MOORAGE_CONFIG names another file', error);
  }
  const read = parsed(text);
  if (read === null)
    throw refused(file, 'it is no file of contexts', `moorage login, after ${file} is moved away`);
  return read;
}

function parsed(text: string): Contexts | null {
  try {
    const { v, current, contexts } = JSON.parse(text) as Partial<Contexts & { v: unknown }>;
    if (v !== 1 || (typeof current !== 'string' && current !== null)) return null;
    if (typeof contexts !== 'object' || !Object.values(contexts).every(isContext)) return null;
    return { current, contexts };
  } catch {
    return null;
  }
}

function isContext(value: unknown): value is SavedContext {
  if (typeof value !== 'object' || value === null) return false;
  const { addresses, namespace, token, authorities, credentials } = value as Record<string, unknown>;
  const texts = [namespace, token, authorities, credentials];
  return (
    Array.isArray(addresses) &&
    addresses.length > 0 &&
    addresses.every((address) => typeof address === 'string') &&
    texts.every((text) => text === undefined || typeof text === 'string')
  );
}

/**
 * The context of a call: the one that `--context` or `MOORAGE_CONTEXT` names, or the current one.
 * @throws ConnectError when there is none of the name
 */
export function chosenContext(
  named: string | undefined,
  env: Environment,
): { readonly context: SavedContext; readonly name: string; readonly isNamed: boolean } | null {
  const asked = named ?? env.MOORAGE_CONTEXT ?? '';
  const { current, contexts } = readContexts(env);
  const name = asked === '' ? current : asked;
  if (name === null) return null;
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context !== undefined) return { context, name, isNamed: asked !== '' };
  if (asked === '') return null;
  throw new ConnectError(`there is no context ${name}`, 'moorage context   (lists those that there are)');
}

function refused(file: string, why: string, hint: string, cause?: unknown): ConnectError {
  return new ConnectError(`${file}: ${why}`, hint, cause);
}
