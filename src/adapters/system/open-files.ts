import { readFileSync } from 'node:fs';

/** What a process needs besides connections: the event loop, logs, the store. */
const OWN_FILES = 64;
/** Of what is left, the part that connections to hosts may take; callers, and what is opened for them, have the rest. */
const HOSTS_SHARE = 0.75;
/** A caller's request opens another connection at most: to the host whose log, terminal or files it asks for. */
const FILES_PER_CALLER = 2;

/** How a role that holds a connection to every host divides the files that it may have open. */
export interface OpenFiles {
  /** The limit of the process (`ulimit -n`, systemd's `LimitNOFILE`). */
  readonly limit: number;
  readonly hostsMax: number;
  readonly callersMax: number;
}

/** @param limit how many files the process may have open */
export function divideOpenFiles(limit: number): OpenFiles {
  const free = Math.max(0, limit - OWN_FILES);
  const hostsMax = Math.max(1, Math.floor(free * HOSTS_SHARE));
  return { limit, hostsMax, callersMax: Math.max(1, Math.floor((free - hostsMax) / FILES_PER_CALLER)) };
}

/** How many files this process may have open; Node raises the soft limit to the hard one when it starts. 0: unknown here. */
export function openFilesLimit(): number {
  try {
    const limit = /^Max open files +(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return limit === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(limit ?? 0);
  } catch {
    return 0;
  }
}
