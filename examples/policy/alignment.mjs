// A scheduler of one's own: node alignment.mjs CREDENTIALS [CELL_FILE]
//
// It places the jobs that it owns where what they ask for points the same way as what is left: much memory where much memory is
// free, much processor where that is (the packing of Tetris, SIGCOMM 2014). It competes with the cell's own schedulers: it has a
// copy of the cell like each of them, decides in it alone, and commits by the same compare-and-swap. Who comes too late rebases.
import { readFileSync } from 'node:fs';
import { runScheduler } from 'moorage/scheduler';

const [credentials, cellFile = '.moorage/cells/dev/cell.json'] = process.argv.slice(2);
const { cell, etcd } = JSON.parse(readFileSync(cellFile, 'utf8'));

/** What the host has to give away; 1 where it has none, so that nothing is divided by zero. */
function whole({ capacity, reserved }) {
  return {
    cpu: Math.max(1, capacity.cpuMilli - reserved.cpuMilli),
    memory: Math.max(1, capacity.memoryMib - reserved.memoryMib),
  };
}

const policy = {
  name: 'alignment',
  sample: Infinity,
  /** From 0 to 1: the cosine of what is asked and what is free, both as parts of the host. */
  score({ host, free }, { ask }) {
    const { cpu, memory } = whole(host);
    const asked = [ask.resources.cpuMilli / cpu, ask.resources.memoryMib / memory];
    const left = [free.cpuMilli / cpu, free.memoryMib / memory];
    const length = Math.hypot(...asked) * Math.hypot(...left);
    return length === 0 ? 0 : (asked[0] * left[0] + asked[1] * left[1]) / length;
  },
};

const scheduler = await runScheduler({
  ...{ cell, etcd, id: 'aligned-1', kind: 'batch', policy, credentials, logLevel: 'warn' },
});
console.log(`aligned-1 competes, at ${scheduler.address}`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void scheduler.stop());
await scheduler.ended;
