import { Watchable } from './signal.ts';

/** How this page stands with the cell's monitors. */
export interface LinkState {
  /** The monitor that answered last; null: none did yet. */
  readonly at: string | null;
  /** Monitors that did not answer when they were last asked. */
  readonly silent: readonly string[];
  /** All that are known. */
  readonly known: readonly string[];
}

/** Remembers which monitors answer. The page came from the first of them. */
export class Link {
  readonly home: string;
  /** What the client asks, in this order: monitors that become known are added. */
  readonly urls: string[];
  readonly state: Watchable<LinkState>;

  constructor(home: string) {
    this.home = home;
    this.urls = [home];
    this.state = new Watchable<LinkState>({ at: null, silent: [], known: [home] });
  }

  learn(addresses: readonly string[]): void {
    for (const address of addresses) {
      const { origin } = new URL(address);
      if (!this.urls.includes(origin)) this.urls.push(origin);
    }
    const { state } = this;
    if (state.value.known.length !== this.urls.length) state.set({ ...state.value, known: [...this.urls] });
  }

  outcome(origin: string, answered: boolean): void {
    const { value } = this.state;
    const others = value.silent.filter((one) => one !== origin);
    if (answered) {
      if (value.at === origin && others.length === value.silent.length) return;
      this.state.set({ ...value, at: origin, silent: others });
    } else this.state.set({ ...value, silent: [...others, origin] });
  }
}
