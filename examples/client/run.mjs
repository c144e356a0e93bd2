// A command on the cell: node run.mjs COMMAND [ARGUMENT …]
//
// Its output comes as it is written, also when the monitor that tells it dies, and this program ends with its exit code. The cell is
// found as the command line finds it: MOORAGE_ADDR, the development cell of this folder, or the current context.
import { randomUUID } from 'node:crypto';
import { connect } from 'moorage';

const command = process.argv.slice(2);
if (command.length === 0) {
  console.error('usage: node run.mjs COMMAND [ARGUMENT …]');
  process.exit(64);
}

const cell = await connect();
// The key makes a second delivery of the same request find the first one's run.
const once = { restart: { attempts: 0 }, reschedule: { attempts: 0 } };
const run = await cell.run({ name: 'from-a-program', command, ...once }, randomUUID());
for await (const { chunk } of cell.logs(run, { stream: 'stdout', follow: true })) process.stdout.write(chunk);

let end = null;
while (end === null) end = await cell.exit(run, 30_000);
console.error(`${run.job} on ${end.host}: ${end.state}`);
process.exitCode = end.exit?.code ?? 1;
