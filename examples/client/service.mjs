// A service, from a file to its end: node service.mjs [NAME]
//
// Submits it, follows the events of the cell until all of its instances run, scales it, and stops it.
import { connect, ProblemError } from 'moorage';

const [name = 'from-a-program'] = process.argv.slice(2);
const cell = await connect();
const job = { namespace: 'default', job: name };

/** Reads on where another monitor stopped, when the one that is read dies. */
async function untilRunning(count, since) {
  const running = new Set();
  const { allocations } = await cell.allocations(job);
  for (const { allocation, report } of allocations)
    if (report?.state === 'running') running.add(allocation.id);
  if (running.size >= count) return;
  for await (const event of cell.events(since, { follow: true })) {
    if (event.job !== name || event.kind !== 'running') continue;
    console.log(`${event.slot} runs on ${event.host}`);
    running.add(event.allocation);
    if (running.size >= count) return;
  }
}

try {
  const { version } = await cell.submit(
    { name, type: 'service', count: 2, command: ['sleep', '1000'] },
    { ifMatch: 0 },
  );
  console.log(`${name} is there, version ${version}`);
} catch (error) {
  // Everything that a cell refuses is a problem with a code, and a hint where there is one.
  if (!(error instanceof ProblemError)) throw error;
  console.error(`${error.problem.detail}: moorage stop ${name}`);
  process.exit(1);
}
await untilRunning(2, '0');
await cell.scale(job, { count: 3 });
await untilRunning(3, '0');
await cell.stop(job);
console.log(`${name} is stopped`);
