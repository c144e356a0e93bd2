/** DNS as a host-agent serves it on its host. */

export interface DnsQuestion {
  /** In lower case, without a dot at the end. */
  readonly name: string;
  /** `A`, `SRV`; of a type without a name its number, as `UNKNOWN_4711`. */
  readonly type: string;
}

export interface DnsAnswer {
  readonly code: DnsCode;
  readonly answers: readonly DnsRecord[];
  /** Of names in the answers, so that nobody has to ask for them. */
  readonly additionals?: readonly DnsRecord[];
  /** The zone that says that there is nothing. */
  readonly authority?: DnsSoa;
  /** Why it is as it is, for an asker that knows of such notes (RFC 8914). */
  readonly note?: DnsNote;
}

/** `refused`: of another zone. `failed`: not known now. */
export type DnsCode = 'ok' | 'no-such-name' | 'failed' | 'refused';

export interface DnsNote {
  /** `stale`: the answer is of a while ago. `not-ready`: nothing can be said. */
  readonly kind: 'stale' | 'not-ready';
  readonly text: string;
}

export type DnsRecord = {
  readonly name: string;
  /** How long it may be remembered, in seconds. */
  readonly ttl: number;
} & (
  | { readonly type: 'A' | 'AAAA' | 'CNAME' | 'TXT'; readonly data: string }
  | { readonly type: 'SRV'; readonly data: { readonly target: string; readonly port: number } }
);

export interface DnsSoa {
  readonly zone: string;
  /** How long somebody may remember that there is nothing, in seconds. */
  readonly ttl: number;
}

export interface DnsAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface DnsServer {
  /**
   * Answers over UDP and TCP, at the same port. What is no question is refused or dropped before `answer` is asked.
   * @throws Error of the system when the address cannot be had
   */
  listen(at: DnsAddress, answer: (question: DnsQuestion) => Promise<DnsAnswer>): Promise<DnsListener>;
}

export interface DnsListener extends DnsAddress {
  /** Packets without an answer, since there were too many, since the last call. */
  takeDropped(): number;
  close(): Promise<void>;
}
