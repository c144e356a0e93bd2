// Who serves a name, for a proxy or a program of one's own: node names.mjs NAME
//
// Prints a line whenever the list changes, and goes on at another monitor when the one that it reads dies. NAME is
// `<port>.<group>.<job>.<namespace>`; Ctrl-C ends it.
import { connect } from 'moorage';

const [name] = process.argv.slice(2);
if (name === undefined) {
  console.error('usage: node names.mjs NAME');
  process.exit(64);
}

const cell = await connect();
for await (const frame of cell.followNames({ name })) {
  if (frame.kind !== 'name') continue;
  const addresses = frame.endpoints.map(({ host, address, port }) => `${address}:${port} on ${host}`);
  console.log(addresses.length === 0 ? 'nobody' : addresses.join(', '));
}
