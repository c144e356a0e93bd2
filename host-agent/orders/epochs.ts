import type { Epoch } from '../../src/core/cell/epoch.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import type { CellStore } from '../../src/ports/cell-store.ts';
import { ProblemError } from '../../src/wire/api/problem.ts';
import { eligibilityCodec, metaCodec } from '../../src/wire/records/records.ts';
import type { AgentContext } from '../agent-context.ts';
import type { AskEpoch } from '../ports.ts';
import { storeAnswers } from './orderer.ts';

/** @returns a question to the store; what it said of the cell's incarnation is kept, so that most epochs cost no read */
export function askEpoch(store: CellStore, keys: CellKeys): AskEpoch {
  let known: string | null = null;
  return async (host, { incarnation, counter }) => {
    if (counter === 0 && incarnation === known) return true;
    const eligibilityKey = keys.eligibilityOf(host);
    const { entries } = await store.read([keys.meta, eligibilityKey]);
    const [meta, eligibility] = [entries.get(keys.meta), entries.get(eligibilityKey)];
    known = meta === undefined ? null : metaCodec.decode(meta.value).incarnation;
    const reached = eligibility === undefined ? 0 : eligibilityCodec.decode(eligibility.value).counter;
    return incarnation === known && counter <= reached;
  };
}

/**
 * An order with an epoch that nobody has made is refused: a host that took it would refuse all schedulers from then on (I17).
 * Only an epoch is asked for that is ahead of all that the host has seen.
 * @throws ProblemError; 503 while the store is needed and does not answer
 */
export async function checkEpoch(context: AgentContext, epoch: Epoch): Promise<void> {
  const { epochs: ask } = context.ports;
  if (ask === undefined || !context.journal.isAhead(epoch)) return;
  if (await storeAnswers(ask(context.host().id, epoch), 'whether there is such an epoch')) return;
  throw new ProblemError({
    status: 409,
    code: 'epoch-unknown',
    detail: 'the store knows of no such epoch yet',
  });
}
