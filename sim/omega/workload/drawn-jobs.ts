import type { SeededRandom } from '../../../src/core/random/random.ts';
import { draw } from './distribution.ts';
import type {
  ClassLoad,
  Constraint,
  DrawnLoad,
  JobSource,
  SimJob,
  TaskShape,
  WorkClass,
} from './workload.ts';
import { ANY_HOST } from './workload.ts';

/** No job is drawn with more tasks: a slip in a distribution must not fill the memory. */
const TASKS_MAX = 100_000;

/**
 * Draws the jobs of both classes in the order of their submission. Each class has a stream of chance of its own, so that
 * a change in one leaves the other as it was.
 *
 * @param scale multiplies how many are submitted a second, by class
 */
export function drawnJobs(
  load: DrawnLoad,
  random: SeededRandom,
  hostGroups: number,
  scale: Readonly<Record<WorkClass, number>>,
): JobSource {
  const streams = (['batch', 'service'] as const).flatMap((work) => {
    const of = load[work];
    return of === null ? [] : [new ClassStream(work, of, random.split(work), hostGroups, scale[work])];
  });
  let made = 0;
  return {
    next: () => {
      let first: ClassStream | null = null;
      for (const stream of streams)
        if (first === null || stream.dueSeconds < first.dueSeconds) first = stream;
      return first === null ? null : first.take(made++);
    },
  };
}

class ClassStream {
  readonly #work: WorkClass;
  readonly #load: ClassLoad;
  readonly #random: SeededRandom;
  readonly #hostGroups: number;
  readonly #scale: number;
  dueSeconds: number;

  constructor(work: WorkClass, load: ClassLoad, random: SeededRandom, hostGroups: number, scale: number) {
    this.#work = work;
    this.#load = load;
    this.#random = random;
    this.#hostGroups = hostGroups;
    this.#scale = scale;
    this.dueSeconds = this.#gap();
  }

  take(id: number): SimJob {
    const submitSeconds = this.dueSeconds;
    this.dueSeconds += this.#gap();
    const { gang } = this.#load;
    return {
      id,
      work: this.#work,
      submitSeconds,
      gang,
      ...drawBody(this.#load, this.#random, this.#hostGroups),
    };
  }

  #gap(): number {
    return draw(this.#load.gapSeconds, this.#random) / this.#scale;
  }
}

/** Everything about a job but when it came. */
export function drawBody(
  load: ClassLoad,
  random: SeededRandom,
  hostGroups: number,
): Pick<SimJob, 'tasks' | 'runtimeSeconds' | 'shape' | 'hostGroups'> {
  return {
    tasks: Math.min(TASKS_MAX, Math.max(1, Math.ceil(draw(load.tasks, random)))),
    runtimeSeconds: draw(load.runtimeSeconds, random),
    shape: drawShape(load, random),
    hostGroups: drawGroups(load.constraint, random, hostGroups),
  };
}

function drawShape({ shapes }: ClassLoad, random: SeededRandom): TaskShape {
  let target = random.fraction() * shapes.reduce((sum, { weight }) => sum + weight, 0);
  for (const shape of shapes) {
    target -= shape.weight;
    if (target < 0) return shape;
  }
  const last = shapes.at(-1);
  if (last === undefined) throw new Error('a class of work without a task shape');
  return last;
}

/** The bits of neighbouring groups, from a random one on. */
function drawGroups(constraint: Constraint | null, random: SeededRandom, hostGroups: number): number {
  if (constraint === null || hostGroups < 2 || random.fraction() >= constraint.jobShare) return ANY_HOST;
  const count = Math.max(1, Math.round(constraint.hostShare * hostGroups));
  const first = random.below(hostGroups);
  let bits = 0;
  for (let i = 0; i < count; i++) bits |= 1 << ((first + i) % hostGroups);
  return bits;
}
