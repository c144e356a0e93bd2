import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CsvRow } from '../../cli/openb/csv.ts';
import { readCsv } from '../../cli/openb/csv.ts';
import { readHosts, readPods } from '../../cli/openb/openb.ts';
import type { Host } from '../../src/core/host/host.ts';
import type { GpuRequest } from '../../src/core/cell/resources.ts';
import { amounts } from '../testbed/plain-request.ts';

export interface Pod {
  readonly cpuMilli: number;
  readonly memoryMib: number;
  readonly gpu: GpuRequest | null;
}

const POD_LIST = /^openb_pod_list_(.*)\.csv$/;
const nodeList = (which: 'gpu' | 'all'): string => `openb_node_list_${which}_node.csv`;
const REMEDY =
  'give the folder that holds openb_node_list_gpu_node.csv and openb_pod_list_*.csv: --traces FOLDER ' +
  '(https://github.com/hkust-adsl/kubernetes-scheduler-simulator, data/csv)';

/** Hosts, pod lists and published results of the openb-2023 cluster, as upstream gives them. */
export class OpenbFolder {
  /** The names of its pod lists. */
  readonly lists: readonly string[];
  readonly #path: string;

  /**
   * @param wanted lists that must be there
   * @throws Error that says what is missing, where, and what to do
   */
  constructor(path: string, wanted: readonly string[] = []) {
    if (path === '') throw new Error(`no folder of traces; ${REMEDY}`);
    this.#path = resolve(path);
    if (!existsSync(this.#path)) throw new Error(`there is no ${this.#path}; ${REMEDY}`);
    this.lists = readdirSync(this.#path).flatMap((file) => POD_LIST.exec(file)?.[1] ?? []);
    if (this.lists.length === 0 || !existsSync(join(this.#path, nodeList('gpu'))))
      throw new Error(`${this.#path} is no folder of openb traces; ${REMEDY}`);
    const missing = wanted.filter((list) => !this.lists.includes(list));
    if (missing.length > 0)
      throw new Error(
        `${this.#path} has no list ${missing.join(', ')}; its lists are ${this.lists.join(', ')}: --lists`,
      );
  }

  hosts(which: 'gpu' | 'all'): Host[] {
    const file = nodeList(which);
    return readHosts(this.#text(file), file).map(({ id, cpuMilli, memoryMib, gpuModels }) => ({
      id,
      address: '',
      capacity: amounts(cpuMilli, memoryMib),
      reserved: amounts(0, 0),
      gpuModels,
      portRange: { first: 1, last: 0 },
      attributes: {},
      bootId: '',
      incarnation: 1,
      agentVersion: '',
    }));
  }

  pods(list: string): Pod[] {
    const file = `openb_pod_list_${list}.csv`;
    return readPods(this.#text(file), file).map(({ cpuMilli, memoryMib, gpus, gpuMilliEach, models }) => ({
      ...{ cpuMilli, memoryMib },
      gpu: gpus === 0 ? null : { count: gpus, milliEach: gpuMilliEach, models },
    }));
  }

  /** The published runs of a list under a policy, by their own name of it: what was given away, by what was asked for. */
  published(list: string, policy: string): readonly CsvRow[] {
    const file = join('published', 'analysis_allo_discrete.csv');
    if (!existsSync(join(this.#path, file))) return [];
    return readCsv(this.#text(file), file).filter(
      (row) => row('workload') === `openb_pod_list_${list}` && row('sc_policy').endsWith(`-${policy}`),
    );
  }

  #text(file: string): string {
    const path = join(this.#path, file);
    if (!existsSync(path)) throw new Error(`there is no ${path}; ${REMEDY}`);
    return readFileSync(path, 'utf8');
  }
}
