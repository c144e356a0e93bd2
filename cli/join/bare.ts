import { createPublicKey, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorCodeOf } from '../../src/adapters/adapters.ts';
import { writeWhole } from '../../src/adapters/disk/write-whole.ts';
import { findEtcd } from '../../src/adapters/etcd/server/find-etcd.ts';
import { fastifyServer } from '../../src/adapters/http/http.ts';
import { AUTHORITY_TTL_MS, AuthorityFolder } from '../../src/adapters/pki/authority-folder.ts';
import { openCredentials } from '../../src/adapters/pki/credentials.ts';
import { sha256Hex } from '../../src/adapters/system/digest.ts';
import { builtFile } from '../../src/adapters/system/package-files.ts';
import { bareTokenText, invitationIdOf, invitationText } from '../../src/core/access/invitation.ts';
import { isSameHash } from '../../src/core/access/token.ts';
import { SECRET_BYTES } from '../../src/core/access/secret-text.ts';
import type { AdmitToken, Route } from '../../src/ports/http.ts';
import { onAbort } from '../../src/ports/on-abort.ts';
import type { Log } from '../../src/ports/telemetry.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import type { BareMachine } from '../../src/wire/join/bare-api.ts';
import { readAdoptRequest, readKeysRequest } from '../../src/wire/join/bare-requests.ts';
import { bundleCodec } from '../../src/wire/records/records.ts';
import type { Context } from '../command/context.ts';
import { onParentGone } from '../command/parent-gone.ts';
import { JoinedFolder } from './joined-folder.ts';

export interface BareMachineOptions {
  readonly id: string;
  readonly data: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly log: Log;
}

const BODY_BYTES_MAX = 256 * 1024;
const CLOSE_GRACE_MS = 1_000;
/** Of its own authority, until it is a part of a cell: it signs the one certificate that the machine shows. */
const BARE = 'bare';

/**
 * Waits until whoever has this machine's token makes it a part of a cell. Until then it has a key and an authority of its own,
 * which the token names, so that whoever comes knows the machine, and the machine knows who comes by the token's secret. The
 * token stays the same over restarts, and counts no more when the machine has a cell.
 * @returns false: it was told to end
 */
export async function untilAdopted(context: Context, options: BareMachineOptions): Promise<boolean> {
  const { terminal, interrupted } = context;
  const { listen, log, id } = options;
  const folder = new JoinedFolder(options.data);
  const authority = new AuthorityFolder(join(folder.bare, 'authority'));
  const times = { nowMs: terminal.nowMs(), ttlMs: AUTHORITY_TTL_MS };
  await authority.init(BARE, times);
  // Secrets are shown to monitors alone.
  const issued = await authority.issue({ role: 'monitor', id }, { ...times, hosts: [listen.host] });
  const shown = await secretOf(folder);
  const credentials = openCredentials(issued.folder, null);
  const end = new AbortController();
  let isAdopted = false;
  const routes = routesOf(folder, options, () => {
    isAdopted = true;
    end.abort();
  });
  const server = fastifyServer({ log, credentials });
  const listener = await server.listen(routes, {
    ...{ ...listen, bodyBytesMax: BODY_BYTES_MAX },
    admit: admitOf(shown, id),
  });
  const { fingerprint } = await authority.facts();
  const token = { host: id, monitors: [listener.address], fingerprints: [fingerprint], shown };
  terminal.out(`${bareTokenText(token)}\n`);
  const forget = onAbort(interrupted, () => end.abort());
  onParentGone(terminal.env, () => end.abort());
  if (interrupted.aborted) end.abort();
  await new Promise<void>((resolved) => onAbort(end.signal, resolved));
  forget();
  await listener.close(CLOSE_GRACE_MS);
  credentials.close();
  if (isAdopted) await rm(folder.bare, { recursive: true, force: true });
  return isAdopted;
}

async function secretOf(folder: JoinedFolder): Promise<string> {
  const file = join(folder.bare, 'secret');
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    if (errorCodeOf(error) !== 'ENOENT') throw error;
  }
  const text = invitationText(BARE, randomBytes(SECRET_BYTES));
  await writeWhole(file, `${text}\n`);
  return text;
}

function admitOf(shown: string, host: string): AdmitToken {
  const hash = sha256Hex(shown);
  return (text) => {
    const id = invitationIdOf(text);
    if (id === null || !isSameHash(hash, sha256Hex(text))) return Promise.resolve('unknown');
    return Promise.resolve({
      person: { role: 'invited', id, host },
      ended: new AbortController().signal,
    });
  };
}

function routesOf(folder: JoinedFolder, options: BareMachineOptions, onAdopted: () => void): Route[] {
  return [
    {
      method: 'POST',
      path: '/v1/keys',
      right: 'join',
      handle: async ({ body }) => {
        const { holders } = readKeysRequest(body);
        return { status: 200, body: await machineOf(folder, options, holders) };
      },
    },
    {
      method: 'POST',
      path: '/v1/adopt',
      right: 'join',
      handle: async ({ body }) => {
        await adopt(folder, options, body);
        // The answer first.
        setImmediate(onAdopted);
        return { status: 204 };
      },
    },
  ];
}

async function machineOf(
  folder: JoinedFolder,
  { id, data }: BareMachineOptions,
  holders: readonly string[],
): Promise<BareMachine> {
  const publicKeys: Record<string, string> = { [`agent-${id}`]: publicOf(await folder.key()) };
  for (const holder of holders) publicKeys[holder] = publicOf(await folder.key(holder));
  const etcd = holders.some((holder) => holder.startsWith('etcd-'))
    ? await findEtcd({ env: process.env, sources: ['environment', 'path'] }).then(
        ({ path }) => path,
        () => null,
      )
    : null;
  return { publicKeys, program: [process.execPath, builtFile('cli/main.cjs')], etcd, data: resolve(data) };
}

function publicOf(key: string): string {
  return createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
}

async function adopt(
  folder: JoinedFolder,
  { id, listen: { host, port } }: BareMachineOptions,
  body: unknown,
): Promise<void> {
  const { bundles, allow, arbiterSecret } = readAdoptRequest(body);
  const [agent, ...roles] = bundles.map((text) => bundleCodec.decode(text));
  if (agent?.role !== 'agent' || agent.id !== id)
    throw new ProblemError({ status: 400, code: 'bad-request', detail: `this machine is ${id}` });
  for (const role of roles) await folder.writeRole(role);
  if (arbiterSecret !== null) await folder.writeArbiterSecret(`${arbiterSecret}\n`);
  const listen = `${host.includes(':') ? `[${host}]` : host}:${String(port)}`;
  await folder.write(agent, await folder.key(), { listen, allow });
}
