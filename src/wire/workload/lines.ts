import { z } from 'zod';
import { pathText } from '../job-file/problems.ts';
import { readShape } from '../job-file/read-text.ts';
import { hostKinds, simulatedDuration, taskShape } from './workload.ts';

/** Workloads as NDJSON: a line with the hosts, then a line for each job. */

const COUNT_MAX = 1_000_000;
/** Three hundred years. */
const SECONDS_MAX = 1e10;

const machine = z.strictObject({ hosts: hostKinds });

/** Plain seconds, as logs have them. */
const seconds = z.number().min(0).max(SECONDS_MAX);

const job = z
  .strictObject({
    at: seconds,
    class: z.enum(['batch', 'service']).default('batch'),
    tasks: z.int().min(1).max(COUNT_MAX).default(1),
    runtime: z.union(
      [seconds.refine((value) => value > 0, { error: 'must be more than 0' }), simulatedDuration],
      { error: 'expected seconds above 0, or a duration such as "90s" or "1h30m"' },
    ),
    task: taskShape,
    gang: z.boolean().default(false),
  })
  .transform(({ at, class: work, tasks, runtime, task: shape, gang }) => ({
    ...{ submitSeconds: at, work, tasks, runtimeSeconds: runtime, shape, gang },
  }));

/** @throws when the first line is wrong */
export function parseMachineLine(line: string): z.output<typeof machine> {
  return parse(machine, line, 1);
}

/** @throws when the line of that number is wrong */
export function parseJobLine(line: string, number: number): z.output<typeof job> {
  return parse(job, line, number);
}

function parse<T extends z.ZodType>(shape: T, line: string, number: number): z.output<T> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error(`line ${String(number)} is no JSON`);
  }
  const read = readShape(shape, value);
  if (read.ok) return read.value;
  const [fault] = read.faults;
  throw new Error(`line ${String(number)}: ${pathText(fault?.path ?? [])}: ${fault?.text ?? 'wrong'}`);
}
