import type { RolePorts } from '../src/runtime/runtime.ts';
import type { CellCopy } from './view/view.ts';

/** What the parts of a monitor work with; each takes the fields that it needs. */
export interface MonitorContext extends RolePorts {
  /** Id of this monitor. */
  readonly self: string;
  readonly copy: CellCopy;
}
