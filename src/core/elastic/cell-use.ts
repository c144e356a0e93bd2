import { CPU, MEMORY, ROW, TAKES } from '../cell-state/capacity-tree.ts';
import type { CellState } from '../cell-state/cell-state.ts';
import { allocatable } from '../host/host.ts';
import type { CellUse } from './elastic.ts';

/** Adds a private copy up, claims in flight included. Hosts that take nothing new count for nothing. */
export function useOf(state: CellState): CellUse {
  state.readAll();
  const { index } = state;
  let [cpuMilliTotal, memoryMibTotal, cpuMilliFree, memoryMibFree] = [0, 0, 0, 0];
  for (let at = 0; at < index.size; at++) {
    const { host } = index.slot(at);
    if (host === undefined || index.rows[at * ROW + TAKES] !== 1) continue;
    const { cpuMilli, memoryMib } = allocatable(host);
    cpuMilliTotal += cpuMilli;
    memoryMibTotal += memoryMib;
    cpuMilliFree += index.rows[at * ROW + CPU]!;
    memoryMibFree += index.rows[at * ROW + MEMORY]!;
  }
  return {
    ...{ cpuMilliTotal, memoryMibTotal },
    cpuMilliUsed: cpuMilliTotal - cpuMilliFree,
    memoryMibUsed: memoryMibTotal - memoryMibFree,
  };
}
