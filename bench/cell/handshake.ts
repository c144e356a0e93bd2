import { diffieHellman, generateKeyPairSync, sign, verify } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo, Server, Socket } from 'node:net';
import { connect as connectPlain, createServer as createPlainServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, createServer } from 'node:tls';
import { Certificates } from '../../cli/local-cell/certificates.ts';
import { clientTls, serverTls } from '../../src/adapters/pki/tls.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';

/**
 * What a connection between two roles costs: processor time of both sides, in this process, of a connection with both certificates, from
 * opening to closing, and of a plain one beside it; in turns. `signatures` is what Node's own functions take for what two such sides sign,
 * check and agree on: one signature and three checks each (two certificates of a chain and the other's signature), and one agreement of keys.
 */
const flags = flagsOf({ connections: 300, rounds: 9, 'in-flight': 4 });
const HOST = '127.0.0.1';

const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
const certificates = new Certificates(folder, (text) => process.stderr.write(`${text}\n`));

/** Microseconds of this process's processor time for one. */
async function cpuUsEach(count: number, work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

async function portOf(server: Server): Promise<number> {
  await new Promise<void>((listening) => server.listen(0, HOST, listening));
  return (server.address() as AddressInfo).port;
}

/** To its end, which the server makes. */
function throughOf(socket: Socket): Promise<void> {
  return new Promise((closed, failed) => {
    socket
      .on('error', failed)
      .once('close', () => closed())
      .resume();
  });
}

async function open(count: number, through: () => Promise<void>): Promise<void> {
  let left = count;
  const lane = async (): Promise<void> => {
    while (left-- > 0) await through();
  };
  await Promise.all(Array.from({ length: flags['in-flight'] }, lane));
}

function signaturesUs(): Promise<number> {
  const [own, other] = [1, 2].map(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }));
  const peer = generateKeyPairSync('x25519');
  const message = Buffer.alloc(150);
  return cpuUsEach(flags.connections, () => {
    for (let n = 0; n < flags.connections; n++)
      for (const { privateKey, publicKey } of [own!, other!]) {
        const signature = sign('sha256', message, privateKey);
        for (let check = 0; check < 3; check++) verify('sha256', message, publicKey, signature);
        const fresh = generateKeyPairSync('x25519');
        diffieHellman({ privateKey: fresh.privateKey, publicKey: peer.publicKey });
      }
  });
}

try {
  await certificates.init('bench');
  const host = await certificates.open('agent', 'host-1');
  const caller = await certificates.open('scheduler', 'scheduler-1');
  const secured = createServer(serverTls(host.now), (socket) => socket.end('x'));
  const plain = createPlainServer((socket) => socket.end('x'));
  const [securedPort, plainPort] = [await portOf(secured), await portOf(plain)];
  const tls = clientTls(caller, 'agent');
  const ways = {
    secured: () =>
      open(flags.connections, () => throughOf(connect({ host: HOST, port: securedPort, ...tls }))),
    plain: () => open(flags.connections, () => throughOf(connectPlain(plainPort, HOST))),
  };
  const taken = { secured: [] as number[], plain: [] as number[], signatures: [] as number[] };
  for (let round = -1; round < flags.rounds; round++) {
    const securedUs = await cpuUsEach(flags.connections, ways.secured);
    const plainUs = await cpuUsEach(flags.connections, ways.plain);
    const signUs = await signaturesUs();
    // The first one compiles the code.
    if (round < 0) continue;
    taken.secured.push(securedUs);
    taken.plain.push(plainUs);
    taken.signatures.push(signUs);
  }
  const median = (values: number[]): string => percentile(values, 0.5).toFixed(0);
  console.log(
    `handshake connections=${String(flags.connections)} rounds=${String(flags.rounds)} in_flight=${String(flags['in-flight'])}` +
      ` cpu_us_each=${median(taken.secured)} plain_us=${median(taken.plain)} signatures_us=${median(taken.signatures)}` +
      ` openssl=${process.versions.openssl}`,
  );
  secured.close();
  plain.close();
} finally {
  certificates.close();
  rmSync(folder, { recursive: true, force: true });
}
