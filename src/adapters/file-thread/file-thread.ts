/**
 * A thread that changes files for an agent: `thread-calls.ts` sends the calls of one turn of the event loop in one message,
 * `worker.ts` carries them out and sends the results back, `calls.ts` has the messages.
 */
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { Disk } from '../../ports/disk.ts';
import { nodeDisk } from '../disk/disk.ts';
import { linuxCgroups } from '../processes/cgroups.ts';
import { builtFile } from '../system/package-files.ts';
import { ThreadCalls } from './thread-calls.ts';

export interface FileThread {
  readonly disk: Disk;
  readonly cgroups: Cgroups;
  /** Resolves when every call is done. */
  close(): Promise<void>;
}

/**
 * The disk of a state folder and the machine's control groups, changed by a thread of their own: ext4 makes a process that
 * creates a name wait while it commits (3 of 5 ms of each start), and a control group is made under a lock of the whole
 * kernel. Reads stay in the calling thread: the page cache answers sooner than another thread.
 *
 * A program that runs from its sources before there is a build does all of it in the calling thread.
 * `docs/decisions/shims.md`
 */
export function openFileThread(root: string): FileThread {
  const local = { disk: nodeDisk(root), cgroups: linuxCgroups() };
  const program = builtFile('src/adapters/file-thread/worker.js');
  if (!existsSync(program)) return { ...local, close: () => Promise.resolve() };
  // Without the process's own `--import`s: the thread needs none of them.
  const worker = new Worker(program, { workerData: { root }, execArgv: [] });
  const calls = new ThreadCalls(worker, local);
  return {
    disk: diskThrough(calls, local.disk),
    cgroups: cgroupsThrough(calls, local.cgroups),
    close: calls.close,
  };
}

function diskThrough(calls: ThreadCalls, local: Disk): Disk {
  return {
    publish: calls.method('disk', 'publish'),
    replace: calls.method('disk', 'replace'),
    hand: calls.method('disk', 'hand'),
    append: calls.method('disk', 'append'),
    makeFolder: calls.method('disk', 'makeFolder'),
    remove: calls.method('disk', 'remove'),
    move: calls.method('disk', 'move'),
    read: (path) => local.read(path),
    list: (path) => local.list(path),
    sizeOf: (path) => local.sizeOf(path),
    readRange: (path, offset, length) => local.readRange(path, offset, length),
    watch: (path, onChange) => local.watch(path, onChange),
    freeBytes: () => local.freeBytes(),
    absolute: (path) => local.absolute(path),
  };
}

function cgroupsThrough(calls: ThreadCalls, local: Cgroups): Cgroups {
  return {
    ...local,
    make: calls.method('cgroups', 'make'),
    remove: calls.method('cgroups', 'remove'),
    write: calls.method('cgroups', 'write'),
    killListed: calls.method('cgroups', 'killListed'),
  };
}
