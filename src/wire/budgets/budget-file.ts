import type { BudgetPolicy } from '../../core/quota/budgets.ts';
import { ProblemError } from '../api/problem.ts';
import { readSource } from '../job-file/yaml-source.ts';
import { readBudgetPolicy } from './budgets.ts';

/**
 * What the cell may do of its own accord, as an operator writes it in YAML or JSON; what is left out is not bounded:
 *
 *   replacements: { burst: 200, perHour: 2000 }
 *   moves: { burst: 20, perHour: 100 }
 *   evictions: { burst: 50, perHour: 200 }
 *
 * @throws ProblemError 400 with the place that is wrong
 */
export function parseBudgetFile(text: string): BudgetPolicy {
  const { value, faults } = readSource(text);
  const fault = faults[0];
  if (fault === undefined) return readBudgetPolicy(value ?? {});
  const detail = `line ${String(fault.line)}: ${fault.text}`;
  throw new ProblemError({ status: 400, code: 'bad-request', detail, path: '' });
}
