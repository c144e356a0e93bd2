import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { boundAddresses, listeningPorts } from '../../../../src/adapters/processes/sockets.ts';

/** Of no pool that another test lends from. */
const [TCP, UDP, MAPPED, CALLER] = ['127.64.201.1', '127.64.201.2', '127.64.201.3', '127.64.201.4'];

it('sees who listens, whatever the address', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  expect((await listeningPorts()).has(port)).toBe(true);
  await new Promise((done) => server.close(done));
  expect((await listeningPorts()).has(port)).toBe(false);
});

it('S1.38 sees who is bound to an address, by any protocol, and not who takes all or only calls', async () => {
  const server = createServer().listen(0, TCP);
  const mapped = createServer().listen({ port: 0, host: `::ffff:${MAPPED}` });
  const everywhere = createServer().listen(0, '0.0.0.0');
  const datagrams = createSocket('udp4').bind(0, UDP);
  await Promise.all([server, mapped, everywhere, datagrams].map((one) => once(one, 'listening')));
  const { port } = everywhere.address() as AddressInfo;
  const caller = connect({ host: '127.0.0.1', port, localAddress: CALLER });
  await once(caller, 'connect');
  const bound = await boundAddresses();
  expect([TCP, UDP, MAPPED, CALLER, '0.0.0.0'].filter((address) => bound.has(address))).toEqual([
    TCP,
    UDP,
    MAPPED,
  ]);
  caller.destroy();
  datagrams.close();
  for (const one of [server, mapped, everywhere]) await new Promise((done) => one.close(done));
  expect((await boundAddresses()).has(TCP)).toBe(false);
});
