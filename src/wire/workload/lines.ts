import { z } from 'zod';
import { keysAt } from '../job-file/json-schema.ts';
import { faultsOf, pathText } from '../job-file/problems.ts';
import { hostKinds, simulatedDuration, taskShape } from './workload.ts';

/** Workloads as NDJSON: a line with the hosts, then a line for each job. */

const COUNT_MAX = 1_000_000;
/** Three hundred years. */
const SECONDS_MAX = 1e10;

const machine = z.strictObject({ hosts: hostKinds });

/** Seconds, since whoever writes such lines takes them from a log. */
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

/** @throws saying what is wrong with the first line */
export function parseMachineLine(line: string): z.output<typeof machine> {
  return parse(machine, line, 1);
}

/** @throws saying what is wrong with the line of that number */
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
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const [fault] = faultsOf(read.error.issues, value, (path) => keysAt(shape, path));
  throw new Error(`line ${String(number)}: ${pathText(fault?.path ?? [])}: ${fault?.text ?? 'wrong'}`);
}
