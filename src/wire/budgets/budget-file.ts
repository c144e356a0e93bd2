import type { BudgetPolicy } from '../../core/quota/budgets.ts';
import { readValue } from '../job-file/yaml-source.ts';
import { readBudgetPolicy } from './budgets.ts';

/**
 * What the cell may do of its own accord, as an operator writes it in YAML or JSON; what is left out is not bounded:
 *
 *   replacements: { burst: 200, perHour: 2000, per: { attribute: rack, burst: 20, perHour: 200 } }
 *   moves: { burst: 20, perHour: 100 }
 *   evictions: { burst: 50, perHour: 200 }
 *
 * @throws ProblemError 400 with the place that is wrong
 */
export function parseBudgetFile(text: string): BudgetPolicy {
  return readBudgetPolicy(readValue(text) ?? {});
}
