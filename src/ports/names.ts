/** Host names and addresses, as this machine knows them. */
export interface Names {
  /** Numeric addresses of a host name, or of an address itself; empty when there is none. */
  resolve(host: string): Promise<readonly string[]>;

  /** Numeric addresses of this machine's interfaces. */
  own(): readonly string[];
}
