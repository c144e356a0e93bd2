import { runWorld } from '../../sim/world/run-world.ts';
import { SMALL_CELL } from '../../sim/world/scenario.ts';

// A process of its own, with nothing in it that ran before: prints what one run was like.
const { traceHash, events } = await runWorld({
  seed: Number(process.argv[2]),
  scenario: SMALL_CELL,
  faults: {},
});
process.stdout.write(JSON.stringify({ traceHash, events }));
