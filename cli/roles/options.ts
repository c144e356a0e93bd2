import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Reach } from '../../src/adapters/http/http.ts';
import { LOOPBACK } from '../../src/adapters/http/http.ts';
import { pinoLog } from '../../src/adapters/telemetry/telemetry.ts';
import type { Identity } from '../../src/core/access/identity.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { readCredentials } from '../../src/connect/credentials.ts';
import { usageError } from '../command/exit.ts';
import type { Reading } from '../../src/wire/values/units.ts';
import { VERSION } from '../command/version.ts';

/** The flags that every role has, as they were typed. */
export interface RoleFlags {
  readonly cell: string;
  readonly etcd: readonly string[];
  readonly id?: string;
  readonly listen: string;
  readonly advertise?: string;
  readonly plainOutsideLoopback?: boolean;
  readonly credentials?: string;
  readonly logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  readonly logFile?: string;
}

/** The same, checked, with its log open. */
export interface RoleBasics {
  readonly cell: string;
  readonly etcd: readonly string[];
  readonly id: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly reach: Reach;
  readonly version: string;
  readonly log: Log;
}

export const DEFAULT_CELL = 'default';
export const DEFAULT_LISTEN = '127.0.0.1:0';
const DEFAULT_ETCD = 'http://127.0.0.1:2379';
const DEFAULT_SECURE_ETCD = 'https://127.0.0.1:2379';

export function roleBasics(flags: RoleFlags, component: string): RoleBasics {
  const identity = flags.credentials === undefined ? null : certifiedAs(flags.credentials, component);
  const id = flags.id ?? identity?.id ?? defaultId(component);
  if (!isId(id)) throw usageError(`--id ${id}: ${ID_RULE}`, `moorage ${component} --help`);
  if (!isId(flags.cell))
    throw usageError(
      `--cell ${flags.cell}: use lower-case letters, digits and dashes`,
      `moorage ${component} --help`,
    );
  const etcd = flags.etcd
    .flatMap((text) => text.split(','))
    .filter((text) => text !== '')
    .map((text) => readMember(text));
  if (identity !== null && (identity.id !== id || identity.cell !== flags.cell))
    throw usageError(
      `--credentials ${flags.credentials ?? ''}: its certificate is of ${identity.role} ${identity.id} of cell ${identity.cell}`,
      `moorage ${component} --cell ${identity.cell} --id ${identity.id}`,
    );
  const file = flags.logFile === undefined ? {} : { file: flags.logFile };
  const log = pinoLog({ component, id, level: flags.logLevel, ...file });
  return {
    cell: flags.cell,
    etcd: etcd.length === 0 ? [identity === null ? DEFAULT_ETCD : DEFAULT_SECURE_ETCD] : etcd,
    id,
    ...serving(flags, component, log),
    version: VERSION,
    log,
  };
}

/** Where it listens, and the address that it registers. */
function serving(
  { listen: text, advertise, plainOutsideLoopback = false, credentials: folder }: RoleFlags,
  component: string,
  log: Log,
): Pick<RoleBasics, 'listen' | 'reach'> {
  const listen = readListen(text);
  if (folder === undefined && !LOOPBACK.has(listen.host) && !plainOutsideLoopback)
    throw usageError(
      `--listen ${text}: others on the network could call it, and there is no TLS; give it credentials, or say that the network is trusted`,
      `moorage ${component} --listen ${text} --credentials FOLDER   (or --plain-outside-loopback)`,
    );
  if (EVERYWHERE.has(listen.host) && advertise === undefined)
    throw usageError(
      `--listen ${text}: name one address of this machine, or the one that others are told`,
      `moorage ${component} --listen ${text} --advertise http${folder === undefined ? '' : 's'}://ADDRESS:PORT`,
    );
  if (advertise !== undefined && !/^https?:\/\/[^/\s]+$/.test(advertise))
    throw usageError(
      `--advertise ${advertise}: write it as http://ADDRESS:PORT`,
      `moorage ${component} --help`,
    );
  const credentials = folder === undefined ? {} : { credentials: readCredentials(folder, log) };
  const told = advertise === undefined ? {} : { advertise };
  return { listen, reach: { plainOutsideLoopback, ...credentials, ...told } };
}

const EVERYWHERE: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** @throws CliError, ConnectError; also when the certificate is of another role */
function certifiedAs(folder: string, component: string): Identity {
  const { identity } = readCredentials(folder, null);
  const role = component === 'hollow' ? 'agent' : component;
  if (identity.role === role) return identity;
  throw usageError(
    `--credentials ${folder}: its certificate is of ${identity.role} ${identity.id}, and this is to be a role of another kind`,
    `moorage pki issue AUTHORITY --role ${role} --id ID`,
  );
}

/** An agent is its host; of other roles several may run on one host. */
export function defaultId(component: string): string {
  const host = hostname()
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 40)
    .replace(/-+$/, '');
  if (component === 'agent') return host;
  return `${component}-${host}-${String(process.pid)}`;
}

/** A member of the store, as it was typed; the client takes it without a scheme too. */
function readMember(text: string): string {
  const whole = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : null;
  if (url !== null && ['http:', 'https:'].includes(url.protocol)) return text;
  throw usageError(`--etcd ${text}: write it as http://HOST:PORT`, `--etcd ${DEFAULT_ETCD}`);
}

/** `127.0.0.1:7070`, `[::1]:7070`, `:7070`, `7070`. */
export function readListen(text: string): { host: string; port: number } {
  const parts = /^(?:(\[[0-9a-fA-F:]+\]|[^:]*):)?(\d{1,5})$/.exec(text);
  const port = Number(parts?.[2]);
  if (parts === null || port > 65_535)
    throw usageError(`--listen ${text}: write it as HOST:PORT`, '--listen 127.0.0.1:0');
  const host = (parts[1] ?? '').replaceAll(/[[\]]/g, '');
  return { host: host === '' ? '127.0.0.1' : host, port };
}

/** `20000-20499` */
export function readPorts(text: string): { first: number; last: number } {
  const parts = /^(\d{1,5})-(\d{1,5})$/.exec(text);
  const first = Number(parts?.[1]);
  const last = Number(parts?.[2]);
  if (parts === null || first < 1 || last > 65_535 || last < first)
    throw usageError(`--ports ${text}: write them as FIRST-LAST, from 1 to 65535`, '--ports 20000-20999');
  return { first, last };
}

/** An amount with a unit, from a flag. */
export function readAmount(
  flag: string,
  text: string,
  read: (text: string) => Reading,
  role: string,
): number {
  const reading = read(text);
  if (reading.ok) return reading.value;
  throw usageError(`${flag}: ${reading.text}`, `moorage ${role} --help`);
}

/** `zone=a` → an attribute; repeated flags make a map. */
export function readAttributes(texts: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
      throw usageError(`--attribute ${text}: write it as NAME=VALUE`, '--attribute zone=a');
    }),
  );
}

/** The folder with the arbiters' keys: the secret one for arbiters, the pinned public ones for agents. */
export function keysFolder(flag: string | undefined, role: string): string {
  if (flag !== undefined) return flag;
  throw usageError('name the folder with the ticket keys: --keys FOLDER', `moorage ${role} --keys FOLDER`);
}

/** What a host needs to check tickets; nothing with `--no-tickets`. */
export function pinnedKeys(
  flags: { readonly keys?: string; readonly tickets: boolean },
  role: string,
): { requireTickets: boolean; pinnedKeysFile?: string } {
  if (!flags.tickets) return { requireTickets: false };
  return { requireTickets: true, pinnedKeysFile: join(keysFolder(flags.keys, role), 'arbiters.public') };
}
