/** What `k8s-shape.ts` measures: what the hosts hold beforehand, and what is then placed. Named as its `--shape` says. */
export interface Shape {
  /** Defaults of the flags of the same names. */
  readonly hosts: number;
  readonly tasks: number;
  readonly init: number;
  /** Over so many zones lie the hosts, in turns. */
  readonly zones: number;
  /** Fields of the job of each task that is placed beforehand. */
  readonly before: JobFields;
  /** Fields of the jobs that are measured. */
  readonly measured: JobFields;
  /** All that is measured is one job; otherwise each task is one of its own. */
  readonly isOneJob: boolean;
  /** What Kubernetes 1.36 places a second in this shape on such a machine. */
  readonly kubernetesPerSecond: number;
}

type JobFields = Readonly<Record<string, unknown>>;

const SMALL: JobFields = { resources: { cpu: '100m', memory: '500Mi' } };
const LOW = { priority: 10 };
const HIGH = { priority: 60 };

export const SHAPES: Readonly<Record<string, Shape>> = {
  /** `SchedulingBasic/5000Nodes_10000Pods` of scheduler_perf. */
  basic: {
    ...{ hosts: 5_000, tasks: 10_000, init: 1_000, zones: 1 },
    ...{ before: SMALL, measured: SMALL, isOneJob: false, kubernetesPerSecond: 201 },
  },
  /** Its `TopologySpreading`, as one job. */
  spread: {
    ...{ hosts: 5_000, tasks: 5_000, init: 1_000, zones: 3 },
    ...{ before: SMALL, measured: { ...SMALL, spread: [{ by: 'host.zone' }] } },
    ...{ isOneJob: true, kubernetesPerSecond: 107 },
  },
  /** Its `SchedulingPodAntiAffinity`, as one job. */
  distinct: {
    ...{ hosts: 5_000, tasks: 2_000, init: 1_000, zones: 1 },
    ...{ before: SMALL, measured: { ...SMALL, distinct: ['host'] } },
    ...{ isOneJob: true, kubernetesPerSecond: 99 },
  },
  /**
   * Its `PreemptionBasic`: four small tasks fill each host, and each large one takes the place of three of them. Those wait for
   * a place afterwards, as tasks do that were preempted.
   */
  preempt: {
    ...{ hosts: 1_000, tasks: 1_000, init: 4_000, zones: 1 },
    before: { ...LOW, resources: { cpu: '900m', memory: '500Mi' } },
    measured: { ...HIGH, resources: { cpu: '3000m', memory: '500Mi' } },
    ...{ isOneJob: false, kubernetesPerSecond: 4.9 },
  },
};

/** @throws Error with the names of all shapes */
export function shapeOf(name: string): Shape {
  const shape = SHAPES[name];
  if (shape === undefined) throw new Error(`--shape ${name}: one of ${Object.keys(SHAPES).join(', ')}`);
  return shape;
}
