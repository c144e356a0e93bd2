import type { UserRange } from '../leases/task-users.ts';

export const TABLE_PREFIX = 'moorage_';

/** One address and port of the control plane. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
  /** The address is this machine's: then so are all others by which it is reached from here. */
  readonly local: boolean;
}

/** Where providers tell a machine its own secrets. */
const METADATA_V4 = ['169.254.169.254', '169.254.170.2', '100.100.100.200'];
const METADATA_V6 = ['fd00:ec2::254'];

export function tableOf(stateId: string): string {
  return `${TABLE_PREFIX}${stateId}`;
}

/**
 * A table made anew, in one step with the removal of the old one. Loopback too goes through the output hook, where a
 * packet’s user is known; TCP is told at once, so that nobody waits for an answer. A packet without a user is no task’s: the
 * kernel sends it, or what is left of a connection that a role has closed.
 * @param folder for whoever asks whose table this is
 */
export function rulesText(table: string, folder: string, users: readonly UserRange[]): string {
  return `table inet ${table}
delete table inet ${table}
table inet ${table} {
  comment "${COMMENT.test(folder) ? folder : UNTOLD}"
  set v4 { type ipv4_addr . inet_service; }
  set v6 { type ipv6_addr . inet_service; }
  set local { type inet_service; }
  chain refuse {
    meta l4proto tcp counter reject with tcp reset
    counter reject with icmpx type port-unreachable
  }
  chain tasks {
    ip daddr { ${METADATA_V4.join(', ')} } jump refuse
    ip6 daddr { ${METADATA_V6.join(', ')} } jump refuse
    ip daddr . th dport @v4 jump refuse
    ip6 daddr . th dport @v6 jump refuse
    fib daddr type local th dport @local jump refuse
  }
  chain output {
    type filter hook output priority -10; policy accept;
    meta skuid { ${users.map(({ first, count }) => `${String(first)}-${String(first + count - 1)}`).join(', ')} } jump tasks
  }
}`;
}

/** What can be said in a comment: the kernel keeps 128 characters of one. */
const COMMENT = /^\/[\w./ -]{0,126}$/;
/** A folder that could be told in part only would be taken for one that is gone. */
const UNTOLD = 'a long path';

/** What the sets hold from now on, in one step. */
export function elementsText(table: string, endpoints: readonly Endpoint[]): string {
  const pairs = (of: readonly Endpoint[]): string[] => [
    ...new Set(of.map(({ address, port }) => `${address} . ${String(port)}`)),
  ];
  const sets = {
    v4: pairs(endpoints.filter(({ address }) => !address.includes(':'))),
    v6: pairs(endpoints.filter(({ address }) => address.includes(':'))),
    local: [...new Set(endpoints.filter(({ local }) => local).map(({ port }) => String(port)))],
  };
  return Object.entries(sets)
    .flatMap(([name, elements]) => [
      `flush set inet ${table} ${name}`,
      ...(elements.length === 0 ? [] : [`add element inet ${table} ${name} { ${elements.join(', ')} }`]),
    ])
    .join('\n');
}
