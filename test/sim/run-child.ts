import { seedOptions } from '../../sim/seeds/seeds.ts';
import { runWorld } from '../../sim/world/run-world.ts';

// A process of its own, with nothing in it that ran before: prints what one run was like.
const [seed, world] = process.argv.slice(2);
const { traceHash, events } = await runWorld(
  seedOptions(Number(seed), world === 'hostile' ? {} : { everyMs: null }),
);
process.stdout.write(JSON.stringify({ traceHash, events }));
