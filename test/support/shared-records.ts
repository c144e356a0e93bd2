import { shareRecords } from '../../sim/world/shared-records.ts';

/**
 * Tests of one worker share their modules, so what runs the simulator there has every later test read records that are frozen.
 * From the beginning in each worker, so that no test's outcome depends on which ones ran before it.
 */
shareRecords();
