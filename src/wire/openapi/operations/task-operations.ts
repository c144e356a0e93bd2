import { execRequest, signalRequest } from '../../api/exec-api.ts';
import type { Operation } from './operation.ts';
import { text, count, flag, NAMESPACE, JOB, PAGE, ok, BAD } from './operation.ts';

const COMMAND = { commandId: 'look-1', command: ['ls', '-l'] };

/** Of what runs: its output, its use, commands inside it. */
export const TASK_OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /v1/allocations': {
    summary: 'Lists allocations, what is wanted and what hosts report side by side',
    query: [NAMESPACE, JOB, text('host', 'on this host only'), ...PAGE],
    answers: ok('AllocationListAnswer'),
    errors: BAD,
  },
  'GET /v1/usage': {
    summary: 'Measures what allocations use now',
    query: [NAMESPACE, JOB],
    answers: ok('CellUsage'),
    errors: BAD,
  },
  'GET /v1/jobs/:namespace/:job/logs': {
    summary: 'Reads the output of a task',
    query: [
      text('stream', 'stdout (the default) or stderr'),
      text('group', 'of this group; default: the only one'),
      count('index', 'of this allocation of the group'),
      text('allocation', 'of this allocation, by id'),
      text('task', 'of this task; default: the first that is no sidecar'),
      count('offset', 'from this byte on'),
      text('offsetOf', 'the allocation whose bytes `offset` counts'),
      flag('follow', 'waits for the start, and ends with the allocation'),
    ],
    answers: [
      {
        status: 200,
        type: 'application/octet-stream',
        of: 'the bytes; headers x-offset, x-allocation, x-task say which',
      },
      { status: 204, type: null, of: 'it has not started yet: ask again' },
    ],
    errors: {
      ...BAD,
      404: ['no-such-job', 'no-such-allocation', 'not-started'],
      410: ['log-gone'],
      503: ['host-unreachable'],
    },
  },
  'POST /v1/allocations/:id/exec': {
    summary: 'Runs a command inside an allocation; the same command id again runs nothing more',
    ...{ body: execRequest, example: COMMAND },
    answers: ok('CommandStatus'),
    errors: { ...BAD, 404: ['no-such-allocation'], 409: ['not-running'], 503: ['host-unreachable'] },
  },
  'GET /v1/allocations/:id/exec/:command': {
    summary: 'Tells how a command inside an allocation stands',
    answers: ok('CommandStatus'),
    errors: { ...BAD, 404: ['no-such-allocation', 'no-command'], 503: ['host-unreachable'] },
  },
  'POST /v1/allocations/:id/signal': {
    summary: 'Sends a signal to a task, or to a command inside it',
    ...{ body: signalRequest, example: { commandId: 'reload-1', signal: 'SIGHUP' } },
    answers: ok('SignalAnswer'),
    errors: { ...BAD, 404: ['no-such-allocation'], 409: ['not-running'], 503: ['host-unreachable'] },
  },
  'CHANNEL /v1/allocations/:id/attach': {
    summary: 'A WebSocket to a task or to a command inside it: output, and input for one client',
    query: [
      text('task', 'this task'),
      text('command', 'this command inside it'),
      count('stdout', 'from this byte of its output on'),
      count('stderr', 'from this byte of its errors on'),
      text('session', 'the same after a cut'),
      text('input', 'free (the default), take or none'),
    ],
    answers: [{ status: 101, type: null, of: 'frames of src/wire/api/attach-frames.ts' }],
    errors: { ...BAD, 404: ['no-such-allocation'], 503: ['host-unreachable'] },
  },
};
