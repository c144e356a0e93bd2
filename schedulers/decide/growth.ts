import { askOf } from '../../src/core/cell/ask.ts';
import type { Group } from '../../src/core/cell/job.ts';
import { slotsMaxOf } from '../../src/core/cell/job.ts';
import { useOf } from '../../src/core/elastic/cell-use.ts';
import type { ElasticRule, ElasticSize } from '../../src/core/elastic/elastic.ts';
import { targetWithin } from '../../src/core/elastic/elastic.ts';
import type { Term } from '../state/state.ts';

/** How far groups may grow: by the scheduler's rule and its private copy of the cell. */
export class Growth {
  readonly rule: ElasticRule;
  readonly #cell: Term['cell'];

  constructor({ cell, options }: Pick<Term, 'cell' | 'options'>) {
    this.#cell = cell;
    this.rule = options.elastic;
  }

  /** @param has the instances that the group has already */
  readonly targetOf = (group: Group, has: number): number =>
    targetWithin(this.rule, sizeOf(group), has, useOf(this.#cell.state));
}

function sizeOf(group: Group): ElasticSize {
  const { cpuMilli, memoryMib } = askOf(group).resources;
  return { min: group.count, max: slotsMaxOf(group), cpuMilli, memoryMib };
}

/** `4 of 2..10, grown into idle capacity by global-cap` */
export function grownText({ policy }: ElasticRule, group: Group, has: number): string {
  if (has > group.count) return `${ofRange(group, has)}, grown into idle capacity by ${policy}`;
  return `${ofRange(group, has)}: no idle capacity for more by ${policy}, or no more work to begin`;
}

/** Of a scheduler that grows nothing. */
export function minimumText(group: Group, has: number, kind: string): string {
  return `${ofRange(group, has)}: a ${kind} scheduler runs the minimum; write scheduler: elastic, or leave that out`;
}

function ofRange(group: Group, has: number): string {
  return `${String(has)} of ${String(group.count)}..${String(slotsMaxOf(group))}`;
}
