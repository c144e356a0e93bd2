/** Whom the failure detector finds in model cells with a planted truth: precision, recall and the time to the verdict. */
import { CASES } from '../../sim/detector/cases.ts';
import { figuresOf } from '../../sim/detector/detector.ts';
import { flagsOf } from '../testbed/flags.ts';

const { seeds, seed: first, only, show } = flagsOf({ seeds: 1_000, seed: 1, only: '', show: false });
for (const name of CASES) {
  if (only !== '' && only !== name) continue;
  const startMs = performance.now();
  const { precision, recall, medianMs, partly, wrong } = figuresOf(name, first, seeds);
  console.log(
    [
      `detector case=${name} seed=${String(first)} seeds=${String(seeds)}`,
      `precision=${precision.toFixed(4)} recall=${recall === null ? '-' : recall.toFixed(4)}`,
      `median-s=${medianMs === null ? '-' : String(Math.round(medianMs / 1000))}`,
      `partly=${String(partly)}`,
      `ms/seed=${((performance.now() - startMs) / seeds).toFixed(1)}`,
      `wrong=${String(wrong.length)} ${wrong
        .map(({ seed }) => seed)
        .slice(0, 10)
        .join(',')}`,
    ].join(' '),
  );
  if (show)
    for (const { seed, truth, found, afterMs } of wrong)
      console.log(
        `  ${String(seed)}: ${truth ?? 'nobody'} after ${String(afterMs)} ms; found: ${found.join(', ')}`,
      );
}
